"""A scenario of the drill: a configuration, what is sent, a course of faults; and how it is played
on a real rsyslogd, with the truth by the numbers of the events."""

from __future__ import annotations

import os
import re
import resource
import shutil
import signal
import struct
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

from tests.drill.parts import JSON
from tests.drill.receivers import Datagrams, Engine, Files, Lines, Receiver, Relp, program
from tests.drill.senders import Burst, Sender
from tests.live.small_disk import small_disk
from tests.safety.searches import compiled
from tuner.host.process import own_environment
from tuner.lab.entrances import EventSource, TcpPort, UdpPort, UnixSocket, free_port
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import scratch, subfolder

SERVERS: Mapping[str, Callable[[], Receiver]] = {
    "es": Engine,
    "es2": Engine,
    "tcpout": Lines,
    "tcpout2": Lines,
    "relpout": Relp,
    "udpout": Datagrams,
}
FILES = {"file": "*", "file2": "*"}
PROGRAMS = {"prog": "OK", "prog2": "OK", "pipe": "", "mm": "{}"}
"""Programs behind omprog with and without confirmMessages, and behind mmexternal, with what they
answer to each event."""
ENDS_S, LATE_S = 20.0, 1.0
_OF_DAEMONS = {"start", "term", "kill"}
# After the end of the log all receivers are well: what still comes does so before this.
_QUIET_S, _AT_MOST_S = 3.0, 60.0

HEAD = """global(workDirectory="{folder}/work"{host})
module(load="impstats" {stats}{log_file})
module(load="omelasticsearch")
module(load="omrelp")
module(load="omprog")
template(name="doc" type="list") {{
  constant(value="{{\\"message\\":\\"") property(name="msg" format="json") constant(value="\\"}}")
}}
template(name="line" type="string" string="%msg%\\n")
template(name="named" type="string" string="%fromhost% %msg%\\n")
"""
INPUTS = {
    "tcp": 'module(load="imptcp")\ninput(type="imptcp" address="127.0.0.1" port="{tcp}"{more})\n',
    "udp": 'module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="{udp}"{more})\n',
    "unix": 'module(load="imuxsock" SysSock.Use="off")\n'
    'input(type="imuxsock" Socket="{folder}/socket"{more})\n',
    "relp": 'module(load="imrelp")\ninput(type="imrelp" address="127.0.0.1" port="{relp}"{more})\n',
    "file": 'module(load="imfile")\ninput(type="imfile" file="{folder}/in/*.log" tag="f"{more})\n',
}


@dataclass(frozen=True)
class Scenario:
    """A row of the drill.

      `config` are the actions, which name receivers in braces; `course` is what happens when, in
    seconds (`1 send tcp 3000 1000; 2 es away; 5 es ok; 12 end`); `may` are the causes that a
    diagnosis may name, and `must` those that it must.  `untold` says why counters cannot tell a
    loss.  `together`: one receiver is to have each event.  `never`: a text that would be wrong.
    `only`: receivers that get nothing but what is sent by that transport.  `other` is what a second
    rsyslogd has.
    """

    config: str
    course: str
    may: str = ""
    must: str = ""
    inputs: str = "tcp"
    of_input: str = ""
    stats: str = JSON
    has_hosts: bool = False
    other: str = ""
    other_stats: str = ""
    untold: str = ""
    together: bool = False
    never: str = ""
    disk: str = ""
    slow_names_ms: int = 0
    open_files: int = 0
    logs: str = "impstats.log*"
    only: Mapping[str, str] = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)

    @property
    def is_healthy(self) -> bool:
        """Whether nothing is wrong."""
        return not self.may and not self.must


@dataclass(frozen=True)
class OutputTruth:
    """What became of the events at one receiver: never came, came twice, came more than a second
    late (or not before the end of the log), the longest wait; and how many still waited then."""

    lost: int
    doubled: int
    late: int
    waited_s: float
    waiting: int


@dataclass(frozen=True)
class Truth:
    """What really happened: `outputs` by receiver; `lost` events came to none of them; `dropped`
    datagrams the kernel had no room for, which no counter of rsyslogd has."""

    sent: int
    lost: int
    starts: int
    seconds: float
    outputs: Mapping[str, OutputTruth]
    dropped: int = 0


