"""Inputs and the modules they come from, as statements."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.profile.inputs import ImptcpInput, ImtcpInput
from tuner.profile.model import Profile
from tuner.render.rainerscript import Statement, Value, statement


def input_modules(profile: Profile) -> Iterator[Statement]:
    """The modules that the inputs need, with the parameters that all of a kind share."""
    imptcp = next((one for one in profile.inputs if isinstance(one, ImptcpInput)), None)
    if imptcp is not None:
        yield statement(
            "module",
            {
                "load": "imptcp",
                "threads": imptcp.threads,
                "processOnPoller": imptcp.process_on_poller,
            },
        )
    if any(isinstance(one, ImtcpInput) for one in profile.inputs):
        yield statement("module", {"load": "imtcp"})


def inputs(profile: Profile) -> Iterator[Statement]:
    """One statement for each input, which hands its events to the profile's ruleset."""
    for source in profile.inputs:
        common: dict[str, Value] = {
            "type": source.type,
            "address": source.address,
            "port": source.port,
            "supportOctetCountedFraming": source.support_octet_counted_framing,
            "ruleset": profile.name,
        }
        if isinstance(source, ImptcpInput):
            yield statement("input", common | {"socketBacklog": source.socket_backlog})
        else:
            yield statement("input", common | {"maxSessions": source.max_sessions})
