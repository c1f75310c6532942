"""What of a configuration is its host's and no lab has; and what a lab never runs, whatever stands
in it: code and programs of the user's, and what writes or sends elsewhere; pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from posixpath import basename, normpath

from tuner.reading import table
from tuner.script.script import (
    HERE,
    Block,
    Expression,
    FunctionCall,
    Gap,
    Parameter,
    ScriptObject,
    ScriptPosition,
    Statement,
    expressions_of,
    inside,
    module_name,
    nothing,
    objects_in,
    rewritten,
)
from tuner.script.template import NamedText, TemplateProperty, template_of, with_option

_TABLE = table("lab/parameters.toml")


def modules_that(do: str) -> frozenset[str]:
    """The modules with which a lab does the same, by the name of that in parameters.toml."""
    return frozenset(_TABLE["modules"][do])


def parameters(*kinds: str) -> frozenset[str]:
    """The names of the parameters of these kinds in parameters.toml."""
    return frozenset(name for kind in kinds for name in _TABLE["parameters"][kind])


_OUTSIDE = modules_that("outside")
_OF_THE_HOST = _OUTSIDE | modules_that("send_elsewhere")
_ENTERED = modules_that("are_entered")
TOWARDS_ENGINE = parameters("servers", "login")
"""Where the engine of an action is, and what it is let in by."""
TLS, _OF_ITS_HOST, _NEVER = (
    tuple(map(str, _TABLE["beginnings"][kind])) for kind in ("tls", "of_its_host", "never")
)
_ASKS_OUTSIDE = frozenset({"http_request"})
# The socket of an imptcp.
_NEVER_OF_INPUTS = "path"
_FILENAME = "queue.filename"
_JSON = frozenset({"jsonf", "jsonftree"})


@dataclass(frozen=True)
class Confined:
    """A configuration of which nothing leaves the lab, and what was taken out for that."""

    block: Block
    left_out: tuple[Gap, ...]


def confined(block: Block, folder: str, path: str = "") -> Confined:
    """What of a configuration, bound to a lab with that folder, stays within it and works there.
    In names of files the variable `path` keeps its slashes: it has no `..`."""
    work = ScriptObject("global", (Parameter.of("workDirectory", folder, HERE),), HERE)
    objects = [part for part in block if isinstance(part, ScriptObject)]
    templates = {part.key: part for part in reversed(objects) if part.kind == "template"}
    names = (item.text("dynaFile") for item in objects_in(block))
    of_files = frozenset(_key(name) for name in names if name)
    confining = _Confining(folder, path, templates, of_files)
    return Confined((work, *rewritten(block, confining.statement)), tuple(confining.left_out))


def is_of_host(module: str) -> bool:
    """Whether a module takes events of the host itself, runs programs, or sends elsewhere."""
    return module in _OF_THE_HOST or (module.startswith("im") and module not in _ENTERED)


def without_host(section: ScriptObject) -> Iterator[ScriptObject]:
    """A global() without what is about the host; none where it has nothing else."""
    bare = section.without_beginning(_OF_ITS_HOST)
    if bare.parameters:
        yield bare


@dataclass
class _Confining:
    folder: str
    path: str
    templates: dict[str, ScriptObject]
    of_files: frozenset[str]
    left_out: list[Gap] = field(default_factory=list)

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """The statement, what is left of it, or nothing that does anything."""
        if any(map(_asks_outside, expressions_of(statement))):
            yield self.nothing(statement.origin, "a statement that asks a server")
        elif isinstance(statement, ScriptObject):
            yield from self.object(statement)
        else:
            yield statement

    def object(self, statement: ScriptObject) -> Iterator[Statement]:
        """An object without what is never run."""
        if statement.kind == "module":
            yield from self.module(statement)
            return
        if statement.kind == "action" and statement.type.removeprefix("builtin:") in _OUTSIDE:
            yield self.nothing(statement.origin, f"action {statement.type}")
            return
        if statement.kind == "action" and self.writes_elsewhere(statement):
            yield self.nothing(statement.origin, "an action into a file outside of the lab")
            return
        is_path = statement.kind == "template" and statement.key in self.of_files
        yield self.bare(_secured(statement, self.path) if is_path else statement)

    def module(self, module: ScriptObject) -> Iterator[ScriptObject]:
        """A module by its name alone, so that it is one of rsyslogd's own."""
        written, name = module.text("load"), module_name(module)
        if written is None or name in _OUTSIDE:
            self.note(module.origin, f"module {name or 'of no known name'}")
            return
        if "/" in written:
            self.note(module.origin, f"module {written}: rsyslogd's own {name} is loaded instead")
            module = module.with_values({"load": name})
        yield self.bare(module)

    def bare(self, statement: ScriptObject) -> ScriptObject:
        """An object without parameters that are never set, its queue's files in the lab."""
        parameters: list[Parameter] = []
        for parameter in statement.parameters:
            is_socket = statement.kind == "input" and parameter.key == _NEVER_OF_INPUTS
            if is_socket or parameter.key.startswith(_NEVER):
                self.note(parameter.origin, parameter.name)
            elif parameter.key == _FILENAME and "/" in (parameter.text or "/"):
                name = basename(parameter.text or "")
                self.note(parameter.origin, f"{parameter.name}: {name or 'none'}")
                parameters.append(Parameter.of(parameter.name, name or "queue", parameter.origin))
            else:
                parameters.append(parameter)
        return replace(statement, parameters=tuple(parameters))

    def writes_elsewhere(self, action: ScriptObject) -> bool:
        """Whether an action writes into a file that is not below the folder, or may be."""
        static, dynamic = action.get("file"), action.get("dynaFile")
        if static is not None:
            path = static.text
            return path is None or not normpath(path).startswith(f"{self.folder}/")
        if dynamic is None:
            return False
        template = self.templates.get(_key(dynamic.text or ""))
        return template is None or not _stays_below(template)

    def nothing(self, origin: ScriptPosition, reason: str) -> Statement:
        """What does nothing, in place of what is left out."""
        self.note(origin, reason)
        return nothing(origin)

    def note(self, origin: ScriptPosition, reason: str) -> None:
        """Say what is left out, where it stands."""
        self.left_out.append(Gap(origin, reason))


def _key(name: str) -> str:
    return name.strip().lower()


def _stays_below(template: ScriptObject) -> bool:
    """Whether no path of a template leads above where it begins, if its properties have no slash
    and are neither empty nor `..`."""
    read = template_of(template)
    if read is None or read.subtree is not None or read.options & _JSON:
        return False
    properties = [piece for piece in read.pieces if isinstance(piece, TemplateProperty)]
    texts = (piece.text if isinstance(piece, NamedText) else piece for piece in read.pieces)
    path = "".join(piece if isinstance(piece, str) else "x" for piece in texts)
    is_named = any("/" in piece.options.get("outname", "") for piece in properties)
    return not is_named and ".." not in path.split("/")


def _secured(template: ScriptObject, path: str) -> ScriptObject:
    """A template whose properties but `path` have no slash and are neither empty nor `..`."""
    text = template.text("string")
    if text is not None:
        template = template.with_values({"string": with_option(text, "secpath-replace")})
    parts = (
        part.with_values({"securepath": "replace"})
        if part.kind == "property" and part.name != path and part.get("securepath") is None
        else part
        for part in template.parts
    )
    return replace(template, parts=tuple(parts))


def _asks_outside(expression: Expression) -> bool:
    """Whether an expression has a function that sends something."""
    calls = (part for part in inside(expression) if isinstance(part, FunctionCall))
    return any(call.name.lower() in _ASKS_OUTSIDE for call in calls)
