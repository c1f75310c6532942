"""Fitting outputs to a lab, which counts what reaches its engine and has a folder for files."""

from __future__ import annotations

from tuner.lab.site import Site
from tuner.modules.output import Output
from tuner.modules.queue import Queue
from tuner.profile.model import Profile


def bind_queue(queue: Queue | None, site: Site) -> Queue | None:
    """The queue with its files, if it has any, in the lab's own folder."""
    if queue is None or queue.filename is None:
        return queue
    return queue.model_copy(update={"spool_directory": site.spool})


def bind_outputs(profile: Profile, site: Site) -> tuple[Output, ...]:
    """The measured output, without its filter, and those others that take every event into the
    engine or into a file; what goes elsewhere has nobody there to take it, and what stands in for
    another has nothing to do.  Raises Refused where the index cannot be bound."""
    kept = [one for one in profile.outputs if one == profile.measured or _takes_all(one)]
    several = sum(one in profile.indexed for one in kept) > 1
    return tuple(
        _bound(output, site, f"{site.index_prefix}{number}-" if several else site.index_prefix)
        for number, output in enumerate(kept)
    )


def _takes_all(output: Output) -> bool:
    stands_in = output.exec_only_when_previous_is_suspended
    return output.lab_takes and output.filter is None and not stands_in


def _bound(output: Output, site: Site, prefix: str) -> Output:
    changes = {"filter": None, "queue": bind_queue(output.queue, site)}
    return output.in_lab(site, prefix).model_copy(update=changes)
