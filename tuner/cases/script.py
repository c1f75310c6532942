"""A configuration of rsyslogd as it runs to be tested: whatever it writes says of which case it is
and by which output it came; pure.

A message that we send before those of a case, and another after them, set the number of the case,
which each message takes along in a variable of its own.  What is written has it in the name of the
index or of the file: no text of the user's is touched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Iterator
from dataclasses import dataclass, field, replace

from tuner.lab.confined import confined
from tuner.lab.numbered import constant
from tuner.modules.omelasticsearch import DEFAULT_INDEX
from tuner.rainerscript.configuration import loading_missing
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.printing import printed
from tuner.rainerscript.script import (
    HERE,
    Block,
    BsdBlock,
    Directive,
    FunctionCall,
    If,
    Include,
    Operation,
    Parameter,
    Quoted,
    ScriptNumber,
    ScriptObject,
    ScriptPosition,
    SetVariable,
    Statement,
    Variable,
    Word,
    every,
    loading,
    module_name,
    nothing,
    rewritten,
)
from tuner.validate.comparable import PATH, ComparableScript, Entry, worked_out

_CASE, _FENCE, _INDEX = "$.rsyslogtunecase", "$.rsyslogtunefence", "$.rsyslogtuneindex"
_CURRENT = "$/rsyslogtunecase"
# Messages of rsyslogd itself, and documents that come back to be sent again, are of no case.
_OF_NO_CASE = ("rsyslogd", "omelasticsearch")
# One worker keeps the order, and what is left at the end is written.
_QUEUE = {"queue.type": "LinkedList", "queue.workerThreads": 1, "queue.timeoutShutdown": 10000}
# What reads one message after the other, and at once.
_UNORDERED = frozenset({"threads", "workerthreads", "schedulingpolicy", "schedulingpriority"})
# Outputs that run as such; files stand for the others.
_RUN = frozenset({"omelasticsearch", "omfile"})
# TLS needs files of the host's.
_DRIVER = "defaultnetstreamdriver"
_JOINS_LINES = ("startmsg.regex", "endmsg.regex", "readmode")


@dataclass
class CaseScript(ComparableScript):
    """A configuration with a sink and a folder of the lab's, in which `mark` names our messages.

    `ways` are where messages enter, by the input as it is written, and `outputs` the names of its
    actions; what of both is not tested is in `gaps`.
    """

    mark: str = ""
    ways: dict[str, Entry] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)
    gaps: list[Gap] = field(default_factory=list)
    has_sockets: bool = False
    has_journal: bool = False
    labels: dict[ScriptPosition, str] = field(default_factory=dict)
    number: int = 0
    passed: str = ""

    @property
    def fence(self) -> str:
        """The file that says which of our messages has passed."""
        return f"{self.folder}/fence"

    @property
    def written(self) -> str:
        """The folder of what is written: NUMBER OF CASE/NUMBER OF OUTPUT/..."""
        return f"{self.folder}/written"

    def message(self, case: str) -> tuple[bytes, ...]:
        """Our message before, or after, those of a case, in each format that a parser may want."""
        mark = f"{self.mark}{case}{self.mark}"
        return (f"<13>1 - - - - - - {mark}".encode(), f"<13>Jan  1 00:00:00 - -: {mark}".encode())

    def text(self, block: Block) -> str:
        """The configuration for the lab."""
        flat = tuple(_without_includes(block))
        self.labels = _labels(flat)
        self.passed = self.list_template(Variable(_FENCE, HERE), Quoted("\n", HERE))
        made = rewritten((*loading_missing(flat), *flat), self.statement)
        made = tuple(_once((*made, *self.stand_in())))
        first = next((n for n, one in enumerate(made) if _is_rule(one)), len(made))
        made = (*made[:first], *self.entrance(), *made[first:])
        queue = ScriptObject("main_queue", (), HERE).with_values(_QUEUE)
        work = ScriptObject("global", (), HERE).with_values({"workDirectory": self.folder})
        safe = confined((work, queue, *self.templates, *made), self.folder, PATH)
        self.gaps += safe.left_out
        return printed(safe.block)

    def stand_in(self) -> Iterator[Statement]:
        """A socket for imjournal, and where no input takes messages that a lab can send."""
        if self.has_journal or not self.ways:
            if not self.has_sockets:
                yield loading("imuxsock", HERE).with_values({"sysSock.use": False})
            label = "imjournal" if self.has_journal else "imuxsock"
            made = {"type": "imuxsock", "socket": self.socket()}
            yield ScriptObject("input", (), HERE).with_values(made)
            self.ways[label] = self.entries[-1]

    def entrance(self) -> Iterator[Statement]:
        """What stands before all else: our own messages end here, each other takes the number of
        its case along."""
        raw, mark = Variable("$rawmsg", HERE), Quoted(self.mark, HERE)
        number = FunctionCall("field", (raw, mark, ScriptNumber(2, HERE)), HERE)
        seen = {"type": "omfile", "file": self.fence, "template": self.passed}
        ours: Block = (
            SetVariable("set", _FENCE, number, HERE),
            SetVariable("set", _CURRENT, Variable(_FENCE, HERE), HERE),
            ScriptObject("action", (), HERE).with_values(seen),
            Word("stop", HERE),
        )
        yield If(Operation("contains", (raw, mark), HERE), ours, (), HERE)
        source = Variable("$inputname", HERE)
        is_new = (
            Operation("==", (Variable(_CASE, HERE), Quoted("", HERE)), HERE),
            *(Operation("!=", (source, Quoted(name, HERE)), HERE) for name in _OF_NO_CASE),
        )
        take: Block = (SetVariable("set", _CASE, Variable(_CURRENT, HERE), HERE),)
        yield If(Operation("and", is_new, HERE), take, (), HERE)

    def statement(self, one: Statement) -> Iterator[Statement]:
        """What stands for a statement in the lab."""
        if isinstance(one, BsdBlock):
            self.gaps.append(Gap(one.origin, f"{one.text}: what follows gets all messages"))
        yield from super().statement(one)

    def directive(self, one: Directive) -> Iterator[Directive]:
        """A directive in the lab, which takes messages from anywhere."""
        if one.key != "allowedsender":
            yield from super().directive(one)

    def object(self, one: ScriptObject) -> Iterator[Statement]:
        """An object in the lab that is no action."""
        match one.kind:
            case "module":
                yield from self.module(one)
            case "main_queue":
                return
            case "global":
                yield from super().object(one.without_beginning(_DRIVER))
            case "ruleset":
                queue = _QUEUE if one.queue else {}
                body = (*self.entrance(), *(one.body or ()))
                yield replace(_without_queue(one).with_values(queue), body=body)
            case "input":
                yield from self.input(one)
            case _:
                yield from super().object(one)

    def module(self, one: ScriptObject) -> Iterator[Statement]:
        """A module in the lab, which brings nothing of this machine's."""
        match module_name(one):
            case "imuxsock":
                self.has_sockets = True
                yield from super().object(one)
                self.enters_by("imuxsock")
            case "imjournal":
                self.has_journal = True
                self.gaps.append(Gap(one.origin, "imjournal: a socket of the lab's stands for it"))
            case "imrelp":
                yield loading("imptcp", one.origin)
            case name if name.startswith("om") and name not in _RUN:
                return
            case _:
                yield from super().object(one.without(_UNORDERED))

    def input(self, one: ScriptObject) -> Iterator[Statement]:
        """An input of the lab's."""
        label = _label_of_input(one)
        if one.type == "imrelp":
            kept = (each for each in one.parameters if each.key in {"name", "ruleset"})
            one = replace(one, parameters=tuple(kept)).with_values({"type": "imptcp"})
            self.gaps.append(Gap(one.origin, f"{label}: an imptcp stands for it"))
        if not any(one.get(name) for name in _JOINS_LINES):
            yield from super().input(one.without({"allowedsender"}))
        if not self.enters_by(label):
            self.gaps.append(Gap(one.origin, f"input {label}: no test sends to it"))

    def enters_by(self, label: str) -> bool:
        """Whether there is an entry that has no name yet, which it gets."""
        new = [one for one in self.entries if one not in self.ways.values()]
        self.ways.update((label, one) for one in new[:1])
        return bool(new)

    def action(self, one: ScriptObject) -> Iterator[Statement]:
        """An action in the lab, which says of which case and output its documents and lines are."""
        label, kind = self.labels[one.origin], one.type.removeprefix("builtin:")
        self.number = [*self.labels.values()].index(label)
        if kind == "omelasticsearch":
            index = one.text("searchIndex") or DEFAULT_INDEX
            target: Quoted | Variable = Quoted(index, HERE)
            if one.is_on("dynSearchIndex"):
                yield worked_out(_INDEX, index)
                target = Variable(_INDEX, HERE)
            named = {"searchIndex": self.of_case("", target), "dynSearchIndex": True}
            one = one.with_values(named)
        for made in super().action(one):
            if not isinstance(made, ScriptObject | SetVariable) or made == nothing(one.origin):
                self.gaps.append(Gap(one.origin, f"output {label}: {kind} is not tested"))
            elif isinstance(made, ScriptObject) and not kind.startswith("mm"):
                self.outputs[label] = str(self.number)
            yield _without_queue(made) if isinstance(made, ScriptObject) else made

    def into(self, one: ScriptObject, kind: str) -> Generator[SetVariable, None, dict[str, str]]:
        """The file and the template of lines, in a folder of the case and the output."""
        made = yield from super().into(one, kind)
        path = made.pop("file", None)
        if path is None:
            return made
        below = Quoted(path.removeprefix(self.folder), HERE)
        return {**made, "dynaFile": self.of_case(f"{self.written}/", below)}

    def template(self, variable: str, before: str, after: str) -> str:
        """The name of a template of a variable between two texts."""
        if variable != PATH:
            return super().template(variable, before, after)
        below = Quoted(before.removeprefix(self.folder), HERE)
        return self.of_case(f"{self.written}/", below, Variable(variable, HERE))

    def of_case(self, before: str, *parts: Quoted | Variable) -> str:
        """The name of a template of some text behind the numbers of the case and of the output."""
        begin, end = Quoted(f"{before}c", HERE), Quoted(f"/{self.number}/", HERE)
        return self.list_template(begin, Variable(_CASE, HERE), end, *parts)

    def list_template(self, *parts: Quoted | Variable) -> str:
        """The name of a template of texts and variables."""
        name = f"rsyslog-tune-{len(self.templates)}"
        made = tuple(
            constant(one.text)
            if isinstance(one, Quoted)
            else ScriptObject("property", (Parameter.of("name", one.name, HERE),), HERE)
            for one in parts
        )
        head = ScriptObject("template", (), HERE).with_values({"name": name, "type": "list"})
        self.templates.append(replace(head, parts=made))
        return name


