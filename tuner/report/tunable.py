"""What of a configuration a search can change, and what a lab does not run of it, on one page."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from tuner.lab.copy import LEFT_OUT, Replaced
from tuner.profile.base import KeptBase
from tuner.profile.model import Profile
from tuner.profile.paths import full_name
from tuner.space.knobs import knobs

_MOST_LINES = 15


@dataclass(frozen=True)
class TunableObject:
    """An object of a configuration, where it stands ("" where it is not written), and its
    parameters that a search can change."""

    address: str
    place: str
    parameters: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.place or 'not written'}: {self.address}: {', '.join(self.parameters)}"


def tunable_objects(profile: Profile, base: KeptBase) -> tuple[TunableObject, ...]:
    """The objects that a search of this profile can change."""
    names = [full_name(profile, str(knob.path)) for knob in knobs(profile)]
    parameters: dict[str, list[str]] = {}
    for name in names:
        place = base.written.place_of(name)
        address = "template" if place is None else place[0]
        parameters.setdefault(address, []).append(name.removeprefix(f"{address}."))
    return tuple(
        TunableObject(address, _place(base, address), tuple(of_address))
        for address, of_address in parameters.items()
    )


def page(profile: Profile, base: KeptBase, replaced: Sequence[Replaced]) -> Iterator[str]:
    """The page in lines; `replaced` is what a lab does not run as it stands."""
    yield "A search can change these parameters, each where it stands:"
    yield from _listed(tunable_objects(profile, base))
    flooded = [base.view.sections.get(("inputs", n)) for n in profile.flooded_numbers]
    entrances = [
        f"{address} ({_place(base, address)})" for address in flooded if address is not None
    ]
    yield f"It sends traffic to {' and '.join(entrances) or 'an input of its own'}."
    replaced = [part for part in replaced if not part.is_routine]
    gone = [f"{part.place}: {part.what}" for part in replaced if part.used == LEFT_OUT]
    if gone:
        yield (
            "Its lab leaves out what takes events of this host, runs programs or sends to others, "
            "and what it has no part for:"
        )
        yield from _listed(gone)
    changed = [str(part) for part in replaced if part.used != LEFT_OUT]
    if changed:
        yield "Its lab replaces:"
        yield from _listed(changed)
    yield "All else runs there as it stands, with servers, ports, index names and folders of a lab."


def _place(base: KeptBase, address: str) -> str:
    """Where an object stands; "" where it is not written."""
    written = base.written.objects.get(address)
    if written is not None:
        return str(written.origin)
    return base.given.file if address == "template" and base.given is not None else ""


def _listed(lines: Sequence[object]) -> Iterator[str]:
    yield from (f"  {line}" for line in lines[:_MOST_LINES])
    if len(lines) > _MOST_LINES:
        yield f"  and {len(lines) - _MOST_LINES} more, which --output json lists"
