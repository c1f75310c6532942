"""The profile as one host runs it: with the changes that the inventory makes for that host."""

from __future__ import annotations

from tuner.deploy.inventory import InventoryHost
from tuner.errors import BadProfile, BadUsage, Refused
from tuner.lint.load import LoadedProfile
from tuner.profile.edit import edit_leaf
from tuner.profile.source import read
from tuner.render.artefacts import engine_artefacts


def for_host(loaded: LoadedProfile, machine: InventoryHost) -> LoadedProfile:
    """`loaded` with the changes of a host, validated anew.

    Raises BadUsage where that is no valid profile, and Refused where it changes what the engine
    gets, which all hosts share.
    """
    if not machine.changes:
        return loaded
    leaf = read(loaded.text, str(loaded.path))
    try:
        own = loaded.with_text(edit_leaf(leaf, loaded.below, dict(machine.changes)))
    except BadProfile as bad:
        messages = "; ".join(one.message for one in bad.problems)
        raise BadUsage(f"the changes of {machine.name} in the inventory: {messages}") from None
    except BadUsage as bad:
        raise BadUsage(f"the changes of {machine.name} in the inventory: {bad}") from None
    # The engine's objects say for whom they were made, which the profile itself decides.
    same_name = own.profile.model_copy(update={"name": loaded.profile.name})
    if engine_artefacts(same_name) != engine_artefacts(loaded.profile):
        raise Refused(
            f"the changes of {machine.name} in the inventory change what the engine gets, which "
            "all hosts share: change the profile"
        )
    return own
