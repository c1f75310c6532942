"""Indices and templates that are ours: by prefix and by `_meta`; nothing else is touched."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass

from tuner.engine.client import JSON, EngineClient, EngineRefused, at
from tuner.errors import Refused

PREFIX = "rsyslog-tune-"
MANAGER = "rsyslog-tune"


@dataclass(frozen=True)
class Owner:
    """A run; everything it creates is called `rsyslog-tune-RUN-...` and says so in `_meta`."""

    run_id: str

    @property
    def prefix(self) -> str:
        """The start of every name this run creates."""
        return f"{PREFIX}{self.run_id}-"

    @property
    def meta(self) -> JSON:
        """The `_meta` that marks an index or template as this run's."""
        return {"managed_by": MANAGER, "run_id": self.run_id}


def put_template(client: EngineClient, owner: Owner, name: str, body: JSON) -> None:
    """Create an index template of ours; the engine refuses to overwrite one that exists."""
    _check_name(owner, name)
    client.request("PUT", f"/_index_template/{name}?create=true", body)


def create_index(client: EngineClient, owner: Owner, name: str) -> None:
    """Create an index from the template that matches it."""
    _check_name(owner, name)
    client.request("PUT", f"/{name}?wait_for_active_shards=1")


def indices(client: EngineClient, prefix: str) -> tuple[str, ...]:
    """The names of the indices that begin with `prefix`."""
    answer = client.request("GET", f"/_cat/indices/{prefix}*?format=json&h=index")
    rows = answer if isinstance(answer, list) else []
    return tuple(sorted(str(at(row, "index")) for row in rows))


def settle(client: EngineClient) -> None:
    """Wait until the cluster has done what it was asked for so far.

    Whoever is interrupted while something is created does not see it yet when removing it.
    """
    with contextlib.suppress(EngineRefused):
        client.get("/_cluster/health?wait_for_events=languid&timeout=5s")


def remove(client: EngineClient, owner: Owner, prefix: str) -> None:
    """Delete the indices and templates that begin with `prefix` and carry the owner's `_meta`.

    Each is deleted by its exact name, never by a pattern.
    """
    _check_name(owner, prefix)
    for name in indices(client, prefix):
        if _is_ours(at(client.get(f"/{name}/_mapping"), name, "mappings", "_meta"), owner):
            _delete(client, f"/{name}")
    for entry in _templates(client, prefix):
        if _is_ours(at(entry, "index_template", "_meta"), owner):
            _delete(client, f"/_index_template/{at(entry, 'name')}")


def _check_name(owner: Owner, name: str) -> None:
    if not name.startswith(owner.prefix):
        raise Refused(f"{name} does not begin with {owner.prefix}: it is not ours to touch")


def _is_ours(meta: object, owner: Owner) -> bool:
    return isinstance(meta, dict) and all(meta.get(key) == owner.meta[key] for key in owner.meta)


def _templates(client: EngineClient, prefix: str) -> list[object]:
    """The index templates whose names begin with `prefix`; some engines answer none with 404."""
    try:
        listed = client.get(f"/_index_template/{prefix}*").get("index_templates")
    except EngineRefused as error:
        if error.status != 404:
            raise
        return []
    return listed if isinstance(listed, list) else []


def _delete(client: EngineClient, path: str) -> None:
    """OpenSearch calls it cluster_manager_timeout and takes the old name too (2.19.1 and 3.1.0);
    Elasticsearch refuses the new one."""
    try:
        client.request("DELETE", f"{path}?master_timeout=10s")
    except EngineRefused as error:
        if error.status != 404:
            raise
