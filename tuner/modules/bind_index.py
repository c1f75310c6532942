"""Fitting the index of an output to a lab."""

from __future__ import annotations

from tuner.engines.index import Index, IndexSettings, Rotate
from tuner.errors import Refused


def bind_index(index: Index, prefix: str, data_nodes: int) -> Index:
    """A plain or daily index of ours with as many copies as there are nodes; raises Refused for
    a data stream and for ingest pipelines."""
    if index.data_stream is not None:
        raise Refused(
            f"index.data_stream {index.data_stream}: a trial cannot remove a data stream from the "
            "engine, so none is measured: measure the profile with index.name instead"
        )
    for name in ("default_pipeline", "final_pipeline"):
        pipeline = getattr(index.settings, name)
        if pipeline not in {None, "_none"}:
            raise Refused(
                f"index.settings.{name} {pipeline}: a lab has no such ingest pipeline, every "
                "document would be refused: measure the profile without it"
            )
    rolls_over = index.rotate is Rotate.ROLLOVER
    return index.model_copy(
        update={
            "name": prefix + index.target,
            "rotate": Rotate.NONE if rolls_over else index.rotate,
            "lifecycle": None,
            "settings": _settings(index.settings, data_nodes),
        }
    )


def _settings(settings: IndexSettings, data_nodes: int) -> IndexSettings:
    copies = min(settings.number_of_replicas + 1, data_nodes)
    waits = settings.write_wait_for_active_shards
    if isinstance(waits, int):
        waits = min(waits, copies)
    changes = {"number_of_replicas": copies - 1, "write_wait_for_active_shards": waits}
    return settings.model_copy(update=changes)