@dataclass
class _World:
    """A scenario under way."""

    row: Scenario
    below: Path
    folder: Path
    library: Mapping[str, str]
    receivers: dict[str, Receiver] = field(default_factory=dict)
    daemons: dict[str, Rsyslogd] = field(default_factory=dict)
    ports: dict[str, int] = field(default_factory=dict)
    starts: int = 0
    made: int = 0
    is_over: bool = False

    def __post_init__(self) -> None:
        self.sender = Sender(self.ports, self.folder)
        self.ports |= {name: free_port() for name in ("tcp", "udp", "relp")}
        for name in ("work", "in"):
            (self.folder / name).mkdir()
            (self.folder / name).chmod(0o777)
        text = self.row.config + self.row.other
        for name, kind in SERVERS.items():
            if f"{{{name}}}" in text:
                self.receivers[name] = kind()
        for name in (*FILES, *PROGRAMS):
            if f"{{{name}}}" in text:
                own = self.folder / f"to-{name}"
                own.mkdir()
                own.chmod(0o777)
                if name in PROGRAMS:
                    program(own, PROGRAMS[name])
                self.receivers[name] = Files(own, FILES.get(name, "out"))

    def config(self, name: str) -> str:
        """The whole configuration of a daemon."""
        row = self.row
        stats = row.other_stats or row.stats if name == "b" else row.stats
        log = self.folder / ("after.log" if self.is_over else "impstats.log")
        places = {
            "folder": str(self.folder), "log": str(log), **self.ports,
            **{one: to.place for one, to in self.receivers.items()},
        }  # fmt: skip
        log_file = "" if 'log.syslog="on"' in stats else f' log.file="{log}"'
        host = f' localHostname="host-{name}"' if row.has_hosts else ""
        head = HEAD.format(**{**places, "stats": stats, "log_file": log_file, "host": host})
        inputs = row.inputs.split() if name == "a" else []
        more = f" {row.of_input}" if row.of_input else ""
        every = "".join(INPUTS[one].format(**places, more=more) for one in inputs)
        return head + every + (row.other if name == "b" else row.config).format(**places) + "\n"

    def _entrances(self) -> Iterator[EventSource]:
        for one in self.row.inputs.split():
            if one in {"tcp", "relp"}:
                yield TcpPort(self.ports[one])
            elif one == "udp":
                yield UdpPort(self.ports[one])
            elif one == "unix":
                yield UnixSocket(str(self.folder / "socket"))

    def start(self, name: str = "a") -> None:
        """Start a daemon."""
        own = subfolder(self.below, f"d{self.made}")
        self.made += 1
        self.starts += not self.is_over
        environment = {**own_environment(), **self.library}
        text = self.config(name)
        entrances = list(self._entrances()) if name == "a" else []
        with _open_files(self.row.open_files):
            self.daemons[name] = Rsyslogd(text, own, entrances, environment)

    def close(self) -> None:
        """End all that runs."""
        for name in list(self.daemons):
            self.stop(name, 0.0)
        for one in self.receivers.values():
            one.close()

    def stop(self, name: str, grace_s: float) -> None:
        """End a daemon."""
        (self.folder / "socket").unlink(missing_ok=True)
        self.daemons.pop(name).stop(grace_s)

    def do(self, verb: str, words: list[str]) -> None:
        """One step of the course."""
        if verb in self.receivers:
            self.receivers[verb].do(words[0])
            return
        steps: Mapping[str, Callable[..., None]] = {
            "send": self._send,
            "start": self.start,
            "term": lambda name="a": self.stop(name, ENDS_S),
            "kill": lambda name="a": self.stop(name, 0.0),
            "hup": self._hup,
            "rotate": self._rotate,
            "clock": self._set_clock,
            "damage": self._damage,
            "remove": self._remove,
        }
        steps[verb](*words)

    def _send(self, way: str, events: str, rate: str, *more: str) -> None:
        options = {key: int(value) for key, _, value in (one.partition("=") for one in more)}
        self.sender.begin(Burst(way, int(events), float(rate), **options))

    def _hup(self) -> None:
        os.kill(self.daemons["a"].pid, signal.SIGHUP)

    def _rotate(self) -> None:
        (self.folder / "impstats.log").rename(self.folder / "impstats.log.1")
        self._hup()

    def _set_clock(self, by_s: str) -> None:
        with Path(self.library["CLOCK_SHIFT"]).open("r+b") as file:
            file.write(struct.pack("l", int(by_s)))

    def _damage(self, pattern: str) -> None:
        for path in (self.folder / "work").glob(pattern):
            path.write_bytes(b"\0garbage\n" * 20)

    def _remove(self, pattern: str) -> None:
        for path in (self.folder / "work").glob(pattern):
            path.unlink()

    def heal(self) -> None:
        """All is well from now on: what is still there comes."""
        self.is_over = True
        for one in self.receivers.values():
            one.do("ok")
        if "a" not in self.daemons:
            self.start()
        begun = changed = time.monotonic()
        count = -1
        while (now := time.monotonic()) - changed < self._quiet_s() and now - begun < _AT_MOST_S:
            time.sleep(0.1)
            came = sum(len(one.came) for one in self.receivers.values())
            if came != count:
                changed, count = time.monotonic(), came
            if all(self.sent_to(name).keys() <= one.came.keys()
                   for name, one in self.receivers.items()):  # fmt: skip
                return

    def sent_to(self, receiver: str) -> Mapping[int, float]:
        """What a receiver should get, and when it was sent."""
        way = self.row.only.get(receiver)
        sent = self.sender.sent
        return {n: at for n, at in sent.items() if way in {None, self.sender.ways[n]}}

    def _quiet_s(self) -> float:
        """Longer than a suspended output waits."""
        waits = re.findall(r'resumeInterval="(\d+)"', self.row.config)
        return max(_QUIET_S, *(1.5 * float(one) + 2 for one in waits)) if waits else _QUIET_S


