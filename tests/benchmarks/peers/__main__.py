"""rsyslog beside other shippers: the same messages into the same index, every event by identity.
Run by hand, as root, on a quiet machine, an hour; one peer is built with Go:

    python -m tests.benchmarks.peers [--events 300000] [--rounds 4] [--no-faults] [--picture FILE]

Each peer is run as its manual shows it first (stock), and at its best of a small grid (peer.py) of
batches and workers, which one run of each decides.  Rounds have every side once, in an order that
is drawn.  A rate goes from the first message to the last document; ratios are to rsyslog at its
best, by rounds, with 95 % intervals.  Faults are tried at half of the rate that a side carried: the
engine hangs for 30 s, or the shipper is killed (SIGKILL) and not started again.
"""

from __future__ import annotations

import argparse
import os
import random
import secrets
import signal
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path

from matplotlib.figure import Figure

from tests.benchmarks.index_modes import group_cpu_s
from tests.benchmarks.peers.otel import Otel
from tests.benchmarks.peers.peer import (
    BATCHES,
    INDEX,
    WORKERS,
    Peer,
    Place,
    Tuning,
    started,
)
from tests.benchmarks.peers.rsyslog import Rsyslog
from tests.benchmarks.peers.syslog_ng import SyslogNg
from tests.live.rsyslogs import SUITES, say
from tuner.engine.client import EngineClient, number_at
from tuner.engine.delivery import DeliveryCheck, Expectation, check_by_identity
from tuner.engines.versions import DEFAULT
from tuner.flood.flood import Flood
from tuner.flood.spec import RUN_S, FloodProgress, FloodSpec, Transport, loopback
from tuner.host.process import suspended, wait_until
from tuner.host.programs import rsyslogd
from tuner.host.usage import usage_of
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.measure.paired import compare
from tuner.profile.workload import MessageBytes
from tuner.report.figures import ratio_text

_CONNECTIONS, _SEED = 5, 1
_QUIET_S, _PATIENCE_S = 10.0, 240.0
_BEFORE_S, _HANGS_S, _SENDS_S = 5.0, 30.0, 50.0
# A tenth as many events come before those that are measured.
_WARM = 10
_ONE_EACH = Expectation(((1,),))
_SYSLOG_NGS = (SyslogNg("bookworm", "3.38"), SyslogNg("trixie", "4.8"))


@dataclass(frozen=True)
class Run:
    """What one side did with a flood: the rate until the last document, CPU per event of the
    shipper and of the engine, the shipper's peak memory, and what became of the events."""

    sent: int
    per_second: float
    shipper_us: float
    engine_us: float
    peak_bytes: int
    delivery: DeliveryCheck

    @property
    def is_whole(self) -> bool:
        """Whether every event arrived once."""
        return self.delivery.lost == 0 == self.delivery.duplicated


@dataclass(frozen=True)
class Side:
    """A peer with one configuration."""

    peer: Peer
    tuning: Tuning | None

    def __str__(self) -> str:
        return f"{self.peer.name}, {'stock' if self.tuning is None else self.tuning}"


