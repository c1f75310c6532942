"""What each mode of an index costs, and what searches cost there.  Run by hand:

python -m tests.benchmarks.index_modes [--documents 1000000] [--rounds 15]

One engine has an index of each mode, with the mapping that the same profile is rendered to.  They
get the same documents in turns, in an order that is drawn for each, and are searched so.  Ratios
are those of a turn to the mode standard in the same turn: their median, and the middle half.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from tests.profile.examples import small
from tuner.engine.client import EngineClient, number_at
from tuner.engines.release import Release
from tuner.engines.settings import MODES
from tuner.engines.versions import distribution_for
from tuner.lab.nodes import NodePlan, Nodes, nodes_here
from tuner.lab.scratch import scratch
from tuner.render.artefacts import render

TURNS, BULK = 20, 5000
_NDJSON = {"Content-Type": "application/x-ndjson"}
START_S = 1_767_225_600
HOSTS, PROGRAMS, USERS = 500, ("sshd", "cron", "kernel", "nginx", "postfix", "systemd"), 3000
TEXTS = (
    "Failed password for {user} from {address} port {number} ssh2",
    "Accepted publickey for {user} from {address} port {number} ssh2",
    "connect from unknown[{address}]",
    "Started Session {number} of user {user}.",
    "GET /index/{number} HTTP/1.1 200 from {address}",
    "out of memory: killed process {number} ({user})",
)
DOCUMENT = [
    {"property": "timereported", "name": "@timestamp", "type": "date",
     "uses": ["range", "aggregate", "retrieve"]},
    {"property": "hostname", "name": "host.name", "uses": ["term", "aggregate", "retrieve"]},
    {"property": "programname", "name": "process.name", "uses": ["term", "aggregate", "retrieve"]},
    {"property": "syslogseverity", "name": "severity", "type": "integer",
     "uses": ["term", "range", "aggregate", "retrieve"]},
    {"property": "msg", "name": "message", "uses": ["full_text", "phrase", "retrieve"]},
]  # fmt: skip


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def documents(turn: int, count: int) -> Iterator[str]:
    """Bulks of the documents of a turn."""
    drawn = random.Random(turn)
    lines: list[str] = []
    for number in range(turn * count, (turn + 1) * count):
        second = START_S + number // 100
        stamp = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(second))
        text = drawn.choice(TEXTS).format(
            user=f"user{drawn.randrange(USERS)}",
            address=".".join(str(drawn.randrange(256)) for _ in range(4)),
            number=drawn.randrange(65536),
        )
        document = {
            "@timestamp": f"{stamp}.{number % 100:02}0Z",
            "host": {"name": f"host{drawn.randrange(HOSTS)}"},
            "process": {"name": drawn.choice(PROGRAMS)},
            "severity": drawn.randrange(8),
            "message": text,
        }
        lines.append('{"create":{}}\n' + json.dumps(document) + "\n")
        if len(lines) == BULK:
            yield "".join(lines)
            lines.clear()
    if lines:
        yield "".join(lines)


def searches(drawn: random.Random, last_s: int) -> Mapping[str, dict[str, object]]:
    """One search of each kind, with values that no search before had."""
    host, user = f"host{drawn.randrange(HOSTS)}", f"user{drawn.randrange(USERS)}"
    start = START_S + drawn.randrange(max(1, last_s - START_S - 600))
    stamps = (time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(at)) for at in (start, start + 600))
    since, until = stamps
    times = {"range": {"@timestamp": {"gte": since, "lt": until}}}
    by_host = {"terms": {"field": "host.name", "size": 10}}
    return {
        "term": {"query": {"term": {"host.name": host}}},
        "word": {"query": {"match": {"message": user}}},
        "phrase": {"query": {"match_phrase": {"message": f"password for {user}"}}},
        "range of times": {"query": times},
        "range of numbers": {"query": {"range": {"severity": {"gte": drawn.randrange(1, 7)}}}},
        "aggregation": {"size": 0, "query": times, "aggs": {"hosts": by_host}},
        "aggregation of all": {"size": 0, "aggs": {"hosts": by_host}},
        "newest 100": {"size": 100, "sort": [{"@timestamp": "desc"}]},
    }


def group_cpu_s(group: int) -> float:
    """Seconds of CPU that the processes of a group have used."""
    used_s = 0.0
    for process in psutil.process_iter():
        with suppress(psutil.Error, ProcessLookupError):
            if os.getpgid(process.pid) == group:
                times = process.cpu_times()
                used_s += times.user + times.system
    return used_s


class Modes:
    """An index of each mode in one engine."""

    def __init__(self, client: EngineClient, group: int) -> None:
        self._group = group
        self._client, self._session = client, client.new_session()
        for mode in MODES:
            settings = {"number_of_replicas": 0, "refresh_interval": "30s", "mode": mode}
            profile = small(
                {
                    "release": {"elasticsearch": "9.5"},
                    "outputs[logs].document": DOCUMENT,
                    "outputs[logs].index": {"name": "modes", "settings": settings},
                }
            )
            files = {file.path: file.text for file in render(profile)}
            template = json.loads(files["index-template.json"])["template"]
            client.request("PUT", f"/modes-{mode}", template)

    def cpu_ms(self) -> float:
        """CPU that the engine has used, in milliseconds."""
        return 1000 * group_cpu_s(self._group)

    def index(self, mode: str, bulks: Sequence[str]) -> float:
        """Give an index the documents of a turn; the engine's CPU, in milliseconds."""
        before = self.cpu_ms()
        for bulk in bulks:
            url = f"{self._client.url}/modes-{mode}/_bulk?filter_path=errors"
            answer = self._session.post(url, bulk, headers=_NDJSON, timeout=600)
            assert answer.json() == {"errors": False}, answer.text
        self._client.request("POST", f"/modes-{mode}/_refresh")
        return self.cpu_ms() - before

    def merge(self, mode: str) -> tuple[float, float]:
        """Merge an index to one segment: the engine's CPU in milliseconds, and the bytes on
        disk."""
        before = self.cpu_ms()
        self._client.request("POST", f"/modes-{mode}/_flush")
        self._client.request("POST", f"/modes-{mode}/_forcemerge?max_num_segments=1")
        self._client.request("POST", f"/modes-{mode}/_refresh")
        answer = self._client.get(f"/modes-{mode}/_stats/store")
        size = number_at(answer, "_all", "total", "store", "size_in_bytes")
        return self.cpu_ms() - before, float(size)

    def search(self, mode: str, body: Mapping[str, object]) -> tuple[float, int]:
        """How long a search takes, in milliseconds, and how many documents it finds."""
        started = time.perf_counter()
        whole = {"track_total_hits": True, **body}
        path = f"/modes-{mode}/_search?request_cache=false"
        answer = self._client.request("POST", path, whole)
        took_ms = (time.perf_counter() - started) * 1000
        return took_ms, number_at(answer, "hits", "total", "value")