def _without_includes(block: Block) -> Iterator[Statement]:
    """The statements of a configuration, with what it includes in its place."""
    for one in block:
        if isinstance(one, Include):
            for file in one.files:
                yield from _without_includes(file)
        else:
            yield one


def _labels(block: Block) -> dict[ScriptPosition, str]:
    """What each action is called: its name, or where that is no name of its own, its number among
    the actions, as in an address."""
    found = (one for one in every(block) if isinstance(one, ScriptObject) and one.kind == "action")
    # A file that is included twice says the same twice.
    actions = {one.origin: one for one in found}
    names = Counter(one.key for one in actions.values())
    return {
        origin: one.name if one.name and names[one.key] == 1 else f"action[{number}]"
        for number, (origin, one) in enumerate(actions.items(), 1)
    }


def _label_of_input(one: ScriptObject) -> str:
    """What an input is called: its type, and its port, file or socket."""
    place = next(filter(None, map(one.text, ("port", "file", "socket"))), None)
    return one.type if place is None else f"{one.type}:{place}"


def _once(block: Block) -> Iterator[Statement]:
    """The statements, each module loaded once."""
    loaded = set[str]()
    for one in block:
        if isinstance(one, ScriptObject) and one.kind == "module":
            if module_name(one) in loaded:
                continue
            loaded.add(module_name(one))
        yield one


def _is_rule(one: Statement) -> bool:
    """Whether a statement does something with messages."""
    is_declared = isinstance(one, ScriptObject) and one.kind != "action"
    return not (is_declared or isinstance(one, Directive))


def _without_queue(one: ScriptObject) -> ScriptObject:
    return one.without({each.key for each in one.queue})