@dataclass(frozen=True)
class Bench:
    """An engine, and a folder for what peers write."""

    nodes: Nodes
    client: EngineClient
    folder: Path

    @property
    def group(self) -> int:
        """The engine's process group."""
        return os.getpgid(self.nodes.running[0].pid)

    @contextmanager
    def running(self, side: Side) -> Iterator[tuple[Place, int]]:
        """The peer with a fresh index, once it listens; both are gone afterwards."""
        index = f"peers-{secrets.token_hex(4)}"
        folder = self.folder / index
        folder.mkdir(mode=0o755)
        at = Place(free_port(), self.client.url, index, folder)
        self.client.request("PUT", f"/{index}", INDEX)
        process = started(side.peer, at, side.tuning)
        try:
            listens = wait_until(lambda: TcpPort(at.port).is_open(process.pid), 20, 0.1)
            assert listens, (folder / "said").read_text(errors="replace")[-1000:]
            yield at, process.pid
        finally:
            process.kill()
            process.wait()
            self.client.request("DELETE", f"/{index}")

    def stored(self, at: Place) -> int:
        """How many documents the index has taken."""
        answer = self.client.get(f"/{at.index}/_stats/indexing")
        return number_at(answer, "_all", "primaries", "indexing", "index_total")

    def settled(self, at: Place, wanted: int) -> tuple[int, float]:
        """How many documents have come, and when the last of them did: once all `wanted` did, or
        none for a while."""
        last, at_s, until_s = 0, time.monotonic(), time.monotonic() + _PATIENCE_S
        while time.monotonic() < until_s:
            stored = self.stored(at)
            if stored != last:
                last, at_s = stored, time.monotonic()
            if last >= wanted or time.monotonic() - at_s > _QUIET_S:
                break
            time.sleep(0.05)
        return last, at_s

    def account(self, at: Place, spec: FloodSpec, sent: FloodProgress) -> DeliveryCheck:
        """What became of the events of a flood."""
        self.client.request("POST", f"/{at.index}/_refresh")
        return check_by_identity(self.client, at.index, sent.events, spec.stamped_run, _ONE_EACH)

    def flooded(self, side: Side, events: int) -> Run:
        """Send so many events as fast as they are taken, once the peer is warm."""
        warm = events // _WARM
        with self.running(side) as (at, pid), Flood(flood_of(at)) as flood:
            before = self._warmed(at, flood, warm)
            before_s, engine_s = usage_of(pid).cpu_s, group_cpu_s(self.group)
            began_s = time.monotonic()
            flood.steer(warm + events, None)
            taken(flood, warm + events)
            stored, last_s = self.settled(at, warm + events)
            usage, engine_s = usage_of(pid), group_cpu_s(self.group) - engine_s
            shipper_s, sent = usage.cpu_s - before_s, flood.finish(60)
            delivery = self.account(at, flood.spec, sent)
        return Run(
            sent.sent, (stored - before) / (last_s - began_s), 1e6 * shipper_s / events,
            1e6 * engine_s / events, usage.peak_rss_bytes, delivery,
        )  # fmt: skip

    def _warmed(self, at: Place, flood: Flood, events: int) -> int:
        """Send so many events first; how many documents came."""
        flood.steer(events, None)
        taken(flood, events)
        return self.settled(at, events)[0]

    def faulted(
        self, side: Side, per_second: float, fault: Callable[[int], None], *, is_killed: bool
    ) -> tuple[FloodProgress, DeliveryCheck]:
        """Send at a rate while something happens to the engine or the peer, by its process."""
        with self.running(side) as (at, pid), Flood(flood_of(at)) as flood:
            self._warmed(at, flood, 20_000)
            flood.steer(sys.maxsize, per_second)
            time.sleep(_BEFORE_S)
            fault(pid)
            if not is_killed:
                time.sleep(_SENDS_S - _BEFORE_S - _HANGS_S)
            sent = flood.finish(120)
            self.settled(at, sent.sent)
            return sent, self.account(at, flood.spec, sent)


def taken(flood: Flood, limit: int) -> None:
    """Wait until so many are sent, or nothing is taken any more."""
    last, at_s = -1, time.monotonic()
    while last < limit and time.monotonic() - at_s < _QUIET_S:
        sent = flood.progress().sent
        if sent != last:
            last, at_s = sent, time.monotonic()
        time.sleep(0.05)


def flood_of(at: Place) -> FloodSpec:
    """Messages whose time is their number."""
    return FloodSpec(
        Transport((loopback(at.port),), "tcp"), _CONNECTIONS, MessageBytes().sizes, _SEED,
        secrets.token_hex(4), format="rfc5424", begins_s=int(time.time()) // RUN_S * RUN_S,
    )  # fmt: skip


def peers() -> Iterator[Peer]:
    """All that can be had here."""
    yield Rsyslog("rsyslog 8.2302", Path(rsyslogd()))
    yield Rsyslog("rsyslog 8.2610", SUITES[-1].rsyslogd)
    yield Rsyslog("rsyslog 8.2610, omhttp", SUITES[-1].rsyslogd, "omhttp")
    yield Rsyslog("rsyslog 8.2610, omhttp compressed", SUITES[-1].rsyslogd, "omhttp", compress=True)
    for peer in (*_SYSLOG_NGS, Otel()):
        peer.fetch()
        yield peer


def best_of(bench: Bench, peer: Peer, events: int) -> Side:
    """The peer at its best of the grid, by one run of each that lost nothing."""
    runs: dict[Side, Run] = {}
    for batch, workers in product(BATCHES, WORKERS):
        side = Side(peer, Tuning(batch, workers))
        runs[side] = bench.flooded(side, events)
        say(f"grid: {side}: {told(runs[side])}")
    return max(runs, key=lambda side: (runs[side].is_whole, runs[side].per_second))


def told(run: Run) -> str:
    return (
        f"{run.per_second:,.0f} events/s, shipper {run.shipper_us:.1f} us, engine "
        f"{run.engine_us:.1f} us, {run.peak_bytes / 2**20:.0f} MiB, lost {run.delivery.lost:,}, "
        f"doubled {run.delivery.duplicated:,}"
    )


