"""A base in a lab: the user's configuration with only that replaced which a lab must; pure.

What takes events from the host or sends them elsewhere is left out, each said with its place;
nothing of the user's is run but rsyslogd itself.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from tuner.engine.delivery import FIELD, FIRST_OUTPUT
from tuner.errors import Refused
from tuner.modules.input import Input
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.script import (
    Block,
    BsdBlock,
    Directive,
    FunctionCall,
    Parameter,
    Quoted,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Statement,
    Word,
    module_name,
    rewritten,
)

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase

# Modules that take events of the host itself, run programs, or send elsewhere.
_OF_THE_HOST = frozenset(
    {
        "imuxsock", "imklog", "imkmsg", "imjournal", "immark", "impstats", "improg", "imdocker",
        "imkafka", "imhttp", "omprog", "mmexternal", "mmkubernetes", "omkafka", "ommysql",
        "ompgsql", "omlibdbi", "ommail", "omsnmp", "omhiredis", "ommongodb", "omamqp1", "omhttp",
    }
)  # fmt: skip
# Actions that stay; others do nothing in a lab.
_STAY = ("mm", "omelasticsearch", "omfile")
TOWARDS_ENGINE = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "apikey", "allowunsignedcerts",
        "skipverifyhost", "tls.cacert", "tls.mycert", "tls.myprivkey", "tls.tlsversion",
        "tls.ciphersuites", "tls.keyexchangegroups",
    }
)  # fmt: skip
_OF_ITS_HOST = ("privdrop", "debug", "umask", "localhostname", "workdirectory")
# What omelasticsearch writes without a template (StdJSONFmt in rsyslog's runtime/conf.c).
_STANDARD = (
    '{"message":"%msg:::json%","fromhost":"%HOSTNAME:::json%",'
    '"facility":"%syslogfacility-text%","priority":"%syslogpriority-text%",'
    '"timereported":"%timereported:::date-rfc3339%",'
    '"timegenerated":"%timegenerated:::date-rfc3339%"}'
)
_OWN = "rsyslog-tune-"
_HERE = ScriptPosition("", 1, 1)


@dataclass(frozen=True)
class BaseSite:
    """What a lab has for a base: the engine, a prefix of index names, and a folder for files."""

    engine_urls: tuple[str, ...]
    index_prefix: str
    folder: str


@dataclass(frozen=True)
class LabScript:
    """A configuration for a lab; documents name the engine action that wrote them by its place
    among `outputs`, which are addresses."""

    block: Block
    outputs: tuple[str, ...]
    left_out: tuple[Gap, ...]


def lab_script(kept: KeptBase, inputs: Sequence[Input | None], site: BaseSite) -> LabScript:
    """The configuration with the inputs as they are bound, those of its view in their order, None
    for what is left out.  Raises Refused where no engine action is left."""
    fitting = _Fitting(kept, inputs, site)
    block = rewritten(kept.changed.block, fitting.statement)
    if not fitting.outputs:
        why = "; ".join(map(str, fitting.left_out)) or "it has no action of type omelasticsearch"
        raise Refused(f"nothing of the base goes into an engine in a lab: {why}")
    work = ScriptObject("global", (Parameter.of("workDirectory", site.folder, _HERE),), _HERE)
    whole = (work, *fitting.templates, *block)
    return LabScript(whole, tuple(fitting.outputs), tuple(fitting.left_out))


@dataclass
class _Fitting:
    kept: KeptBase
    inputs: Sequence[Input | None]
    site: BaseSite
    outputs: list[str] = field(default_factory=list)
    templates: list[ScriptObject] = field(default_factory=list)
    left_out: list[Gap] = field(default_factory=list)

    def statement(self, one: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        match one:
            case ScriptObject(kind="action"):
                yield from self.action(one)
            case ScriptObject():
                yield from self.object(one)
            case Directive():
                self.leave_out(one.origin, f"${one.name}")
            case BsdBlock():
                self.leave_out(one.origin, one.text)
            case _:
                yield one

    def object(self, one: ScriptObject) -> Iterator[ScriptObject]:
        """An object that is no action."""
        match one.kind:
            case "module" if module_name(one) in _OF_THE_HOST:
                self.leave_out(one.origin, f"module {module_name(one)}")
            case "input":
                yield from self.input(one)
            case "global":
                yield from without_host(one)
            case "ruleset" | "main_queue":
                yield self.spooled(one)
            case _:
                yield one

    def input(self, one: ScriptObject) -> Iterator[ScriptObject]:
        """An input as it is bound."""
        address = self.kept.changed.address_of(one)
        path = next((at for at, of in self.kept.view.sections.items() if of == address), None)
        bound = None if path is None else self.inputs[int(path[1])]
        if path is None or bound is None:
            self.leave_out(one.origin, f"input {one.text('type')}")
            return
        before = self.kept.view.section(path)
        after = bound.model_dump(mode="json", by_alias=True, exclude_none=True)
        changed = {
            key: value
            for key, value in after.items()
            if key not in {"type", "stream"} and before.get(key) != value
        }
        yield one.with_values(changed)

    def action(self, one: ScriptObject) -> Iterator[Statement]:
        """An action: into the engine of the lab, into a file of its, or nothing."""
        kind = one.type.removeprefix("builtin:")
        if kind in _OF_THE_HOST or not kind.startswith(_STAY):
            self.leave_out(one.origin, f"action {kind}")
            yield Word("continue", one.origin)
        elif kind == "omelasticsearch":
            yield from self.into_engine(one)
        elif kind == "omfile":
            yield from self.into_file(one)
        else:
            yield self.spooled(one)

    def into_engine(self, one: ScriptObject) -> Iterator[Statement]:
        """Documents with the number of their event and of the action."""
        number = len(self.outputs)
        numbered = self.numbered(one, number)
        if numbered is None:
            self.leave_out(one.origin, "an action whose template has no room for a number")
            yield Word("continue", one.origin)
            return
        self.outputs.append(self.kept.changed.address_of(one) or "")
        template, before = numbered
        self.templates.append(template)
        values: dict[str, object] = {
            "server": list(self.site.engine_urls),
            "template": template.text("name"),
        }
        index, prefix = one.text("searchIndex") or "system", self.site.index_prefix
        name = self.prefixed(index, prefix) if one.is_on("dynSearchIndex") else f"{prefix}{index}"
        values["searchIndex"] = name
        if one.get("errorFile") is not None:
            values["errorFile"] = f"{self.site.folder}/errors-{number}.json"
        yield from before
        yield self.spooled(one.without(TOWARDS_ENGINE).with_values(values))

    def into_file(self, one: ScriptObject) -> Iterator[Statement]:
        """Lines into a file of the lab's."""
        folder = f"{self.site.folder}/files"
        static, dynamic = one.text("file"), one.text("dynaFile")
        if dynamic is not None:
            yield self.spooled(one.with_values({"dynaFile": self.prefixed(dynamic, folder)}))
        elif static is not None and static.startswith("/"):
            yield self.spooled(one.with_values({"file": f"{folder}{static}"}))
        else:
            self.leave_out(one.origin, "an action into a file of no known name")
            yield Word("continue", one.origin)

    def prefixed(self, name: str, prefix: str) -> str:
        """A template that writes what another does behind a prefix, by its name."""
        own = f"{_OWN}name-{len(self.templates)}"
        found = self.kept.changed.template(name)
        before = ScriptObject("constant", (Parameter.of("value", prefix, _HERE),), _HERE)
        if found is None:
            made = _string(own, prefix)
        elif found.parts:
            made = replace(found.with_values({"name": own}), parts=(before, *found.parts))
        else:
            made = found.with_values({"name": own, "string": prefix + (found.text("string") or "")})
        self.templates.append(made)
        return own

    def numbered(
        self, one: ScriptObject, number: int
    ) -> tuple[ScriptObject, tuple[Statement, ...]] | None:
        """A template for the documents of an action that has their number as one more member, and
        what must stand before the action for that; None where it is no JSON object."""
        name = f"{_OWN}document-{number}"
        times = "%timereported:::date-unixtimestamp%%timereported:::date-subseconds%"
        digits = f"{FIRST_OUTPUT + number}{times}"
        written = one.text("template")
        found = None if written is None else self.kept.changed.template(written)
        if written is not None and found is None:
            return None
        if found is None or found.text("string") is not None:
            text = _STANDARD if found is None else found.text("string") or ""
            head, brace, tail = text.rpartition("}")
            if not brace:
                return None
            member = f'{head},"{FIELD}":{digits}{brace}{tail}'
            options = () if found is None else found.parameters
            made = ScriptObject("template", options, _HERE).with_values({"name": name})
            return made.with_values({"type": "string", "string": member}), ()
        self.templates.append(_string(f"{_OWN}number-{number}", digits))
        own = Quoted(f"{_OWN}number-{number}", _HERE)
        value = FunctionCall("exec_template", (own,), _HERE)
        subtree = found.text("subtree")
        if subtree is not None:
            setting = SetVariable("set", f"{subtree.rstrip('!')}!{FIELD}", value, _HERE)
            return found.with_values({"name": name}), (setting,)
        variable = f"$.{FIELD}_{number}"
        parts = _with_member(found, variable)
        if parts is None:
            return None
        made = replace(found.with_values({"name": name}), parts=parts)
        return made, (SetVariable("set", variable, value, _HERE),)

    def spooled(self, one: ScriptObject) -> ScriptObject:
        """A queue keeps its files in the lab's folder."""
        here = one.get("queue.spoolDirectory") is not None
        return one.with_values({"queue.spoolDirectory": self.site.folder}) if here else one

    def leave_out(self, origin: ScriptPosition, what: str) -> None:
        """Note what is left out."""
        self.left_out.append(Gap(origin, what))


