"""What goes wrong in production, on a real rsyslogd between a flood and the sink: its counters, and
what really happened.

`python -m tests.live.production FOLDER [NAME...]` writes for each case NAME.log, what impstats
wrote, NAME.conf, the configuration, and NAME.json, the truth; tests/diagnose keeps those.
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from tuner.engine.client import EngineClient
from tuner.engine.delivery import arrived
from tuner.flood.flood import Flood
from tuner.flood.spec import FloodSpec
from tuner.flood.transport import Transport
from tuner.host.process import give_to_daemons
from tuner.lab.entrances import EventSource, TcpPort
from tuner.lab.faults import parse_fault
from tuner.lab.lab import new_run_id
from tuner.lab.ports import free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder
from tuner.lab.sink import Sink

ENDS_S = 20.0


@dataclass(frozen=True)
class Truth:
    """What really happened to the events of a case, by the sink: None where it does not count."""

    sent: int
    lost: int | None
    doubled: int | None
    rounds_s: float


@dataclass(frozen=True)
class Case:
    """A configuration, the faults of the engine, and what is sent: `rate` events per second for
    `seconds`, then nothing for `rest_s`; `away` is when the engine is gone, in seconds from the
    start of the flood."""

    action: str
    main: str = 'main_queue(queue.type="FixedArray" queue.size="50000" queue.workerThreads="1")'
    faults: tuple[str, ...] = ()
    rate: float = 2000
    seconds: float = 6
    rest_s: float = 4
    away: tuple[float, float] | None = None
    stats: str = 'format="json" bracketing="on" resetCounters="off" log.syslog="off"'
    more: str = ""
    starts: int = 1
    transport: str = "tcp"
    is_stopped_hard: bool = False
    connections: int = 4


def engine(queue: str, **more: str) -> str:
    """An action that indexes into the sink, with that queue."""
    options = "".join(f' {key.replace("_", ".")}="{value}"' for key, value in more.items())
    return (
        'action(name="es" type="omelasticsearch" server="127.0.0.1" serverport="{sink}"'
        ' bulkmode="on" searchType="" searchIndex="syslog" template="doc"'
        f"{options} {queue})"
    )


MEMORY = (
    'queue.type="LinkedList" queue.size="{0}" queue.dequeueBatchSize="{1}" '
    'queue.workerThreads="{2}" queue.workerThreadMinimumMessages="{1}" queue.timeoutEnqueue="{3}"'
)
FOREVER = 86_400_000
KEEPS = {"action_resumeRetryCount": "-1", "action_resumeInterval": "1"}
HEALTHY = engine(MEMORY.format(20_000, 1000, 2, FOREVER), **KEEPS)
SLOW = ("delay=0.3,after=1,times=1000000",)
DISK = MEMORY.format(2000, 100, 1, 0) + ' queue.filename="es" queue.maxDiskSpace="200m"'

CASES: Mapping[str, Case] = {
    "healthy": Case(HEALTHY, seconds=15),
    "healthy-legacy": Case(HEALTHY, stats='format="legacy" log.syslog="off"'),
    "healthy-reset": Case(
        HEALTHY, stats='format="json" resetCounters="on" bracketing="on" log.syslog="off"'
    ),
    "healthy-durable": Case(
        engine(
            MEMORY.format(20_000, 500, 2, FOREVER) + ' queue.filename="es"', **KEEPS,
            retryfailures="on", retryruleset="again",
        ),
        more='ruleset(name="again") {{ stop }}', rate=500, seconds=150,
        stats='format="json-elasticsearch" interval="5" log.syslog="off"',
    ),
    # rsyslogd's counters of 10 minutes, every 10 s, as in production.
    "healthy-ten-minutes": Case(
        HEALTHY, rate=2000, seconds=600, rest_s=21,
        stats='format="json" bracketing="on" interval="10" resetCounters="off" log.syslog="off"',
    ),
    "slow-engine": Case(
        engine(MEMORY.format(2000, 100, 1, FOREVER), **KEEPS), faults=SLOW, rate=800, rest_s=14
    ),
    "slow-engine-reset": Case(
        engine(MEMORY.format(2000, 100, 1, FOREVER), **KEEPS), faults=SLOW, rate=800, rest_s=14,
        stats='format="cee" resetCounters="on" bracketing="off" log.syslog="off"',
    ),
    "queue-full": Case(engine(MEMORY.format(1000, 100, 1, 0), **KEEPS), faults=SLOW, rate=1500),
    "enqueue-timeout": Case(
        engine(MEMORY.format(1000, 100, 1, 100), **KEEPS), faults=SLOW, rate=1000, rest_s=24
    ),
    "refused-bulks": Case(HEALTHY, faults=("status=429,after=4,times=6",), seconds=8),
    "refused-items": Case(HEALTHY, faults=("errors,after=4,times=3",), seconds=8),
    "retried-items": Case(
        engine(
            MEMORY.format(20_000, 1000, 2, FOREVER), **KEEPS, retryfailures="on",
            retryruleset="again",
        ),
        faults=("errors,after=4,times=3",), seconds=8,
        more='ruleset(name="again") {{ stop }}',
    ),
    "engine-away": Case(HEALTHY, seconds=8, away=(3, 6), rest_s=8),
    "engine-away-gives-up": Case(
        engine(MEMORY.format(20_000, 500, 1, FOREVER)), seconds=8, away=(3, 6), rest_s=6
    ),
    "transport-errors": Case(
        engine(MEMORY.format(20_000, 500, 1, FOREVER)), seconds=8, rest_s=8,
        faults=("reset-before,after=20,times=300",),
    ),
    "connection-reset": Case(HEALTHY, faults=("reset,after=4,times=2",), seconds=8),
    "frozen-engine": Case(
        engine(MEMORY.format(20_000, 500, 1, FOREVER), **KEEPS),
        faults=("hang,after=6,times=1000000",), seconds=10, rest_s=3, is_stopped_hard=True,
    ),
    "no-action-queue": Case(
        engine("", **KEEPS),
        main='main_queue(queue.type="FixedArray" queue.size="5000" queue.dequeueBatchSize="100" '
        'queue.workerThreads="1")',
        faults=SLOW, rate=1000, seconds=7, rest_s=22,
    ),
    "burst": Case(
        HEALTHY,
        main='main_queue(queue.type="FixedArray" queue.size="1000" queue.dequeueBatchSize="100" '
        'queue.workerThreads="1")',
        rate=60_000, seconds=0.05, rest_s=12, connections=1,
    ),
    "to-disk": Case(engine(DISK, **KEEPS), faults=SLOW, rate=1000, seconds=8, rest_s=22),
    "disk-queue": Case(
        engine(
            'queue.type="Disk" queue.filename="es" queue.size="100000" '
            'queue.checkpointInterval="1" queue.dequeueBatchSize="500"', **KEEPS,
        ),
        rate=4000, seconds=5, rest_s=25,
    ),
    "less-severe-discarded": Case(
        engine(
            MEMORY.format(2000, 100, 1, FOREVER)
            + ' queue.discardMark="1000" queue.discardSeverity="4"', **KEEPS,
        ),
        faults=SLOW, rate=1000, rest_s=12,
    ),
    "dynafile-cache": Case(
        'template(name="path" type="string" string="{folder}/of-%$.which%")\n'
        'set $.which = re_extract($msg, "seq=[0-9]*([0-9])", 0, 1, "none");\n'
        'action(name="files" type="omfile" dynaFile="path" dynaFileCacheSize="4")\n'
        + HEALTHY,
        rate=500,
    ),
    "restarts": Case(HEALTHY, seconds=3, rest_s=2, starts=4),
    "in-band": Case(
        'if $syslogtag startswith "rsyslogd-pstats" then {{\n'
        '  action(name="stats" type="omfile" file="{log}" template="RSYSLOG_FileFormat")\n'
        "  stop\n}}\n" + engine("", **KEEPS),
        main='main_queue(queue.type="FixedArray" queue.size="500" queue.dequeueBatchSize="100" '
        'queue.workerThreads="1" queue.lightDelayMark="0" queue.timeoutEnqueue="300")',
        faults=("delay=0.8,after=1,times=1000000",), rate=600, seconds=10, rest_s=12,
        stats='format="json" bracketing="on" resetCounters="off" log.syslog="on" severity="7"',
    ),
    "local-socket-limit": Case(
        HEALTHY, transport="unix", rate=1000, seconds=5,
        more='module(load="imuxsock" SysSock.Use="off")\n'
        'input(type="imuxsock" Socket="{folder}/socket" RateLimit.Interval="5" '
        'RateLimit.Burst="500" UsePIDFromSystem="on")',
    ),
    "workers-not-started": Case(
        engine(
            'queue.type="LinkedList" queue.size="40000" queue.dequeueBatchSize="100" '
            'queue.workerThreads="4" queue.timeoutEnqueue="86400000"', **KEEPS,
        ),
        faults=SLOW, rate=1000, rest_s=16,
    ),
    "rebinds": Case(
        engine(MEMORY.format(20_000, 100, 2, FOREVER), **KEEPS, rebindinterval="50"), seconds=8
    ),
    "forward-away": Case(
        HEALTHY + '\naction(name="archive" type="omfwd" target="127.0.0.1" port="9" protocol="tcp" '
        'action.resumeRetryCount="-1" action.resumeInterval="1" '
        + MEMORY.format(50_000, 100, 1, FOREVER) + ")",
        rate=1500, rest_s=6,
    ),
}  # fmt: skip

HEAD = """global(workDirectory="{folder}")
module(load="impstats" {stats})
module(load="imptcp" threads="2")
module(load="omelasticsearch")
template(name="doc" type="list") {{
  constant(value="{{\\"message\\":\\"") property(name="msg" format="json") constant(value="\\"}}")
}}
"""


@dataclass
class Running:
    """A case under way."""

    case: Case
    folder: Path
    sink: Sink
    port: int = field(default_factory=free_port)

    @property
    def log(self) -> Path:
        return self.folder / "impstats.log"

    def config(self) -> str:
        """The whole configuration."""
        case = self.case
        to_file = "" if 'log.syslog="on"' in case.stats else f' log.file="{self.log}"'
        interval = "" if "interval=" in case.stats else ' interval="1"'
        names = {"folder": self.folder, "log": self.log, "sink": self.sink.port}
        source = f'input(type="imptcp" address="127.0.0.1" port="{self.port}")\n'
        return (
            HEAD.format(folder=self.folder, stats=case.stats + interval + to_file)
            + f"{case.main}\n{case.more.format(**names)}\n{source}{case.action.format(**names)}\n"
        )

    def target(self) -> str:
        unix = self.case.transport == "unix"
        return f"{self.folder}/socket" if unix else f"127.0.0.1:{self.port}"

    def entrances(self) -> list[EventSource]:
        return [TcpPort(self.port)]

    def flood(self) -> int:
        """Send; how many were sent."""
        case, events = self.case, int(self.case.rate * self.case.seconds)
        style = "local" if case.transport == "unix" else "rfc3164"
        transport = Transport((self.target(),), case.transport)  # type: ignore[arg-type]
        spec = FloodSpec(
            transport, case.connections, 244, 1, new_run_id(), events, format=style,  # type: ignore[arg-type]
            framing=transport.facts.framings[0],
        )  # fmt: skip
        with Flood(spec) as flood:
            begun = time.monotonic()
            flood.steer(events, case.rate)
            for at, does in self._outage():
                time.sleep(max(0.0, begun + at - time.monotonic()))
                does()
            flood.wait_until_idle(case.seconds + 60)
            flood.finish()
            return flood.progress().sent

    def _outage(self) -> list[tuple[float, Callable[[], None]]]:
        if self.case.away is None:
            return []
        gone, back = self.case.away
        return [(gone, self.sink.stop), (back, self.sink.start_again)]


def play(case: Case, folder: Path) -> tuple[str, str, Truth]:
    """Play a case in a folder: what impstats wrote, the configuration, and the truth."""
    with Sink(faults=[parse_fault(one) for one in case.faults]) as sink:
        running = Running(case, folder, sink)
        config, sent, counted = running.config(), 0, 0
        give_to_daemons(folder)
        begun = time.monotonic()
        for number in range(case.starts):
            own = subfolder(folder.parent, f"{folder.name}-{number}")
            daemon = Rsyslogd(config, own, running.entrances())
            try:
                time.sleep(2.2)
                sent += running.flood()
                time.sleep(case.rest_s)
            finally:
                # The sink forgets what came before an outage, so it is asked last.
                daemon.stop(0.0 if case.is_stopped_hard else ENDS_S)
        client = EngineClient(sink.url)
        runs = [run for index in arrived(client) for run in index.runs]
        client.close()
        counted = sum(run.events for run in runs)
        doubled = sum(run.account.duplicated for run in runs)
        is_known = case.away is None
        truth = Truth(
            sent, sent - counted if is_known else None, doubled if is_known else None,
            round(time.monotonic() - begun, 1),
        )  # fmt: skip
        return running.log.read_text("utf-8"), config, truth


def main(folder: Path, names: list[str]) -> None:
    """Play cases and write them down."""
    for name in names or CASES:
        with tempfile.TemporaryDirectory() as below, scratch(Path(below)) as place:
            log, config, truth = play(CASES[name], subfolder(place, "case"))
        (folder / f"{name}.log").write_text(log, "utf-8")
        (folder / f"{name}.conf").write_text(config, "utf-8")
        (folder / f"{name}.json").write_text(json.dumps(asdict(truth)) + "\n", "utf-8")
        sys.stdout.write(f"{name}: {truth}, {len(log):,} bytes\n")
        sys.stdout.flush()


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
