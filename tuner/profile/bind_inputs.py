"""Fitting inputs to a lab, which floods some of them and takes nothing from anywhere else."""

from __future__ import annotations

from tuner.errors import Refused
from tuner.modules.input import LOOPBACK, Input, Listener
from tuner.profile.model import Profile


def flooded(profile: Profile) -> tuple[Input, ...]:
    """The inputs that measurements flood: the first of the measured stream; of a base, which may
    call rulesets with queues of their own, as many as its engine actions need.  Raises Refused when
    they cannot."""
    numbers = profile.flooded_numbers
    source = profile.inputs[numbers[0]]
    if profile.base is None and source.stream != profile.measured_stream:
        raise Refused(
            f"{profile.measured.name}, the first output into the engine, takes the events of "
            f"stream {profile.measured_stream}, which has no input: put the output to be measured "
            "before it"
        )
    if source.unmeasured is not None:
        raise Refused(f"inputs[{numbers[0]}].{source.unmeasured}: let an imptcp stand beside it")
    return tuple(profile.inputs[number] for number in numbers)


def is_headless(profile: Profile) -> bool:
    """Whether what is flooded are lines without a head."""
    return flooded(profile)[0].format_for(profile.workload.format) == "bare"


def bind_inputs(
    profile: Profile, ports: tuple[int, ...], spool: str, address: str
) -> tuple[Input | None, ...]:
    """The inputs that are flooded, at `address`, and, but of a base, those others of the stream
    that take plain TCP, on loopback or in the folder `spool`, each on its port of `ports`, which
    has one for each input.

    The others are left out, None here: what they bring would be measured as if it had been flooded.
    Raises Refused where other machines are to flood an input that takes nothing from them.
    """
    every, numbers = flooded(profile), profile.flooded_numbers
    for number, source in zip(numbers, every, strict=True):
        if address != LOOPBACK and not isinstance(source, Listener):
            raise Refused(
                f"inputs[{number}] takes no events from other machines: measure it on one"
            )

    def is_bound(number: int, source: Input) -> bool:
        is_beside = profile.base is None and source.transport == "tcp"
        return number in numbers or (is_beside and source.stream == every[0].stream)

    def bound(number: int, source: Input, port: int) -> Input:
        done = source.in_lab(port, spool)
        is_reached = number in numbers and address != LOOPBACK
        return done.model_copy(update={"address": address}) if is_reached else done

    return tuple(
        bound(number, source, port) if is_bound(number, source) else None
        for number, (source, port) in enumerate(zip(profile.inputs, ports, strict=True))
    )
