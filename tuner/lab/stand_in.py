"""An input of the lab's for a base of which none can be flooded: a drop-in has none, and those of
the journal and of the host's own sockets are not a lab's."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from tuner.modules.input import Input
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.script import ScriptObject, ScriptPosition, every, loading, module_name

if TYPE_CHECKING:
    from tuner.profile.base import KeptBase


def stand_in(
    kept: KeptBase, inputs: Sequence[Input | None]
) -> tuple[tuple[ScriptObject, ...], tuple[Gap, ...]]:
    """What is added to the configuration for it, and what to say; nothing where an input of the
    base is flooded."""
    one, bound = kept.view.stand_in, next(iter(inputs[-1:]), None)
    if one is None or bound is None:
        return (), ()
    statements = [each for each in every(kept.changed.block) if isinstance(each, ScriptObject)]
    loaded = {module_name(each) for each in statements if each.kind == "module"}
    modules = () if one.type in loaded else (loading(one.type, one.origin),)
    data = bound.model_dump(mode="json", by_alias=True, include={"address", "port"})
    ruleset = one.text("ruleset")
    where = "" if ruleset is None else f" for ruleset {ruleset}"
    here = ScriptPosition(next(iter(kept.changed.files)), 1, 1)
    said = Gap(here, f"no input that can be flooded: the lab adds an {one.type}{where}")
    return (*modules, one.with_values(data)), (said,)
