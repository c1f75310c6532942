"""Opens the place where a command measures: a lab on this machine, or one on each machine of the
cluster."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from tuner.cli.console import Voice
from tuner.cli.runs import pace_of
from tuner.cli.search_lab import SearchPlace, place_of
from tuner.cli.site import Wanted, open_lab, prepare, require_runnable, tell_of_others
from tuner.profile.model import Profile


@contextmanager
def open_place(
    wanted: Wanted,
    profiles: Sequence[Profile],
    parent: Path,
    voice: Voice,
    allow: Sequence[str] = (),
) -> Iterator[SearchPlace]:
    """The place for these profiles, gone afterwards: the engine is that of the first, of which a
    search may also turn what it is allowed to weaken; a lab here has its files below `parent`."""
    if wanted.on_cluster:
        require_runnable(wanted, profiles)
        # Needs more than a lab here.
        from tuner.cli.cluster_labs import labs_of_cluster

        with labs_of_cluster(wanted, profiles, allow, voice) as place:
            yield place
        return
    downloads_s = prepare(wanted, profiles, voice.say)
    tell_of_others(voice.say)
    with ExitStack() as stack:
        with voice.working("starting the lab"):
            lab = stack.enter_context(open_lab(wanted, profiles[0], parent, voice.say))
        yield place_of(lab, profiles, allow, pace_of(wanted.engine), downloads_s)
