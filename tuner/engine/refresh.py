"""A refresh that goes on while others look at the engine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

from tuner.engine.client import EngineClient


@contextlib.contextmanager
def refreshing(client: EngineClient, pattern: str) -> Iterator[Callable[[], bool]]:
    """Refresh the indices of `pattern` from another thread; gives whether that has ended.

    The end waits for it, and raises what `EngineClient.request` does.
    """
    twin = client.twin()
    try:
        with ThreadPoolExecutor(max_workers=1) as thread:
            under_way = thread.submit(twin.request, "POST", f"/{pattern}/_refresh")
            yield under_way.done
            under_way.result()
    finally:
        twin.close()
