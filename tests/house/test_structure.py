"""The house of design: rooms along the data's way, libraries with owners, modules of one size."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[2] / "tuner"

# A room imports only rooms above it.
ROOMS = (
    "errors", "schema", "engines", "modules", "profile", "space", "lint", "render", "host",
    "engine", "lab", "flood", "measure", "validate",
    "search", "plan", "report", "cli",
)  # fmt: skip

# Rooms that describe what a user wrote.
PURE = ("schema", "engines", "modules", "profile", "space", "lint")

# Who may import what; everything else outside the standard library is nobody's.
OWNERS = {
    "ConfigSpace": {"search"},
    "jinja2": {"render", "report"},
    "matplotlib": {"report"},
    "numpy": {"engine", "flood", "lab", "measure", "plan", "search"},
    "optuna": {"search"},
    "platformdirs": {"host", "lab"},
    "prometheus_client": {"report"},
    "psutil": {"host"},
    "pydantic": {
        "schema",
        "engines",
        "modules",
        "profile",
        "space",
        "lint",
        "lab",
        "search",
        "report",
    },
    "requests": {"engine"},
    "rich": {"cli"},
    "scipy": {"measure", "plan", "search"},
    "smac": {"search"},
    "socket": {"flood", "lab"},
    "subprocess": {"host"},
    "testinfra": {"host"},
    "typer": {"cli"},
    "yaml": {"profile", "lint"},
    "zstandard": {"lab"},
}

LONGEST_MODULE = 300
LONGEST_FUNCTION = 45

MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: Path) -> str:
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


def imports_of(module: Path) -> set[str]:
    """Every module imported anywhere in a file, also inside functions."""
    found: set[str] = set()
    for node in ast.walk(ast.parse(module.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            found |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.ImportFrom):
            found.add("a relative import")
    return found


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_room_imports_only_rooms_above_it(module: Path) -> None:
    here = room_of(module)
    if here == "__init__":
        return
    used = {name.split(".")[1] for name in imports_of(module) if name.startswith("tuner.")}
    below = {room for room in used & set(ROOMS) if ROOMS.index(room) > ROOMS.index(here)}
    assert not below, f"{here} imports {below}, which stand below it"
    assert "a relative import" not in imports_of(module)


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_a_library_is_imported_only_by_its_owners(module: Path) -> None:
    here = room_of(module)
    for library in {name.split(".")[0] for name in imports_of(module)} & OWNERS.keys():
        assert here in OWNERS[library], f"{library} belongs to {OWNERS[library]}"


def test_every_dependency_has_an_owner() -> None:
    project = (PACKAGE.parent / "pyproject.toml").read_text(encoding="utf-8")
    declared = project.split("dependencies = [", 1)[1].split("]", 1)[0]
    names = {line.strip(' ",').split(">")[0] for line in declared.split("\n") if line.strip()}
    known = {
        "prometheus-client": "prometheus_client",
        "pytest-testinfra": "testinfra",
        "pyyaml": "yaml",
    }
    assert {known.get(name, name) for name in names} <= OWNERS.keys()


@pytest.mark.parametrize("module", MODULES, ids=name_of)
def test_modules_and_functions_stay_small(module: Path) -> None:
    text = module.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LONGEST_MODULE
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or 0) - node.lineno + 1
            assert length <= LONGEST_FUNCTION, f"{node.name} has {length} lines"


def test_no_module_is_a_bag() -> None:
    bags = {"utils", "util", "helpers", "common", "manager", "misc"}
    assert not [module for module in MODULES if module.stem in bags]
