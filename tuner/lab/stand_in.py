"""What stands in a lab for the file that includes a drop-in and for the inputs of a host: modules
that are not loaded, and an input where none can be flooded."""

from __future__ import annotations

from collections.abc import Sequence

from tuner.modules.input import Input
from tuner.profile.base import KeptBase
from tuner.script.configuration import not_loaded
from tuner.script.script import HERE, Block, Gap, ScriptPosition, loading

# How a module is loaded that would take events of the host: what is left out of a base too.
_WITHOUT_HOST = {"imuxsock": loading("imuxsock", HERE).with_values({"sysSock.use": False})}


def stand_in(
    base: KeptBase, inputs: Sequence[Input | None], block: Block
) -> tuple[Block, tuple[Gap, ...]]:
    """What is added before the statements that a lab has of a base, and what to say of it."""
    place = ScriptPosition(next(iter(base.changed.files)), 1, 1)
    source, bound = base.view.stand_in, next(iter(inputs[-1:]), None)
    missing = not_loaded(block)
    notes: list[str] = []
    added: Block = ()
    if new := [name for name in missing if name in not_loaded(base.changed.block)]:
        notes.append(f"modules that it does not load: the lab loads {', '.join(new)}")
    if source is not None and bound is not None:
        data = bound.model_dump(mode="json", by_alias=True, include={"address", "port"})
        added = (source.with_values(data),)
        ruleset = source.text("ruleset")
        target = "" if ruleset is None else f" for ruleset {ruleset}"
        notes.append(f"no input that can be flooded: the lab adds an {source.type}{target}")
        missing = not_loaded((*added, *block))
    modules = (_WITHOUT_HOST.get(name, loading(name, place)) for name in missing)
    return (*modules, *added), tuple(Gap(place, note) for note in notes)
