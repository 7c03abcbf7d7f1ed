"""What holds for the whole package, so that reading one room tells how the others read."""

import ast
import importlib
import json
import subprocess
import sys
from pathlib import Path

import pytest

import langgraph_harness_memory

PACKAGE = Path(langgraph_harness_memory.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
TREES = {path.relative_to(PACKAGE).as_posix(): ast.parse(path.read_text(encoding="utf-8")) for path in MODULES}
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def public_functions(body, prefix=""):
    """Yield every public function and method with its qualified name."""
    for node in body:
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
            yield from public_functions(node.body, f"{prefix}{node.name}.")
        elif isinstance(node, FUNCTIONS) and not node.name.startswith("_"):
            yield f"{prefix}{node.name}", node


def is_exempt(node) -> bool:
    """Overloads and overrides of a documented contract need no text of their own."""
    names = {ast.unparse(d).split(".")[-1] for d in node.decorator_list}
    return bool(names & {"overload", "override", "setter"})


@pytest.mark.parametrize("name", TREES)
def test_every_module_says_what_it_owns(name) -> None:
    """A module starts with its docstring."""
    assert ast.get_docstring(TREES[name]), f"{name} has no docstring"


@pytest.mark.parametrize("name", TREES)
def test_every_public_function_is_documented_and_only_an_async_twin_may_lean_on_its_sync_one(name) -> None:
    """A reader never has to guess what a public function is for."""
    functions = dict(public_functions(TREES[name].body))
    bare = {
        qualified
        for qualified, node in functions.items()
        if not ast.get_docstring(node) and not is_exempt(node) and not _is_twin(qualified, functions)
    }
    assert not bare


def _is_twin(qualified: str, functions) -> bool:
    owner, _, name = qualified.rpartition(".")
    sync = f"{owner}.{name[1:]}" if owner else name[1:]
    return name.startswith("a") and sync in functions


@pytest.mark.parametrize("name", TREES)
def test_nothing_private_of_another_package_is_imported(name) -> None:
    """What a package keeps for itself may change under us without a word."""
    for node in ast.walk(TREES[name]):
        names = []
        if isinstance(node, ast.ImportFrom) and node.module and not node.module.startswith("langgraph_harness_memory"):
            names = [*node.module.split("."), *[a.name for a in node.names]]
        elif isinstance(node, ast.Import):
            names = [part for alias in node.names for part in alias.name.split(".")]
        private = [n for n in names if n.startswith("_") and not n.startswith("__")]
        assert not private, f"{name}: {private}"


@pytest.mark.parametrize("name", langgraph_harness_memory.__all__)
def test_every_public_name_can_be_imported(name) -> None:
    """The lazy names lead somewhere, and to what they say."""
    assert getattr(langgraph_harness_memory, name).__name__ == name


def test_the_public_names_are_written_down_once_for_people_and_once_for_type_checkers() -> None:
    """`__all__`, the lazy table and the imports that type checkers see name the same things."""
    tree = TREES["__init__.py"]
    seen = {
        alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("langgraph_harness_memory.")
        for alias in node.names
    }
    assert seen == set(langgraph_harness_memory.__all__) == set(langgraph_harness_memory._HOME)


def test_importing_the_package_loads_nothing_heavy() -> None:
    """`import langgraph_harness_memory` loads neither langgraph nor openai nor tiktoken."""
    script = "import json, sys, langgraph_harness_memory; print(json.dumps(sorted(sys.modules)))"
    loaded = json.loads(subprocess.run([sys.executable, "-c", script], capture_output=True, check=True).stdout)
    assert not {"openai", "tiktoken", "langgraph", "langchain_core", "sqlite3"} & set(loaded)


@pytest.mark.parametrize("name", [n for n in TREES if not n.startswith(("cli/", "testing/"))])
def test_no_module_works_at_import_time(name) -> None:
    """Importing a module reads no environment and calls nothing that does I/O."""
    tree = TREES[name]
    for node in tree.body:
        for call in (
            [n for n in ast.walk(node) if isinstance(n, ast.Call)] if isinstance(node, ast.Expr | ast.Assign) else []
        ):
            assert ast.unparse(call.func) not in {"open", "os.getenv", "os.environ.get", "Path.cwd", "load_dotenv"}, (
                name
            )


@pytest.mark.parametrize("name", [n for n in TREES if not n.startswith(("cli/", "deploy", "testing/"))])
def test_the_environment_is_read_by_the_command_line_and_the_deployment_alone(name) -> None:
    """A library that reads the environment behaves differently for reasons that nobody sees."""
    allowed = {"conversation/vocabulary.py", "conversation/tokens.py"}
    text = "" if name in allowed else ast.unparse(TREES[name])
    assert "os.environ" not in text
    assert "os.getenv" not in text


def test_every_module_can_be_imported_on_its_own() -> None:
    """No import order is needed: each module is loaded first once."""
    names = [n for n in TREES if "__main__" not in n]
    modules = [f"langgraph_harness_memory.{n[:-3].replace('/', '.')}".removesuffix(".__init__") for n in names]
    for module in modules:
        importlib.import_module(module)
