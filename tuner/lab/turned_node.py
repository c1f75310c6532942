"""An engine of ours that is restarted when other node settings are wanted."""

from __future__ import annotations

import shutil
import time
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from tuner.errors import JobFailed, Unreachable
from tuner.lab.node import Node, NodePlan
from tuner.lab.scratch import subfolder


class NodeRefused(JobFailed):
    """The engine does not start with the settings wanted; it runs with those it had before."""


class TurnedNode:
    """A running engine that stays at its address through restarts; each begins without data."""

    def __init__(self, plan: NodePlan, folder: Path) -> None:
        self._folder = folder
        self._node = Node(plan, subfolder(folder.parent, folder.name))

    @property
    def url(self) -> str:
        """Where the engine answers, before and after a restart."""
        return self._node.url

    @property
    def plan(self) -> NodePlan:
        """What it runs with."""
        return self._node.plan

    def ending(self) -> str | None:
        """How the engine ended, or None while it runs."""
        return self._node.ending()

    def run_with(self, heap: str, settings: Mapping[str, str | int | bool]) -> float:
        """Restart the engine where `heap` or `settings` differ from what it runs with; the seconds
        from its end to its first answer, 0 without a restart.

        Raises NodeRefused when it does not start so, and Unreachable when it then does not start
        as before either.
        """
        before, wanted = self.plan, replace(self.plan, heap=heap, settings=settings)
        if wanted == before:
            return 0.0
        started = time.monotonic()
        try:
            self._restart(wanted)
        except JobFailed as refused:
            self._go_back(before)
            raise NodeRefused(f"with other node settings {refused}") from None
        return time.monotonic() - started

    def stop(self) -> None:
        """End the engine and everything it started."""
        self._node.stop()

    def _restart(self, plan: NodePlan) -> None:
        port = self._node.port
        self._node.stop()
        shutil.rmtree(self._folder)
        self._node = Node(plan, subfolder(self._folder.parent, self._folder.name), port)

    def _go_back(self, plan: NodePlan) -> None:
        try:
            self._restart(plan)
        except JobFailed as error:
            raise Unreachable(f"the engine does not start any more: {error}") from None