def without_host(one: ScriptObject) -> Iterator[ScriptObject]:
    """A global() without what is about the host; none where it has nothing else."""
    kept = tuple(p for p in one.parameters if not p.key.startswith(_OF_ITS_HOST))
    if kept:
        yield replace(one, parameters=kept)


def _string(name: str, text: str) -> ScriptObject:
    parameters = {"name": name, "type": "string", "string": text}
    return ScriptObject("template", (), _HERE).with_values(parameters)


def _with_member(template: ScriptObject, variable: str) -> tuple[ScriptObject, ...] | None:
    """The parts of a list template with one more member of the object that they write; None where
    they write none."""
    whole = any(template.is_on(f"option.{name}") for name in ("jsonf", "jsonftree"))
    value = {"name": variable, "outname": FIELD, "format": "jsonf"}
    member = ScriptObject("property", (), _HERE).with_values(value)
    if whole:
        return (*template.parts, member)
    *before, last = template.parts or (member,)
    head, brace, tail = (last.text("value") or "").rpartition("}")
    if last.kind != "constant" or not brace:
        return None
    head_part = last.with_values({"value": f'{head},"{FIELD}":'})
    plain = ScriptObject("property", (), _HERE).with_values({"name": variable})
    return (*before, head_part, plain, last.with_values({"value": brace + tail}))
