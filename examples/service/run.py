"""Start the whole service: two replicas and the maintenance, until Ctrl-C.

python examples/service/run.py --postgres postgresql://user:password@host/database
"""

import argparse
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

HERE = Path(__file__).parent


def main() -> int:
    """Start the processes, pass a signal on, and end with them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--postgres", default=os.environ.get("HARNESS_WORKSPACE"), help="URL, with ?schema=name if you like"
    )
    parser.add_argument("--ports", type=int, nargs="+", default=[8101, 8102], help="one replica for each")
    parser.add_argument("--interval", type=float, default=300, help="seconds between two ticks of maintenance")
    options = parser.parse_args()
    environment = {**os.environ, "HARNESS_INTERVAL": str(options.interval)}
    if options.postgres:
        environment["HARNESS_WORKSPACE"] = options.postgres
    commands = [["replica.py", "--port", str(port)] for port in options.ports]
    commands.append(["maintenance.py"])
    processes = [subprocess.Popen([sys.executable, *command], cwd=HERE, env=environment) for command in commands]
    stopping = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopping.set())
    while not stopping.wait(0.2) and all(process.poll() is None for process in processes):
        pass
    failed = [process for process in processes if process.poll() not in (None, 0)]
    for process in processes:
        if process.poll() is None:
            process.terminate()
    for process in processes:
        process.wait(60)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
