"""The process on an engine host, `python -m tuner.cluster.engine_host`: it runs a node of an engine
as it is told to, until its input ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from contextlib import ExitStack

from tuner.cluster import relayed
from tuner.errors import Interrupted, JobFailed, TuneError, of_the_system
from tuner.host.lock import measuring, state_folder
from tuner.host.signals import end_orderly
from tuner.host.usage import memory_bytes
from tuner.lab.distribution import provide
from tuner.lab.loads import counts_of
from tuner.lab.node import NodeProcess
from tuner.lab.nodes import NodeHere
from tuner.lab.ports import free_ports
from tuner.lab.probe import Probe
from tuner.lab.scratch import remove_abandoned, scratch

_POLL_S = 0.25


class _EngineHost:
    """The node of this machine, and what it needs."""

    def __init__(self, opened: ExitStack) -> None:
        self._opened = opened
        self._host: NodeHere | None = None
        self._node: NodeProcess | None = None
        self._probe: Probe | None = None

    def answer(self, message: relayed.ToEngine) -> relayed.FromEngine:
        """Do what is asked for."""
        match message:
            case relayed.PrepareEngine(distribution, address):
                self._opened.enter_context(measuring("a node for rsyslog-tune elsewhere"))
                remove_abandoned()
                downloads_s = provide(distribution, _tell)
                folder = self._opened.enter_context(scratch(state_folder()))
                port, memory = free_ports(2, address), memory_bytes()
                self._host = NodeHere(folder / "engine", port, memory, address)
                self._probe = self._opened.enter_context(Probe())
                return relayed.EngineReady(port, memory, downloads_s)
            case relayed.StartNode(number, plan, place):
                self.stop()
                if self._host is None:
                    raise JobFailed("no engine was prepared")
                self._node = node = self._host.start(plan, place)
                threading.Thread(target=_watch, args=(number, node), daemon=True).start()
                return relayed.Done()
            case relayed.StopNode():
                self.stop()
                return relayed.Done()
            case relayed.CountMachine():
                return relayed.MachineCounted(counts_of(self._probe))

    def stop(self) -> None:
        """End the node, if any."""
        if self._node is not None:
            self._node.stop()


def main() -> None:
    """Obey until the end of the input."""
    end_orderly()
    heard: queue.SimpleQueue[relayed.ToEngine] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(heard,), daemon=True).start()
    try:
        with ExitStack() as opened:
            host = _EngineHost(opened)
            opened.callback(host.stop)
            while True:
                try:
                    relayed.FROM_ENGINE.say(host.answer(heard.get()))
                except TuneError as error:
                    relayed.FROM_ENGINE.say(relayed.Failed.of(error))
                except OSError as error:
                    relayed.FROM_ENGINE.say(relayed.Failed.of(of_the_system(error)))
    except Interrupted as end:
        sys.exit(end.exit_code)


def _listen(heard: queue.SimpleQueue[relayed.ToEngine]) -> None:
    """Whoever asked may be gone in the middle of a download: it ends in order then."""
    for line in sys.stdin.buffer:
        heard.put(relayed.TO_ENGINE.message(line))
    os.kill(os.getpid(), signal.SIGTERM)


def _watch(number: int, node: NodeProcess) -> None:
    while (code := node.exit()) is None:
        time.sleep(_POLL_S)
    relayed.FROM_ENGINE.say(relayed.NodeEnded(number, code, node.ending() or code, node.reasons()))


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")


if __name__ == "__main__":
    main()
