"""mmjsonparse and mmnormalize as the `parse` of a profile or a stream."""

from __future__ import annotations

from tuner.importer.gaps import Gaps
from tuner.importer.parameters import ON
from tuner.importer.script import Thing

_NAMES = frozenset({"type", "name", "cookie", "rulebase", "userawmsg"})


def parse_step(
    kind: str, action: Thing, is_guarded: bool, before: object, gaps: Gaps
) -> dict[str, object] | None:
    """How the text of events is taken apart; `before` is what already does.

    What some events only pass is done for all: outputs have their filters.
    """
    for parameter in action.parameters:
        if parameter.key not in _NAMES:
            gaps.miss(parameter.origin, f"{kind}: the parameter {parameter.name}")
    raw = (action.text("useRawMsg") or "off").lower() in ON
    data: dict[str, object]
    if kind == "mmjsonparse":
        cookie = action.text("cookie")
        data = {"format": "json", "cookie": "@cee:" if cookie is None else cookie}
    elif action.text("rulebase") is None:
        gaps.miss(action.origin, "mmnormalize without the path of a rulebase")
        return None
    else:
        data = {"format": "normalize", "rulebase": action.text("rulebase")}
    data |= {"useRawMsg": True} if raw else {}
    if before is not None and before != data:
        gaps.miss(action.origin, f"{kind}: a second step that parses, otherwise than the first")
        return None
    if is_guarded:
        gaps.change(action.origin, f"{kind} parses every event, not only some")
    return data