def table(runs: Mapping[Side, Sequence[Run]], reference: Side) -> Iterator[str]:
    """A row for each side."""
    yield (
        "| shipper | events per second | over rsyslog at its best | shipper's CPU per event "
        "| engine's CPU per event | events per CPU second of the shipper | peak memory "
        "| lost of a million | doubled |"
    )
    yield f"|{'---|' * 9}"
    base = [run.per_second for run in runs[reference]]
    for side, made in runs.items():
        rates = [run.per_second for run in made]
        ratio = "1" if side == reference else ratio_text(compare(base, rates))
        shipper = statistics.median(run.shipper_us for run in made)
        sent = sum(run.sent for run in made)
        lost, doubled = (
            1e6 * sum(getattr(run.delivery, name) for run in made) / sent
            for name in ("lost", "duplicated")
        )
        yield (
            f"| {side} | {statistics.median(rates):,.0f} | {ratio} | {shipper:.1f} us | "
            f"{statistics.median(run.engine_us for run in made):.1f} us | {1e6 / shipper:,.0f} | "
            f"{max(run.peak_bytes for run in made) / 2**20:.0f} MiB | {lost:,.0f} | "
            f"{doubled:,.0f} |"
        )


def drawn_into(path: Path, runs: Mapping[Side, Sequence[Run]]) -> None:
    """A picture: the median rate of each side, and its range."""
    figure = Figure(figsize=(9, 0.42 * len(runs) + 1.2), layout="constrained")
    axes = figure.subplots()
    upwards = [*runs.items()][::-1]
    for place, (side, made) in enumerate(upwards):
        rates = [run.per_second / 1000 for run in made]
        is_ours = side.peer.name.startswith("rsyslog")
        axes.barh(place, statistics.median(rates), color="#1f6f8b" if is_ours else "#9aa5ab")
        axes.plot([min(rates), max(rates)], [place, place], color="black", linewidth=1)
    axes.set_yticks(range(len(upwards)), [str(side) for side, _ in upwards])
    axes.set_xlabel("thousands of events per second, median and range")
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=110)


def faults(bench: Bench, runs: Mapping[Side, Sequence[Run]]) -> Iterator[str]:
    """A row for each side: what it lost and doubled by each fault."""
    yield (
        "| shipper | events a second | engine hangs 30 s: sent, lost, doubled "
        "| killed: sent, lost |"
    )
    yield f"|{'---|' * 4}"
    processes = [node.pid for node in bench.nodes.running]

    def hang(_: int) -> None:
        with suspended(processes):
            time.sleep(_HANGS_S)

    for side, made in runs.items():
        rate = statistics.median(run.per_second for run in made) / 2
        sent, hung = bench.faulted(side, rate, hang, is_killed=False)
        died, killed = bench.faulted(
            side, rate, lambda pid: os.kill(pid, signal.SIGKILL), is_killed=True
        )
        yield (
            f"| {side} | {rate:,.0f} | {sent.sent:,}, {hung.lost:,}, {hung.duplicated:,} | "
            f"{died.sent:,}, {killed.lost:,} |"
        )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--events", type=int, default=300_000)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--no-faults", action="store_true")
    parser.add_argument("--picture", type=Path, help="where a picture of the rates goes, a PNG")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as parent, scratch(Path(parent)) as folder:
        nodes = Nodes(NodePlan(DEFAULT, "2g"), nodes_here(folder / "engine"))
        try:
            bench = Bench(nodes, nodes.client(), Path(parent))
            say(f"load before: {os.getloadavg()[0]:.1f}; {DEFAULT.version}")
            every = tuple(peers())
            bench.flooded(Side(every[0], Tuning(2000, 2)), options.events)
            stock = [Side(peer, None) for peer in every if "omhttp" not in peer.name]
            best = [best_of(bench, peer, options.events // 4) for peer in every]
            sides = [*stock, *best]
            drawn, runs = random.Random(_SEED), dict[Side, list[Run]]()
            for number in range(options.rounds):
                for side in drawn.sample(sides, len(sides)):
                    made = bench.flooded(side, options.events)
                    runs.setdefault(side, []).append(made)
                    say(f"round {number + 1}: {side}: {told(made)}")
            in_order = {side: runs[side] for side in sides}
            for line in table(in_order, best[0]):
                say(line)
            if options.picture is not None:
                drawn_into(options.picture, in_order)
            for line in () if options.no_faults else faults(bench, in_order):
                say(line)
            say(f"load after: {os.getloadavg()[0]:.1f}")
        finally:
            nodes.stop()


if __name__ == "__main__":
    main()
