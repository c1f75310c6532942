"""What no key of a profile says, kept as RainerScript in snippets with all that it needs."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, count, groupby

from tuner.importer.flow import negated
from tuner.importer.reached import Reached, templates_in
from tuner.modules.omelasticsearch import ASKS_AT_START
from tuner.rainerscript.conditions import PRIORITY, property_name
from tuner.rainerscript.configuration import Parts, is_module
from tuner.rainerscript.gaps import Gap, Gaps
from tuner.rainerscript.printing import printed
from tuner.rainerscript.script import (
    BUILT_IN,
    QUEUE,
    Array,
    Block,
    Call,
    Expression,
    FunctionCall,
    If,
    Operation,
    Parameter,
    Quoted,
    ScriptNumber,
    ScriptObject,
    ScriptPosition,
    Statement,
    Variable,
    every,
    expressions_of,
    loading,
    module_name,
    rewritten,
)
from tuner.rainerscript.secrets import (
    FoundSecret,
    is_secret,
    owner_of,
    secret_header,
    secrets_in,
    secrets_of,
)

# What rsyslogd 8.2302 names itself (tools/syslogd.c).
_OWN_TEMPLATES = frozenset(
    f"rsyslog_{name}"
    for name in (
        "debugformat", "syslogprotocol23format", "fileformat", "traditionalfileformat",
        "forwardformat", "traditionalforwardformat", "stdusrmsgfmt", "stddbfmt", "stdpgsqlfmt",
    )
)  # fmt: skip
# Which template a parameter names only where another one says so.
_DYNAMIC = {
    "dynsearchindex": "searchindex", "dynsearchtype": "searchtype", "dynparent": "parent",
    "dynbulkid": "bulkid", "dynpipelinename": "pipelinename", "dynatopic": "topic",
    "dynrestpath": "restpath",
}  # fmt: skip
_FILENAME = f"{QUEUE}filename"
# The first version of the engine of which omelasticsearch knows that it makes ids.
_MAKES_IDS = 8


@dataclass
class Rest:
    """Statements by the place of their snippet: what others need at the start, the rest before the
    outputs of their stream, None being that of no stream.

    Rulesets and inputs stand at the end, where every module is loaded: rsyslogd looks for them by
    their names only once it has read everything."""

    parts: Parts
    gaps: Gaps
    release: int
    with_secrets: bool = False
    start: list[Statement] = field(default_factory=list)
    end: list[Statement] = field(default_factory=list)
    bodies: dict[str | None, list[Reached]] = field(default_factory=dict)
    kept: dict[Gap, None] = field(default_factory=dict)
    rulesets: set[str] = field(default_factory=set)
    templates: set[str] = field(default_factory=set)
    waiting: list[ScriptObject] = field(default_factory=list)

    def keep(self, stream: str | None, one: Reached, why: Gap) -> None:
        """Keep a statement under its conditions; what a snippet cannot hold is noted."""
        guards = () if self.with_secrets else one.guards
        for found in chain.from_iterable(secrets_of(guard.condition) for guard in guards):
            what = f"no snippet keeps it, as its condition may hold a secret: {found}"
            self.gaps.miss(why.origin, f"{why.message}; {what}; --with-secrets copies it")
            return
        for made in self._kept((one.statement,), why):
            self.bodies.setdefault(stream, []).append(replace(one, statement=made))

    def keep_block(self, stream: str | None, block: Block, why: Gap) -> None:
        """Keep statements as they are."""
        for made in self._kept(block, why):
            self.bodies.setdefault(stream, []).append(Reached(made, ()))

    def keep_object(self, one: Statement, why: Gap) -> None:
        """Keep an object."""
        made = self._kept((one,), why)
        is_late = isinstance(one, ScriptObject) and one.kind == "input"
        (self.end if is_late else self.start).extend(made)

    def _kept(self, block: Block, why: Gap) -> Block:
        """Statements as they are kept; the rulesets that they need are kept at the end, each
        after those that it needs itself."""
        made = self._ready(block, why) or ()
        rulesets: list[Block] = []
        while self.waiting:
            needed = self.waiting.pop()
            reason = Gap(needed.origin, f"ruleset {needed.text('name')}")
            rulesets.append(self._ready((needed,), reason) or ())
        self.end += chain.from_iterable(reversed(rulesets))
        return made

    def lacks(self, block: Block) -> str | None:
        """What statements name that is not there, so that rsyslogd refuses them."""
        for one in every(block):
            if not isinstance(one, ScriptObject) or one.kind != "action":
                continue
            names = [one.text(key) for key in ("template", "dynaFile")]
            names += [one.text(named) for key, named in _DYNAMIC.items() if one.is_on(key)]
            for name in filter(None, names):
                lowered = name.strip().lower()
                if lowered not in self.parts.template_objects and lowered not in _OWN_TEMPLATES:
                    return f"template {name}"
            if refuses_create(one, self.release):
                return "bulkid"
            retried = one.text("retryRuleset")
            if retried is not None and retried.lower() not in self.parts.rulesets:
                return f"ruleset {retried}"
        return None

    def _ready(self, block: Block, why: Gap) -> Block | None:
        """Statements without secrets, and what they need; None where they cannot be kept."""
        statements = tuple(every(block))
        found = None if self.with_secrets else next(self._secrets(statements), None)
        lacking = self.lacks(block)
        if found is not None or lacking is not None:
            what = f"it may hold a secret: {found}; --with-secrets copies it"
            what = what if lacking is None else f"there is no {lacking}"
            self.gaps.miss(why.origin, f"{why.message}; no snippet keeps it, as {what}")
            return None
        self.kept[why] = None
        for one in statements:
            self._need(one)
        return rewritten(block, self._without_secrets)

    def _secrets(self, statements: Sequence[Statement]) -> Iterator[FoundSecret]:
        """Secrets that no reference can stand for, in statements and the templates that they
        name; a secret of one parameter may stand in another once more."""
        yield from chain.from_iterable(map(secrets_in, statements))
        names = (name for one in statements for name in _templates_of(one))
        templates = (self.parts.template_objects.get(name.strip().lower()) for name in names)
        yield from chain.from_iterable(secrets_in(one) for one in templates if one is not None)
        objects = [one for one in statements if isinstance(one, ScriptObject)]
        every_one = [(is_secret(owner_of(one), each), each) for one in objects
                     for each in one.parameters]  # fmt: skip
        secrets = {text for whole, each in every_one if whole for text in each.texts if text}
        for whole, each in every_one:
            if not whole and any(secret in text for secret in secrets for text in each.texts):
                yield FoundSecret(each.origin, f"a secret once more, {each.name}")

    def _need(self, one: Statement) -> None:
        """The module, the templates and the rulesets that a statement names."""
        for name in _templates_of(one):
            self._need_template(name)
        if isinstance(one, Call):
            target = one.target
            self._need_rulesets([target] if isinstance(target, str) else self.parts.rulesets)
        if not isinstance(one, ScriptObject):
            return
        self._need_rulesets(filter(None, [one.text("retryRuleset"), one.text("ruleset")]))
        if one.kind not in {"action", "input"}:
            return
        kind = one.type
        if kind not in BUILT_IN:
            module = self.parts.module_objects.get(kind, loading(kind, one.origin))
            self.start += self._without_secrets(module)

    def _need_template(self, name: str) -> None:
        key = name.strip().lower()
        template = self.parts.template_objects.get(key)
        if template is not None and key not in self.templates:
            self.templates.add(key)
            self.start.append(template)

    def _need_rulesets(self, names: Iterable[str]) -> None:
        if len(self.rulesets) == len(self.parts.rulesets):
            return
        for name in map(str.lower, names):
            ruleset = self.parts.rulesets.get(name)
            if ruleset is not None and name not in self.rulesets:
                self.rulesets.add(name)
                self.waiting.append(ruleset)

    def late_modules(self, loaded: Collection[str]) -> list[str]:
        """The modules that may be loaded after the snippet at the start, and only once."""
        return [module_name(one) for one in self._modules(loaded) if self._is_late(one)]

    def _modules(self, loaded: Collection[str]) -> list[ScriptObject]:
        # Functions and parsers are asked for by names of their own.
        named = [
            module
            for kind, module in self.parts.module_objects.items()
            if self.kept and kind.startswith(("fm", "pm"))
        ]
        needed = dict.fromkeys([*named, *filter(is_module, self.start)])
        return [one for one in needed if module_name(one) not in {*loaded, *BUILT_IN}]

    def _is_late(self, module: ScriptObject) -> bool:
        """Whether it has no parameters, and nothing at the start asks for any module."""
        asks = (isinstance(one, ScriptObject) and one.kind == "parser" for one in self.start)
        return len(module.parameters) == 1 and not any(asks)

    def files(
        self,
        loaded: Collection[str],
        queue_files: Iterable[tuple[str, str]],
        outputs: Iterable[Statement],
    ) -> Iterator[tuple[str, str | None, str]]:
        """The snippets that are not empty, each with its place among those of the profile, or with
        its stream; modules in `loaded` are the rendered configuration's, as are the queues with the
        folders and names `queue_files`, and actions are `outputs` of the profile."""
        start: list[Statement] = [one for one in self._modules(loaded) if not self._is_late(one)]
        start += dict.fromkeys(one for one in self.start if not is_module(one))
        own = _nested(self.bodies.get(None, []), 0)
        bodies: dict[tuple[str, str | None], list[Statement]] = {
            ("start", None): start, ("outputs", None): [*own], ("end", None): self.end
        }  # fmt: skip
        for stream, kept in self.bodies.items():
            if stream is not None:
                bodies["snippets", stream] = [*_nested(kept, 0)]
        taken = set(queue_files)
        written = {one.origin for one in outputs}

        def own_files(one: Statement) -> Iterator[Statement]:
            self._say_what_is_torn(one, written)
            yield self._with_own_files(one, taken)

        for (place, of), body in bodies.items():
            if text := printed(rewritten(tuple(body), own_files)):
                yield place, of, text

    def _say_what_is_torn(self, one: Statement, written: set[ScriptPosition]) -> None:
        """Say which file several actions write that were one: `written` are those so far."""
        file = one.text("file") if isinstance(one, ScriptObject) and one.kind == "action" else None
        if file is not None and one.origin in written:
            what = (
                "several rulesets lead here, each with an action of its own in the profile: lines"
            )
            self.gaps.change(one.origin, f"{file}: {what} of large batches may be torn")
        elif file is not None:
            written.add(one.origin)

    def _with_own_files(self, one: Statement, taken: set[tuple[str, str]]) -> Statement:
        """A statement whose queue has files that no other has, as one that several rulesets lead to
        stands in each: rsyslogd refuses the second."""
        name = one.text(_FILENAME) if isinstance(one, ScriptObject) else None
        if not isinstance(one, ScriptObject) or not name:
            return one
        folder = one.text(f"{QUEUE}spoolDirectory") or ""
        names = (name if number == 1 else f"{name}-{number}" for number in count(1))
        own = next(each for each in names if (folder, each) not in taken)
        taken.add((folder, own))
        if own == name:
            return one
        what = f"{_FILENAME} {name}: several queues are made of this one, another is called {own}"
        self.gaps.change(one.origin, what)
        return one.with_values({_FILENAME: own})

    def _without_secrets(self, one: Statement) -> Iterator[Statement]:
        """A statement that reads its secrets from files when rsyslogd starts."""
        if isinstance(one, ScriptObject):
            name = (one.text("name") or one.text("type") or one.text("load") or one.kind).lower()
            own = (each for each in one.parameters if each.key != "asyncrepl")
            made = (self._by_reference(each, name, owner_of(one)) for each in own)
            one = replace(one, parameters=tuple(made))
        yield one

    def _by_reference(self, one: Parameter, name: str, owner: str) -> Parameter:
        """A parameter that is a secret, or headers with one, read from files."""
        file = f"/etc/rsyslog.d/{re.sub('[^a-z0-9_-]+', '-', name)}"
        if is_secret(owner, one):
            return replace(one, value=self._reference(one.origin, f"{file}.{one.key}"))
        value = one.value
        items = value.items if isinstance(value, Array) else (value,)
        made = [
            self._reference(item.origin, f"{file}-{number}.header")
            if not item.backtick and secret_header(owner, one, item.text)
            else item
            for number, item in enumerate(items, 1)
        ]
        if made == [*items]:
            return one
        if isinstance(value, Array):
            return replace(one, value=Array(tuple(made), value.origin))
        return replace(one, value=made[0])

    def _reference(self, origin: ScriptPosition, file: str) -> Quoted:
        self.gaps.change_secret(origin, file)
        return Quoted(f"cat {file}", origin, backtick=True)


def refuses_create(action: ScriptObject, release: int) -> bool:
    """Whether rsyslogd refuses an action of omelasticsearch that creates documents without ids, as
    it does unless it knows that the engine makes them."""
    if action.type != "omelasticsearch" or (action.text("writeOperation") or "") != "create":
        return False
    major = action.text("esversion.major") or ""
    makes_ids = release >= ASKS_AT_START or (major.isdecimal() and int(major) >= _MAKES_IDS)
    return action.get("bulkid") is None and not makes_ids


def _templates_of(one: Statement) -> Iterator[str]:
    """The names of templates in a statement, and others: any text may name one, and one that
    nothing asks for does no harm."""
    for asked in expressions_of(one):
        yield from templates_in(asked)
    if isinstance(one, ScriptObject) and one.kind in {"action", "input"}:
        yield from (text for parameter in one.parameters for text in parameter.texts)


def _nested(reached: Iterable[Reached], depth: int) -> Iterator[Statement]:
    """Statements inside of their conditions, those that one `if` holds in one again."""

    def branch(one: Reached) -> tuple[Expression, int] | None:
        guard = one.guards[depth] if depth < len(one.guards) else None
        return None if guard is None else (guard.condition, guard.after)

    for asked, group in groupby(reached, branch):
        ones = list(group)
        if asked is None:
            yield from (one.statement for one in ones)
            continue
        then, otherwise = (
            tuple(_nested([one for one in ones if one.guards[depth].holds is holds], depth + 1))
            for holds in (True, False)
        )
        origin = ones[0].statement.origin
        if then and otherwise and _asks_priority(asked[0]):
            yield If(asked[0], then, (), origin)
            yield If(negated(asked[0]), otherwise, (), origin)
        elif then:
            yield If(asked[0], then, otherwise, origin)
        else:
            yield If(negated(asked[0]), otherwise, (), origin)


def _asks_priority(condition: Expression) -> bool:
    """Whether a condition asks for severities and facilities alone: rsyslogd makes a selector of
    it, refuses an `else` of one that takes every event ("always-true PRI filter has else part",
    8.2302), and no statement changes what it asks."""
    if isinstance(condition, FunctionCall):
        return condition.name.lower() == "prifilt"
    if not isinstance(condition, Operation):
        return False
    if condition.operator in {"not", "and", "or"}:
        return all(map(_asks_priority, condition.operands))
    return all(
        isinstance(one, ScriptNumber)
        or (isinstance(one, Variable) and property_name(one.name) in PRIORITY)
        for one in condition.operands
    )
