"""The house of design: rooms along the data's way, libraries with owners, modules of one size."""

from __future__ import annotations

import ast
import io
import re
import tokenize
import tomllib
from functools import cache
from pathlib import Path

from tuner.errors import EXTRAS

PACKAGE = Path(__file__).parents[2] / "tuner"

# A room imports only rooms above it.
ROOMS = (
    "errors", "reading", "writing", "rule", "schema", "engines", "modules",
    "script", "traffic", "profile", "space", "lint", "render",
    "host", "engine", "lab", "flood", "measure", "validate", "cases",
    "diagnose", "search", "plan", "deploy", "cluster", "report", "cli", "testing",
)  # fmt: skip

# Rooms that describe what a user wrote.
PURE = ("rule", "schema", "engines", "modules", "traffic", "profile", "space", "lint")

# Who may import what; everything else outside the standard library is nobody's.
OWNERS = {
    "dask": {"cluster"},
    "distributed": {"cluster"},
    "dpkt": {"traffic"},
    "drain3": {"traffic"},
    "jinja2": {"render", "report"},
    "lark": {"script"},
    "matplotlib": {"report"},
    "numpy": {"engine", "flood", "lab", "measure", "search"},
    "platformdirs": {"host", "lab"},
    "prometheus_client": {"report"},
    "psutil": {"host"},
    "pydantic": {
        *PURE, "script", "lab", "flood", "cases", "search", "deploy", "cluster", "report"
    },
    "requests": {"engine"},
    "rich": {"cli"},
    "scipy": {"measure", "search"},
    "socket": {"flood", "lab"},
    "subprocess": {"host"},
    "testinfra": {"host", "testing"},
    "typer": {"cli"},
    "urllib3": {"engine"},
    "yaml": {"profile"},
    "zstandard": {"traffic"},
}  # fmt: skip

# Tokens that hold no code.
LAYOUT = {
    tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT,
    tokenize.ENDMARKER,
}  # fmt: skip
MOST_CORE_MODULES, MOST_CORE_LINES = 20, 3600
LONGEST_MODULE = 500
LONGEST_FUNCTION = 80

RELATIVE = "a relative import"
MODULES = sorted(PACKAGE.rglob("*.py"))


def room_of(module: Path) -> str:
    first = module.relative_to(PACKAGE).parts[0]
    return first.removesuffix(".py")


@cache
def tree_of(module: Path) -> ast.Module:
    return ast.parse(module.read_text(encoding="utf-8"))


def imports_of(tree: ast.Module) -> set[str]:
    """Every module imported anywhere in a file, also inside functions."""
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {name.name for name in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names |= {node.module, *(f"{node.module}.{name.name}" for name in node.names)}
        elif isinstance(node, ast.ImportFrom):
            names.add(RELATIVE)
    return names


def name_of(module: Path) -> str:
    return str(module.relative_to(PACKAGE))


def test_a_room_imports_only_rooms_above_it() -> None:
    wrong = [
        f"{name_of(module)} imports {name}"
        for module in MODULES
        for name in sorted(imports_of(tree_of(module)))
        if name == RELATIVE or is_below(name, room_of(module))
    ]
    assert not wrong, "\n".join(wrong)


def is_below(name: str, here: str) -> bool:
    """Whether an imported name is that of a room below `here`."""
    package, _, rest = name.partition(".")
    there = rest.partition(".")[0]
    both_are_rooms = package == "tuner" and {here, there} <= set(ROOMS)
    return both_are_rooms and ROOMS.index(there) > ROOMS.index(here)


def test_a_library_is_imported_only_by_its_owners() -> None:
    wrong = [
        f"{name_of(module)} imports {library}, which belongs to {sorted(OWNERS[library])}"
        for module in MODULES
        for library in sorted(
            {name.partition(".")[0] for name in imports_of(tree_of(module))} & OWNERS.keys()
        )
        if room_of(module) not in OWNERS[library]
    ]
    assert not wrong, "\n".join(wrong)


def test_every_dependency_has_an_owner() -> None:
    project = tomllib.loads((PACKAGE.parent / "pyproject.toml").read_text("utf-8"))["project"]
    extras = project["optional-dependencies"]
    declared = [*project["dependencies"], *extras["search"], *extras["cluster"]]
    names = {line.split(">")[0] for line in declared}
    known = {
        "drain3-improved": "drain3",
        "prometheus-client": "prometheus_client",
        "pytest-testinfra": "testinfra",
        "pyyaml": "yaml",
    }
    never_imported = {"cryptography", "rsyslog-tune[search]"}
    assert {known.get(name, name) for name in names - never_imported} <= OWNERS.keys()
    for extra, libraries in EXTRAS.items():
        assert {line.split(">")[0] for line in extras[extra]} >= set(libraries)


def test_modules_and_functions_stay_small() -> None:
    wrong = []
    for module in MODULES:
        lines = len(module.read_text(encoding="utf-8").splitlines())
        if lines > LONGEST_MODULE:
            wrong.append(f"{name_of(module)} has {lines} lines")
        for node in ast.walk(tree_of(module)):
            if isinstance(node, ast.FunctionDef):
                lines = (node.end_lineno or 0) - node.lineno + 1
                if lines > LONGEST_FUNCTION:
                    wrong.append(f"{node.name} in {name_of(module)} has {lines} lines")
    assert not wrong, "\n".join(wrong)


def test_no_module_is_a_bag() -> None:
    bags = {"utils", "util", "helpers", "common", "manager", "misc"}
    assert not [module for module in MODULES if module.stem in bags]


def test_two_types_never_share_a_name() -> None:
    homes: dict[str, list[str]] = {}
    for module in MODULES:
        for node in tree_of(module).body:
            if isinstance(node, ast.ClassDef):
                homes.setdefault(node.name, []).append(name_of(module))
    shared = {name: where for name, where in homes.items() if len(where) > 1}
    assert not shared, shared


def test_the_core_can_be_read_in_an_afternoon() -> None:
    """The modules that docs/development.md leads through, from a search to a verdict."""
    page = (PACKAGE.parent / "docs" / "development.md").read_text(encoding="utf-8")
    core = [PACKAGE / name for name in re.findall(r"\*\*`([\w/]+\.py)`\*\*", page)]
    assert 10 < len(core) == len(set(core)) <= MOST_CORE_MODULES
    assert sum(map(code_lines, core)) <= MOST_CORE_LINES


def code_lines(module: Path) -> int:
    """Lines that hold code, without docstrings."""
    docstrings = {
        line
        for node in ast.walk(tree_of(module))
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node)
        for line in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    }
    tokens = tokenize.generate_tokens(io.StringIO(module.read_text(encoding="utf-8")).readline)
    said = {
        line
        for token in tokens
        if token.type not in LAYOUT
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(said - docstrings)
