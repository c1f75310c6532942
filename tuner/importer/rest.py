"""What no key of a profile says, kept as RainerScript in snippets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from tuner.importer.flow import Reached
from tuner.importer.gaps import Gap, Gaps, Inexpressible
from tuner.importer.parameters import is_literal
from tuner.importer.parts import Parts
from tuner.importer.printing import printed
from tuner.importer.script import (
    Block,
    Expression,
    FunctionCall,
    If,
    Operation,
    Statement,
    Thing,
    every,
)

# What is in the name of a parameter that may hold a secret; `legacy` is all of an action of the
# old form, such as `>host,database,user,password`.
_SECRETS = ("pwd", "pass", "secret", "token", "apikey", "community", "legacy")
_BUILT_IN = frozenset({"omfile", "omfwd", "omusrmsg", "ompipe", "omshell", "omdiscard"})
_NAMES_TEMPLATE = ("template", "dynafile", "searchindex", "bulkid", "dyntopic")


@dataclass
class Rest:
    """Statements by the place of their snippet: objects at the start, the others before the
    outputs of their stream, None being that of no stream."""

    name: str
    parts: Parts
    gaps: Gaps
    start: list[Statement] = field(default_factory=list)
    bodies: dict[str | None, list[Statement]] = field(default_factory=dict)
    kept: list[Gap] = field(default_factory=list)

    def keep(self, stream: str | None, one: Reached, why: Gap) -> None:
        """Keep a statement under its conditions; what a snippet cannot hold is noted."""
        if not _can_be_printed(one) or self._lacks_something(one.statement):
            self.gaps.miss(why.origin, why.message)
            return
        self.kept.append(why)
        self.bodies.setdefault(stream, []).append(_under(one))
        for inner in every((one.statement,)):
            if isinstance(inner, Thing):
                self._need(inner)

    def keep_objects(self) -> None:
        """Keep the objects that a profile has no section for."""
        for one in self.parts.others:
            names = ", ".join(parameter.name for parameter in one.parameters)
            what = f"global(): {names}" if one.kind == "global" else f"{one.kind}()"
            gap = Gap(one.origin, what)
            if _can_be_printed(Reached(one, ())):
                self.kept.append(gap)
                self.start.append(one)
            else:
                self.gaps.miss(gap.origin, gap.message)

    def files(self, loaded: Iterable[str]) -> Mapping[str, str]:
        """The snippets by their names; modules in `loaded` are the rendered configuration's."""
        missing = set(self.parts.modules) - set(loaded) - _BUILT_IN
        start = [one for one in self.start if not _loads(one) or _loads(one) in missing]
        blocks: dict[str, list[Statement]] = {"start": start}
        blocks |= {stream or "outputs": body for stream, body in self.bodies.items()}
        return {
            f"{self.name}-{place}.conf": printed(tuple(dict.fromkeys(block)))
            for place, block in blocks.items()
            if block
        }

    def _lacks_something(self, statement: Statement) -> bool:
        """Whether an action names a template that is not there, or a ruleset of its own."""
        if not isinstance(statement, Thing):
            return False
        names = [statement.text(key) for key in ("template", "dynaFile")]
        if (statement.text("dynSearchIndex") or "").lower() in {"on", "yes", "true", "1"}:
            names.append(statement.text("searchIndex"))
        known = self.parts.template_things
        return statement.get("retryRuleset") is not None or any(
            name is not None and name.lower() not in known and not name.startswith("RSYSLOG_")
            for name in names
        )

    def _need(self, action: Thing) -> None:
        """The module and the templates of an action."""
        kind = (action.text("type") or "").lower()
        module = self.parts.module_things.get(kind)
        if module is not None and _can_be_printed(Reached(module, ())):
            self.start.append(module)
        for parameter in _NAMES_TEMPLATE:
            template = self.parts.template_things.get((action.text(parameter) or "").lower())
            if template is not None:
                self.start.append(template)


def why_of(bad: Inexpressible, one: Reached, what: str) -> Gap:
    """Why a statement is kept, with its own place."""
    origin = bad.gap.origin
    place = "" if origin == one.statement.origin else f" ({origin.file}:{origin.line})"
    return Gap(one.statement.origin, f"{what}: {bad}{place}")


def _loads(one: Statement) -> str | None:
    """The module that a statement loads."""
    is_module = isinstance(one, Thing) and one.kind == "module"
    return (one.text("load") or "").lower() if is_module and isinstance(one, Thing) else None


def _under(one: Reached) -> Statement:
    """The statement inside of its conditions."""
    made = one.statement
    for condition, holds in reversed(one.guards):
        wanted = condition if holds else Operation("not", (condition,), condition.origin)
        made = If(wanted, (made,), (), made.origin)
    return made


def _can_be_printed(one: Reached) -> bool:
    """Not what holds a secret, and not a condition that RainerScript has no words for."""
    block: Block = (one.statement,)
    secrets = (
        parameter
        for inner in every(block)
        if isinstance(inner, Thing)
        for parameter in inner.parameters
        if any(word in parameter.key for word in _SECRETS) or "@" in "".join(parameter.texts)
    )
    if any(is_literal(parameter) for parameter in secrets):
        return False
    return not any(
        isinstance(part, FunctionCall) and part.name == "re_match_basic"
        for condition, _ in one.guards
        for part in _parts(condition)
    )


def _parts(expression: Expression) -> Iterator[Expression]:
    yield expression
    if isinstance(expression, Operation | FunctionCall):
        for operand in expression.operands:
            yield from _parts(operand)
