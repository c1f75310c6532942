"""What an engine says of itself, asked of the sink."""

from __future__ import annotations

from tuner.engine.client import EngineClient
from tuner.engine.status import facts
from tuner.lab.sink import Sink


def test_the_sink_has_one_processor_and_one_data_node() -> None:
    with Sink() as sink:
        client = EngineClient(sink.url)
        found = facts(client)
        client.close()
    assert (found.processors, found.data_nodes) == (1, 1)
