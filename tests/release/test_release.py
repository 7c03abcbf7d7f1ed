"""What is built and installed is what was written, and the first line of a program costs little.

The heavy part (each extra alone, other Pythons, lowest versions) runs in `.ci/release`.
"""

import importlib.util
import os
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.sdist import SdistBuilder
from hatchling.builders.wheel import WheelBuilder

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SMOKE = Path(__file__).with_name("smoke.py")
PACKAGE = "langgraph_harness_memory"

ABSENT = '''
"""Hides packages from this interpreter, as if they were not installed."""
import importlib.abc
import sys

class Absent(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {hidden!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Absent())
'''


def smoke():
    spec = importlib.util.spec_from_file_location("smoke", SMOKE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def run(code, **environment):
    """Run a program in a fresh interpreter and return what it printed."""
    program = [sys.executable, *code]
    ran = subprocess.run(
        program, env={**os.environ, **environment}, capture_output=True, text=True, timeout=110, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


@pytest.mark.skipif(
    not (ROOT / PACKAGE).is_dir(), reason="the tests stand without the source, beside an installed package"
)
class TestBuilt:
    """What goes to the index of packages."""

    @pytest.fixture
    def written(self):
        files = (path for path in (ROOT / PACKAGE).rglob("*") if path.is_file() and path.suffix != ".pyc")
        return {path.relative_to(ROOT).as_posix() for path in files}

    def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(self, written, tmp_path) -> None:
        """Prompts, the page of `view` and `py.typed` too."""
        built = next(WheelBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
        with zipfile.ZipFile(built) as wheel:
            held = {name for name in wheel.namelist() if ".dist-info/" not in name}
        assert held == written
        assert f"{PACKAGE}/py.typed" in held
        assert any(name.endswith(".md") and "/prompts/" in name for name in held)

    def test_the_sdist_holds_what_builds_the_wheel_again(self, written, tmp_path) -> None:
        """The package, what is read by people, and no test or note of other folders."""
        built = next(SdistBuilder(str(ROOT)).build(directory=str(tmp_path), versions=["standard"]))
        with tarfile.open(built) as archive:
            held = {name.split("/", 1)[1] for name in archive.getnames()}
        beside = {"README.md", "CHANGELOG.md", "LICENSE", "pyproject.toml", ".gitignore", "PKG-INFO"}
        assert held == written | beside


def test_the_smoke_run_knows_every_extra() -> None:
    """A new extra is tried on its own before it is released."""
    module = smoke()
    assert set(module.BRINGS) == set(module.PACKAGES) == set(PROJECT["optional-dependencies"])


def test_the_core_works_and_names_the_extra_wherever_one_is_missing(tmp_path) -> None:
    """With every package hidden that only an extra brings."""
    hidden = sorted({*smoke().PACKAGES.values(), "psycopg_pool", "rich", "ipykernel"})
    (tmp_path / "sitecustomize.py").write_text(ABSENT.format(hidden=hidden), encoding="utf-8")
    said = run([str(SMOKE)], PYTHONPATH=str(tmp_path))
    assert said.splitlines()[-1] == "ok"
    assert said.count("and the error names it") == len(hidden) - 4


@pytest.mark.parametrize(
    "names", ["", "HarnessMemory", "HarnessMemory, create_memory_agent", "MemoryIndex", "SessionSaver"]
)
def test_importing_loads_no_client_and_no_tokenizer(names) -> None:
    """They cost most of a second, and many programs need neither."""
    statement = f"from {PACKAGE} import {names}" if names else f"import {PACKAGE}"
    loaded = run(["-c", f"{statement}\nimport sys\nprint(*sys.modules)"]).split()
    assert {"openai", "tiktoken", "langchain", "langchain_openai", "numpy", "psycopg", "typer"}.isdisjoint(loaded)
    if not names:
        assert {"langgraph", "langchain_core", "pydantic"}.isdisjoint(loaded)


def test_the_promised_pythons_are_those_that_may_install_it() -> None:
    """The classifiers start where `requires-python` starts."""
    named = [
        line.rpartition(" ")[2]
        for line in PROJECT["classifiers"]
        if line.startswith("Programming Language :: Python :: 3.")
    ]
    assert PROJECT["requires-python"] == f">={named[0]}"