@contextmanager
def _open_files(limit: int) -> Iterator[None]:
    """What begins meanwhile may have so many files open; 0 is the usual limit."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit or soft, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def steps(course: str) -> list[tuple[float, str, list[str]]]:
    """When, what and with what, in their order."""
    parts = (one.split() for one in course.split(";"))
    return [(float(at), verb, words) for at, verb, *words in parts]


def play(row: Scenario, into: Path) -> Truth:
    """Play a scenario; `into` gets the logs, the configuration and the truth."""
    with ExitStack() as stack:
        below = stack.enter_context(scratch(into, holds_sockets=True))
        folder = subfolder(below, "case")
        folder.chmod(0o777)
        if row.disk:
            (folder / "spool").mkdir()
            stack.enter_context(small_disk(folder / "spool", row.disk))
            (folder / "spool").chmod(0o777)
        world = _World(row, below, folder, _library(row, folder))
        stack.callback(world.close)
        begun = time.time()
        _run(world)
        ended = time.time()
        dropped = _dropped(world.ports["udp"])
        for path in folder.glob(row.logs):
            shutil.copy(path, into / path.name)
        config = world.config("a").replace(str(folder), "/var/lib/drill")
        (into / "rsyslog.conf").write_text(config, "utf-8")
        world.sender.end()
        world.heal()
        for one in list(world.daemons):
            world.stop(one, ENDS_S)
        for each in world.receivers.values():
            each.close()
        truth = _truth(world, ended, round(ended - begun, 1))
        return replace(truth, dropped=dropped)


def _dropped(port: int) -> int:
    """How many datagrams the kernel dropped at a port (proc_net_udp, Linux)."""
    lines = Path("/proc/net/udp").read_text("ascii").splitlines()[1:]
    sockets = (one.split() for one in lines)
    return sum(int(one[-1]) for one in sockets if one[1].endswith(f":{port:04X}"))


def _library(row: Scenario, folder: Path) -> Mapping[str, str]:
    """The environment of a scenario with a clock or names of its own."""
    if row.slow_names_ms:
        built = compiled(Path(__file__).with_name("slow_names.c"), folder)
        return {"LD_PRELOAD": str(built), "SLOW_NAMES_MS": str(row.slow_names_ms)}
    if " clock " in row.course:
        source = Path(__file__).parents[1] / "safety/shifted_clock.c"
        shift = folder / "shift"
        shift.write_bytes(struct.pack("l", 0))
        shift.chmod(0o644)
        return {"LD_PRELOAD": str(compiled(source, folder)), "CLOCK_SHIFT": str(shift)}
    return {}


def _run(world: _World) -> None:
    """The course."""
    row = world.row
    planned = steps(row.course)
    for _, verb, words in [one for one in planned if one[0] == 0 and one[1] in world.receivers]:
        world.do(verb, words)
    for name in ("a", "b") if row.other else ("a",):
        own = [verb for _, verb, words in planned
               if verb in _OF_DAEMONS and words == ([] if name == "a" else [name])]  # fmt: skip
        if own[:1] != ["start"]:
            world.start(name)
    begun = time.monotonic()
    for at, verb, words in planned:
        time.sleep(max(0.0, begun + at - time.monotonic()))
        if verb == "end":
            break
        if at or verb not in world.receivers:
            world.do(verb, words)


def _truth(world: _World, ended: float, seconds: float) -> Truth:
    sent = world.sender.sent
    came: dict[str, dict[int, list[float]]] = {
        name: dict(one.came) for name, one in world.receivers.items()
    }
    if world.row.together:
        every: dict[int, list[float]] = {}
        for of_one in came.values():
            for number, times in of_one.items():
                every.setdefault(number, []).extend(times)
        came = dict.fromkeys(came, every)
    outputs = {
        name: _output_truth(world.sent_to(name), of_one, ended) for name, of_one in came.items()
    }
    anywhere = set().union(*(of_one.keys() for of_one in came.values()))
    daemons = 2 if world.row.other else 1
    return Truth(len(sent), len(sent.keys() - anywhere), world.starts - daemons, seconds, outputs)


def _output_truth(
    sent: Mapping[int, float], came: Mapping[int, list[float]], ended: float
) -> OutputTruth:
    waits = {
        number: min(*came[number], max(ended, at)) - at
        for number, at in sent.items() if number in came
    }  # fmt: skip
    return OutputTruth(
        lost=len(sent.keys() - came.keys()),
        doubled=sum(len(times) > 1 for number, times in came.items() if number in sent),
        late=sum(wait >= LATE_S for wait in waits.values()) + len(sent.keys() - came.keys()),
        waited_s=round(max(waits.values(), default=0.0), 1),
        waiting=sum(number in came and min(came[number]) > ended for number in sent),
    )


def as_json(truth: Truth) -> dict[str, object]:
    """For a file."""
    return asdict(truth)
