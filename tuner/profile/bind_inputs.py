"""Fitting inputs to a lab, which floods the first and takes nothing from anywhere else."""

from __future__ import annotations

from tuner.errors import Refused
from tuner.modules.input import Input
from tuner.profile.model import Profile


def flooded(profile: Profile) -> Input:
    """The input that measurements flood: the first.  Raises Refused when they cannot."""
    first = profile.inputs[0]
    if first.unmeasured is not None:
        raise Refused(f"inputs[0].{first.unmeasured}")
    return first


def bind_inputs(profile: Profile, ports: tuple[int, ...], spool: str) -> tuple[Input | None, ...]:
    """The first input, and those others that take plain TCP, on loopback or in the folder `spool`,
    each on its port of `ports`, which has one for each input.

    The others are left out, None here: what they bring would be measured as if it had been flooded.
    """
    rest = zip(profile.inputs[1:], ports[1:], strict=True)
    return (
        flooded(profile).in_lab(ports[0], spool),
        *(one.in_lab(port, spool) if one.transport == "tcp" else None for one, port in rest),
    )


def work_directory(profile: Profile, spool: str) -> str | None:
    """Where rsyslogd keeps its state in the lab, if the profile names a place for it."""
    return None if profile.global_.work_directory is None else spool
