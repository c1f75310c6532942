"""Creates and removes our own indices and templates, known by prefix and `_meta`, and no others."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.engine.client import JSON, EngineClient, EngineRefused, at, list_at
from tuner.errors import JobFailed, Refused

PREFIX = "rsyslog-tune-"
MANAGER = "rsyslog-tune"
_START_S = 20
_SETTLE_S = 10.0
# An engine without a master then answers with an error before the client's own timeout.  OpenSearch
# calls this cluster_manager_timeout and accepts the old name too (2.19.1 and 3.1.0); Elasticsearch
# refuses the new one.
_MASTER = "master_timeout=10s"


@dataclass(frozen=True)
class Owner:
    """The run that owns what it creates: names begin with `rsyslog-tune-RUN-`, and `_meta` has the
    run."""

    run_id: str

    @property
    def prefix(self) -> str:
        """The prefix of every name that this run creates."""
        return f"{PREFIX}{self.run_id}-"

    @property
    def meta(self) -> JSON:
        """The `_meta` that marks an index or template as this run's."""
        return {"managed_by": MANAGER, "run_id": self.run_id}


def put_template(client: EngineClient, owner: Owner, name: str, body: JSON) -> None:
    """Create an index template of ours; the engine refuses to overwrite one that exists."""
    _check_name(owner, name)
    client.request("PUT", f"/_index_template/{name}?create=true&{_MASTER}", body)


def create_index(client: EngineClient, owner: Owner, name: str) -> None:
    """Create an index from the template that matches it, and wait for all its shards and replicas.

    Raises JobFailed if one does not start: a measurement without it would miss its cost.
    """
    _check_name(owner, name)
    path = f"/{name}?wait_for_active_shards=all&timeout={_START_S}s&{_MASTER}"
    answer = client.request("PUT", path)
    if at(answer, "shards_acknowledged") is False:
        raise JobFailed(
            f"{name}: a copy of a shard did not start within {_START_S} s; ask the engine why "
            "(GET /_cluster/allocation/explain), or lower number_of_replicas"
        )


def indices(client: EngineClient, prefix: str) -> tuple[str, ...]:
    """The names of the indices that begin with `prefix`."""
    path = f"/_cat/indices/{prefix}*?format=json&h=index&{_MASTER}"
    rows = list_at(client.request("GET", path))
    return tuple(sorted(str(at(row, "index")) for row in rows))


def settle(client: EngineClient) -> None:
    """Wait until the cluster has carried out all earlier requests.

    Otherwise a run that is interrupted while it creates an index may not see the index when it
    removes its own.  The time limit is shorter than the client's.
    """
    with contextlib.suppress(EngineRefused):
        client.get("/_cluster/health?wait_for_events=languid&timeout=5s", timeout_s=_SETTLE_S)


def remove(client: EngineClient, owner: Owner, prefix: str) -> None:
    """Delete the indices and templates that begin with `prefix` and carry the owner's `_meta`.

    Each is deleted by its exact name, never by a pattern.
    """
    _check_name(owner, prefix)
    for path, meta in _objects(client, prefix):
        if _run_id(meta) == owner.run_id:
            try:
                client.request("DELETE", f"{path}?{_MASTER}")
            except EngineRefused as error:
                if error.status != 404:
                    raise


def created(client: EngineClient) -> dict[str, list[str]]:
    """The paths of the indices and templates that runs have left behind, by run."""
    runs: dict[str, list[str]] = {}
    for path, meta in _objects(client, PREFIX):
        run_id = _run_id(meta)
        if run_id is not None and path.rpartition("/")[2].startswith(Owner(run_id).prefix):
            runs.setdefault(run_id, []).append(path)
    return runs


def _check_name(owner: Owner, name: str) -> None:
    if not name.startswith(owner.prefix):
        raise Refused(f"{name} does not begin with {owner.prefix}: it is not ours to touch")


def _objects(client: EngineClient, prefix: str) -> Iterator[tuple[str, object]]:
    """The path and the `_meta` of each index and index template that begins with `prefix`."""
    for name in indices(client, prefix):
        mapping = client.find(f"/{name}/_mapping?{_MASTER}")
        yield f"/{name}", at(mapping, name, "mappings", "_meta")
    # Some engines answer 404 if there are no templates.
    templates = client.find(f"/_index_template/{prefix}*?{_MASTER}")
    for entry in list_at(templates, "index_templates"):
        path = f"/_index_template/{at(entry, 'name')}"
        yield path, at(entry, "index_template", "_meta")


def _run_id(meta: object) -> str | None:
    """The run in the `_meta` of an index or template, None if it is not ours."""
    run_id = at(meta, "run_id")
    return run_id if at(meta, "managed_by") == MANAGER and isinstance(run_id, str) else None
