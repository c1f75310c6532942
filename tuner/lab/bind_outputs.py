"""Fitting outputs to a lab, which counts what reaches its engine and has a folder for files."""

from __future__ import annotations

from tuner.lab.bind_delivery import bind_delivery
from tuner.lab.bind_files import bind_file
from tuner.lab.bind_index import bind_index
from tuner.lab.site import Site
from tuner.modules.other_outputs import OmfileOutput
from tuner.modules.outputs import OmelasticsearchOutput, Output
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
    another has nothing to do.  Raises Refused where `bind_index` does."""
    kept = [one for one in profile.outputs if one == profile.measured or _takes_all(one)]
    several = sum(isinstance(one, OmelasticsearchOutput) for one in kept) > 1
    return tuple(
        _bound(output, site, f"{site.index_prefix}{number}-" if several else site.index_prefix)
        for number, output in enumerate(kept)
    )


def _takes_all(output: Output) -> bool:
    reachable = isinstance(output, OmelasticsearchOutput | OmfileOutput)
    stands_in = output.exec_only_when_previous_is_suspended
    return reachable and output.filter is None and not stands_in


def _bound(output: Output, site: Site, prefix: str) -> Output:
    changes: dict[str, object] = {"filter": None, "queue": bind_queue(output.queue, site)}
    if isinstance(output, OmfileOutput):
        changes |= bind_file(output, site.spool)
    elif isinstance(output, OmelasticsearchOutput):
        changes["servers"] = (site.engine_url,)
        changes["index"] = bind_index(output.index, prefix, site.data_nodes)
        changes |= bind_delivery(output, site.spool)
        if not site.keeps_authentication:
            changes |= {"auth": None, "apikey": None, "tls": None}
    return output.model_copy(update=changes)