def ratios(rounds: list[dict[str, float]], spell: Callable[[float], str]) -> str:
    """A row of a table: the median for the mode standard, and the ratios of the others to it."""
    cells = [spell(statistics.median(values["standard"] for values in rounds))]
    for mode in [mode for mode in MODES if mode != "standard"]:
        shares = sorted(values[mode] / values["standard"] for values in rounds)
        low, middle, high = statistics.quantiles(shares, n=4) if len(shares) > 1 else shares * 3
        cells.append(
            f"{middle:.2f} [{low:.2f}, {high:.2f}]" if len(shares) > 1 else f"{middle:.2f}"
        )
    return " | ".join(cells)


def measured(modes: Modes, count: int, rounds: int) -> Iterator[str]:
    """The rows of the table, as they are known."""
    drawn, per_turn = random.Random(1), count // TURNS
    indexed: list[dict[str, float]] = []
    for turn in range(TURNS):
        order = drawn.sample([*MODES], len(MODES))
        bulks = tuple(documents(turn, per_turn))
        indexed.append({mode: modes.index(mode, bulks) for mode in order})
    each = [{mode: 1000 * ms / per_turn for mode, ms in values.items()} for values in indexed]
    yield f"| engine CPU per document | {ratios(each, '{:.1f} us'.format)} |"
    merged = {mode: modes.merge(mode) for mode in drawn.sample([*MODES], len(MODES))}
    cpu = [{mode: 1000 * ms / count for mode, (ms, _) in merged.items()}]
    yield f"| the same of the merge to one segment | {ratios(cpu, '{:.1f} us'.format)} |"
    size = [{mode: size / count for mode, (_, size) in merged.items()}]
    yield f"| bytes on disk per document | {ratios(size, '{:.1f}'.format)} |"
    took: dict[str, list[dict[str, float]]] = {}
    for _ in range(rounds + 2):
        for name, body in searches(drawn, START_S + count // 100).items():
            order = drawn.sample([*MODES], len(MODES))
            answers = {mode: modes.search(mode, body) for mode in order}
            hits = {found for _, found in answers.values()}
            assert len(hits) == 1, (name, answers)
            took.setdefault(name, []).append({mode: ms for mode, (ms, _) in answers.items()})
    for name, times in took.items():
        yield f"| search: {name} | {ratios(times[2:], '{:.1f} ms'.format)} |"


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--rounds", type=int, default=15)
    arguments = parser.parse_args()
    plan = NodePlan(distribution_for(Release(elasticsearch="9.5")), "2g")
    with tempfile.TemporaryDirectory() as folder, scratch(Path(folder)) as inner:
        nodes = Nodes(plan, nodes_here(inner / "engine"))
        try:
            client = nodes.client()
            say(f"load before: {os.getloadavg()[0]:.1f}")
            say(f"| | {' | '.join(MODES)} |\n|{'---|' * (len(MODES) + 1)}")
            for row in measured(
                Modes(client, nodes.running[0].pid), arguments.documents, arguments.rounds
            ):
                say(row)
            say(f"load after: {os.getloadavg()[0]:.1f}")
        finally:
            nodes.stop()


if __name__ == "__main__":
    main()
