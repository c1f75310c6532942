"""The copy of a configuration that a lab runs, with only that replaced which it must; pure.

What takes events from the host or sends them elsewhere is left out, each said with its place; an
input stands in where none can be flooded.  Nothing of the user's is run but rsyslogd itself.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, field, replace

from tuner.engines.user_template import UserTemplate
from tuner.errors import Refused
from tuner.lab.confined import TLS, TOWARDS_ENGINE, confined, is_of_host, parameters, without_host
from tuner.lab.numbered import (
    LINE_DIGITS,
    OF_HEAD,
    OF_LINE,
    OWN,
    constant,
    numbered,
    string_template,
)
from tuner.lab.text import LEFT_OUT, LabText, Replaced, Site
from tuner.modules.input import LOOPBACK
from tuner.modules.omelasticsearch import DEFAULT_INDEX, sends_type
from tuner.script.objects import MAIN_QUEUE
from tuner.script.printing import printed
from tuner.script.script import (
    HERE,
    QUEUE,
    Block,
    BsdBlock,
    Directive,
    ScriptObject,
    ScriptPosition,
    Statement,
    loading,
    module_name,
    not_loaded,
    nothing,
    rewritten,
)
from tuner.script.secrets import is_secret_name
from tuner.script.template import never_json
from tuner.script.view import LINE_PARSERS

_TOWARDS_RECEIVER, _SERVERS, _PIPELINE = map(
    parameters, ("towards_receiver", "servers", "pipeline")
)
_JOINS, _POLLING, _OWNERS = map(parameters, ("joins_lines", "polling", "owners"))
_SPOOL = "queue.spoolDirectory"
_NUMBERED_LINE = f"^[0-9]{{{LINE_DIGITS}}} "
_WHEN_POLLING = "maxlinesatonce"
FILES = "files"
"""The folder in that of a lab for files that rsyslogd writes, each below it as on its host."""
ENGINE_ERRORS = "engine-errors-{}.json"
"""Where rsyslogd writes, in the folder of a lab, what an engine refused of each action."""
# The keys of a profile that are not called as their parameters are.
_KEYS = {"server": "servers", "uid": "auth.uid", "pwd": "auth.pwd", "searchindex": "index"}
_DOC = "_doc"
_OF_LAB = frozenset({"", _DOC})


@dataclass(frozen=True)
class LabCopy:
    """A configuration for a lab; documents name the engine action that wrote them by its place
    among `outputs`, which are addresses; `indices` are those whose names stand in it, `templates`
    theirs.  Where it `forwards`, a receiver must be at the site."""

    block: Block
    outputs: tuple[str, ...]
    indices: tuple[str, ...]
    templates: tuple[UserTemplate, ...]
    replaced: tuple[Replaced, ...]
    site: Site
    forwards: bool


def copied(text: LabText, site: Site, *, numbers: bool = True) -> LabCopy:
    """The configuration as it runs at a site, with or without numbers in its documents.  Raises
    Refused where no engine action is left."""
    fitting = _Fitting(text, site, numbers, [*text.replaced])
    block = rewritten(text.changed.block, fitting.statement)
    if not fitting.outputs:
        gone = [f"{part.place}: {part.what}" for part in fitting.replaced if part.used == LEFT_OUT]
        why = "; ".join(gone) or "it has no action of type omelasticsearch: add one"
        raise Refused(f"nothing of it goes into an engine in a lab: {why}")
    templates = tuple(map(fitting.template, text.templates))
    added = fitting.added(block)
    # Last, so that it holds whatever stands above.
    safe = confined((*added, *fitting.templates, *block), site.folder)
    for gap in safe.left_out:
        fitting.note(gap.origin, gap.message)
    return LabCopy(
        block=safe.block,
        outputs=tuple(fitting.outputs),
        indices=tuple(fitting.indices),
        templates=templates,
        replaced=tuple(dict.fromkeys(fitting.replaced)),
        site=site,
        forwards=fitting.forwards,
    )


@dataclass
class _Fitting:
    text: LabText
    site: Site
    numbers: bool
    replaced: list[Replaced]
    outputs: list[str] = field(default_factory=list)
    indices: list[str] = field(default_factory=list)
    templates: list[ScriptObject] = field(default_factory=list)
    forwards: bool = False

    def statement(self, statement: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        if isinstance(statement, ScriptObject):
            statement = statement.without(_OWNERS)
        match statement:
            case ScriptObject(kind="action"):
                yield from self.action(self.named(statement))
            case ScriptObject():
                yield from self.other(statement)
            case Directive():
                self.note(statement.origin, f"${statement.name}")
            case BsdBlock():
                self.note(statement.origin, statement.text)
            case _:
                yield statement

    def other(self, statement: ScriptObject) -> Iterator[ScriptObject]:
        """An object that is no action."""
        match statement.kind:
            case "module" if is_of_host(module_name(statement)):
                self.note(statement.origin, f"module {module_name(statement)}")
            case "module" if module_name(statement) in self.text.idle:
                pass
            case "module" if (
                module_name(statement) == "imfile" and statement.text("mode") == "polling"
            ):
                self.note(statement.origin, "mode polling", "inotify")
                yield statement.without(_POLLING)
            case "input":
                yield from self.input(statement)
            case "global":
                yield from without_host(statement)
            case "ruleset" | "main_queue":
                yield self.spooled(statement)
            case _:
                yield statement

    def input(self, source: ScriptObject) -> Iterator[ScriptObject]:
        """An input as a flood enters by it."""
        known = self.text.inputs.get(source.origin)
        if known is None or known.bound is None:
            what = f"input {source.text('type')}"
            if known is not None and known.missed:
                missed = ", ".join(known.missed)
                what += f", which no flood sends to beside the others, and so {missed}"
            self.note(source.origin, what)
            return
        before, after = (
            section.model_dump(mode="json", by_alias=True, exclude_none=True)
            for section in (known.written, known.bound)
        )
        if "port" in after:
            after["port"] += known.lane
        changed = {
            key: value
            for key, value in after.items()
            if key not in {"type", "stream"} and before.get(key) != value
        }
        gone = {_WHEN_POLLING, *(key.lower() for key in before if key not in after)}
        # Such as the address of one that listens on all.
        unsaid = {key: before[key] for key in changed if key in before and not source.get(key)}
        fitted = self.replacing(source.with_values(unsaid), changed, gone)
        yield self.numbered_input(fitted)

    def numbered_input(self, source: ScriptObject) -> ScriptObject:
        """An input that takes the numbers of messages as they are: the time of a head, and of lines
        of a file the digits before each, by which each is an event."""
        if not self.numbers:
            return source
        if source.type == "imuxsock":
            return source.with_values({"ignoreTimestamp": "off", "useSysTimeStamp": "off"})
        if not self.text.headless or source.type != "imfile":
            return source
        self.note(source.origin, "lines", "with a number before each")
        joins = [parameter for parameter in source.parameters if parameter.key in _JOINS]
        for parameter in joins:
            self.note(source.origin, f"{parameter.name} {parameter.text}", "events of one line")
        # One that begins events would hold back the last line until another comes.
        ends = {"endmsg.regex": _NUMBERED_LINE} if joins else {}
        return source.without(_JOINS).with_values(ends)

    def named(self, action: ScriptObject) -> ScriptObject:
        """An action with the name that a lab counts it by: what is left out changes the numbers of
        those that have none."""
        name = self.text.changed.distinct_names.get(action.origin, action.name)
        return action if name == action.name else action.with_values({"name": name})

    def action(self, action: ScriptObject) -> Iterator[Statement]:
        """An action: into the lab's engine, into a file or to a receiver of its, or nothing."""
        kind = action.type.removeprefix("builtin:")
        match kind:
            case "omelasticsearch":
                yield from self.into_engine(action)
            case "omfile":
                yield from self.into_file(action)
            case "omfwd" | "omrelp":
                yield from self.to_receiver(action, kind)
            case _ if kind in LINE_PARSERS and self.text.headless:
                raise Refused(
                    f"{action.origin}: {kind} would take apart lines of a file, and the lab must "
                    "write a number before each: let an input that takes syslog stand before it"
                )
            case _ if kind.startswith("mm") and not is_of_host(kind):
                yield self.spooled(action)
            case _:
                yield self.without(action, f"action {kind}")

    def into_engine(self, action: ScriptObject) -> Iterator[Statement]:
        """Documents with the number of their event and of the action."""
        if action.origin in self.text.retried:
            yield self.spooled(self.towards_engine(self.typed(action), len(self.outputs) - 1))
            return
        number, written = len(self.outputs), action.text("template")
        template = None if written is None else self.text.changed.template(written)
        if written is not None and template is None:
            yield self.without(
                action, f"an action with the template {written}, which is not defined"
            )
            return
        refused = self.refused(action)
        if refused is not None:
            yield self.without(action, refused)
            return
        stands_in = OF_LINE if self.text.headless else OF_HEAD
        document = numbered(template, number, stands_in) if self.numbers else None
        if document is None and self.numbers:
            yield self.without(action, _no_room(template))
            return
        self.outputs.append(self.text.changed.address_of(action) or "")
        index, prefix = action.text("searchIndex") or DEFAULT_INDEX, self.site.index_prefix
        if action.is_on("dynSearchIndex"):
            name = self.prefixed(index, prefix)
            self.note_value(action, "searchIndex", f"by template {index}", f"{prefix} before it")
        else:
            name = f"{prefix}{index}"
            self.indices.append(name)
            self.note_value(action, "searchIndex", index, name)
        values: dict[str, object] = {"searchIndex": name}
        if document is not None:
            self.templates += document.templates
            values["template"] = document.name
            yield from document.before
        creates = (action.text("writeOperation") or "").lower() == "create"
        if creates and not self.text.templates:
            self.note(action.origin, "data stream, if it is one", "an index")
        made = self.towards_engine(self.identified(self.typed(action)), number)
        yield self.spooled(made.with_values(values))

    def towards_engine(self, action: ScriptObject, number: int) -> ScriptObject:
        """The action with as many servers of the lab's as it has, if there are so many."""
        servers = action.get("server")
        several = max(1, 0 if servers is None else len(servers.texts))
        gone = _SERVERS if self.site.keeps_authentication else TOWARDS_ENGINE
        for name in ("pipelineName", "dynPipelineName"):
            if action.get(name) is not None:
                self.note(action.origin, f"{name}, of which a lab has none")
        values: dict[str, object] = {
            "server": list(self.site.engine_urls)[:several],
            # Of a bulk that goes well rsyslogd writes nothing there; of others, the engine's words.
            "errorFile": f"{self.site.folder}/{ENGINE_ERRORS.format(number)}",
        }
        return self.replacing(action.without(_PIPELINE), values, gone)

    def identified(self, action: ScriptObject) -> ScriptObject:
        """The action with ids of documents that no two messages of a flood have alike."""
        written = action.text("bulkid")
        template = None if written is None else self.text.changed.template(written)
        if (
            not action.is_on("dynbulkid")
            or template is None
            or "uuid" in printed((template,)).lower()
        ):
            return action
        name = f"{OWN}id-{len(self.outputs)}"
        self.templates.append(string_template(name, "%uuid%"))
        self.note(action.origin, f"bulkid {written}", "another one each time")
        return action.with_values({"bulkid": name})

    def refused(self, action: ScriptObject) -> str | None:
        """Why the engine of a lab takes nothing of an action; None where it does."""
        release, kind = self.site.without_types, action.get("searchType")
        written = None if kind is None else kind.text
        is_known = kind is None or written is not None
        if release is None or not is_known:
            return None
        if not sends_type(release, written, action.text("esVersion.major")):
            return None
        subject = "without searchType" if kind is None else f"with searchType {written!r}"
        return (
            f"an action {subject}: rsyslog 8.{release} then sends _type, and this engine refuses "
            'every bulk with it, so all events would be lost: write searchType="", or name the '
            "engine that you have in `release`"
        )

    def typed(self, action: ScriptObject) -> ScriptObject:
        """The action with the `_type` that the indices of a lab have, where the engine takes any:
        one with a mapping takes no other ("Invalid type: expecting [_doc] but got [events]",
        Elasticsearch 7.17)."""
        kind = action.get("searchType")
        if self.site.without_types is not None or (kind is not None and kind.text in _OF_LAB):
            return action
        if kind is not None:
            self.note(action.origin, f"searchType {kind.text}", _DOC)
        return action.without({"dynsearchtype"}).with_values({"searchType": _DOC})

    def to_receiver(self, action: ScriptObject, kind: str) -> Iterator[Statement]:
        """Messages to the receiver of the lab, unencrypted."""
        plain = action.without_beginning(TLS)
        port = self.site.receiver_port + (kind == "omrelp")
        secured = " with TLS" if len(plain.parameters) < len(action.parameters) else ""
        self.note(action.origin, f"action {kind}{secured}", "to a receiver of the lab")
        self.forwards = True
        bare = plain.without(_TOWARDS_RECEIVER)
        yield self.spooled(bare.with_values({"target": LOOPBACK, "port": port}))

    def into_file(self, action: ScriptObject) -> Iterator[Statement]:
        """Lines into a file of the lab's."""
        folder = f"{self.site.folder}/{FILES}"
        static, dynamic = action.text("file"), action.text("dynaFile")
        action = action.without({"createdirs"})
        if dynamic is not None:
            self.note_value(action, "dynaFile", dynamic, f"below {folder}")
            yield self.spooled(action.with_values({"dynaFile": self.prefixed(dynamic, folder)}))
        elif static is not None and static.startswith("/"):
            yield self.spooled(self.replacing(action, {"file": f"{folder}{static}"}))
        else:
            yield self.without(action, "an action into a file of no known name")

    def prefixed(self, name: str, prefix: str) -> str:
        """A template that writes what another does behind a prefix, by its name."""
        own_name = f"{OWN}name-{len(self.templates)}"
        template = self.text.changed.template(name)
        if template is None:
            made = string_template(own_name, prefix)
        elif template.parts:
            made = replace(
                template.with_values({"name": own_name}), parts=(constant(prefix), *template.parts)
            )
        else:
            made = template.with_values(
                {"name": own_name, "string": prefix + (template.text("string") or "")}
            )
        self.templates.append(made)
        return own_name

    def template(self, given: UserTemplate) -> UserTemplate:
        """The index template as the nodes of a lab can have it, noting what they do not have of it,
        and where it is for no index."""
        place, path = ScriptPosition(given.file, 1, 1), given.path
        notes = [(name, LEFT_OUT) for name in given.left_out]
        fitted = given.on_nodes(self.site.data_nodes)
        notes += [
            (f"{name} {value}", str(fitted.settings[name]))
            for name, value in given.settings.items()
            if str(fitted.settings[name]) != str(value)
        ]
        actions = [self.text.changed.objects[address] for address in self.outputs]
        names = [action.text("searchIndex") or DEFAULT_INDEX for action in actions]
        varies = any(action.is_on("dynSearchIndex") for action in actions)
        if not varies and not any(map(given.is_for, names)):
            used = f"not used: none of the indices ({', '.join(names)}) matches"
            notes.append((f"index_patterns {', '.join(given.patterns)}", used))
        self.replaced += [Replaced(place, what, used, path) for what, used in notes]
        return fitted

    def spooled(self, statement: ScriptObject) -> ScriptObject:
        """A queue keeps its files in the lab's folder."""
        has_files = statement.get(_SPOOL) is not None
        return self.replacing(statement, {_SPOOL: self.site.folder} if has_files else {})

    def replacing(
        self, item: ScriptObject, values: Mapping[str, object], gone: Container[str] = ()
    ) -> ScriptObject:
        """The object with these values and without what is gone, noting what stood there."""
        fitted = item.without(gone).with_values(values)
        for parameter in item.parameters:
            replaced = fitted.get(parameter.name)
            before = ", ".join(parameter.texts)
            if is_secret_name(item.type, parameter.key):
                before = "***"
            used = LEFT_OUT if replaced is None else ", ".join(replaced.texts)
            if before != used and replaced != parameter:
                self.note_value(item, parameter.name, before, used)
        return fitted

    def added(self, block: Block) -> Block:
        """What a lab adds before the statements that it has of a configuration: modules that are
        not loaded, and inputs for floods that no other takes."""
        place = ScriptPosition(next(iter(self.text.changed.files)), 1, 1)
        missing = not_loaded(block)
        if new := [name for name in missing if name in not_loaded(self.text.changed.block)]:
            loaded = f"modules that it does not load: the lab loads {', '.join(new)}"
            self.replaced.insert(0, Replaced(place, "inputs", loaded))
        inputs = tuple(map(self.numbered_input, self.text.added))
        names = not_loaded((*inputs, *block))
        modules = (_WITHOUT_HOST.get(name, loading(name, place)) for name in names)
        return (*modules, *inputs)

    def note(self, origin: ScriptPosition, what: str, used: str = LEFT_OUT) -> None:
        """Note what is replaced or left out, but for what follows from other parts."""
        path = self.text.paths.get(origin)
        if path != "":
            self.replaced.append(Replaced(origin, what, used, path or ""))

    def note_value(self, item: ScriptObject, name: str, before: str, used: str) -> None:
        """Note a parameter that every lab replaces, by its key in a profile where that says it."""
        path, what = self.text.paths.get(item.origin), before
        if path is None:
            what = f"{name} {before}"
        elif path:
            key = _KEYS.get(name.lower(), name)
            path += f".{key.removeprefix(QUEUE) if path == MAIN_QUEUE else key}"
        if path != "":
            self.replaced.append(Replaced(item.origin, what, used, path or "", is_routine=True))

    def without(self, action: ScriptObject, reason: str) -> Statement:
        """Nothing in place of an action."""
        self.note(action.origin, reason)
        return nothing(action.origin)


def _no_room(template: ScriptObject | None) -> str:
    """Why no number can stand in the documents of a template."""
    broken = None if template is None else never_json(template)
    if broken is None:
        return "an action whose template has no room for a number"
    return (
        f"an action whose template never gives a JSON object ({broken[1]}), so that an engine "
        "refuses every document (RT412)"
    )


# How a module is loaded that would take events of the host: what is left out of a base too.
_WITHOUT_HOST = {"imuxsock": loading("imuxsock", HERE).with_values({"sysSock.use": False})}
