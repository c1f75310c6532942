"""Fitting outputs to a lab, which counts what reaches its engine and has a folder for files."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.lab.bind_delivery import bind_delivery, delivery_rows
from tuner.lab.bind_files import bind_file, file_rows
from tuner.lab.bind_index import bind_index, index_rows
from tuner.lab.site import Site
from tuner.modules.other_outputs import OmfileOutput
from tuner.modules.outputs import OmelasticsearchOutput, Output
from tuner.modules.queue import Queue
from tuner.profile.model import Profile

_LEFT_OUT = "left out"

Rows = Iterator[tuple[str, str, str]]


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


def output_rows(written: Profile, used: Profile) -> Rows:
    """Path, value as written and value used of everything in the outputs that may differ."""
    bound = {output.name: output for output in used.outputs}
    for before in written.outputs:
        at, after = f"outputs[{before.name}]", bound.get(before.name)
        if after is None:
            yield at, before.type, _LEFT_OUT
            continue
        yield f"{at}.filter", _given(before.filter), _given(after.filter)
        yield f"{at}.queue.spoolDirectory", spool_text(before.queue), spool_text(after.queue)
        if isinstance(before, OmelasticsearchOutput) and isinstance(after, OmelasticsearchOutput):
            yield from _engine_rows(at, before, after)
        elif isinstance(before, OmfileOutput) and isinstance(after, OmfileOutput):
            yield from file_rows(at, before, after)


def spool_text(queue: Queue | None) -> str:
    """Where the files of a queue are."""
    return "none" if queue is None or queue.filename is None else str(queue.spool_directory)


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


def _engine_rows(at: str, before: OmelasticsearchOutput, after: OmelasticsearchOutput) -> Rows:
    yield f"{at}.servers", ", ".join(before.servers), ", ".join(after.servers)
    yield f"{at}.auth", _auth_text(before), _auth_text(after)
    yield f"{at}.tls", _tls_text(before), _tls_text(after)
    yield from delivery_rows(at, before, after)
    yield from index_rows(f"{at}.index", before.index, after.index)


def _given(section: object) -> str:
    return "none" if section is None else "as written"


def _auth_text(output: OmelasticsearchOutput) -> str:
    return "none" if output.auth is None else f"user {output.auth.uid}"


def _tls_text(output: OmelasticsearchOutput) -> str:
    encrypted = any(server.startswith("https:") for server in output.servers)
    return "on" if encrypted else "off"
