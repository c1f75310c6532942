"""What a grammar puts around rules: inputs, modules, queues and what is global."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from tests.live.generated_conditions import WORDS, Conditions

FILES = "/FOLDER"
"""What stands for the folder of all files."""
_OLD_KEYS = {"imtcp": "TCPServer", "imptcp": "PTCPServer", "imudp": "UDPServer"}
_OF_MODULES = {
    "imtcp": 'maxSessions="300"', "imptcp": 'threads="2"', "imudp": 'timeRequery="4"',
    "imfile": 'mode="inotify"',
}  # fmt: skip
_OF_INPUTS = {
    "imtcp": ('keepAlive="on"', 'supportOctetCountedFraming="off"', 'name="in"'),
    "imptcp": ('keepAlive="on"', 'supportOctetCountedFraming="off"', 'rateLimit.interval="0"'),
    "imudp": ('rcvbufSize="1m"', 'rateLimit.interval="0"', 'name="in"'),
}  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """Where events are sent to: tcp or udp, host and port."""

    kind: str
    host: str
    port: int

    @property
    def socket(self) -> str:
        """The socket, without its address."""
        return f"{self.kind}{self.port}"


@dataclass
class Inputs(Conditions):
    """Inputs, with where events enter, and the files that are read."""

    entries: list[Entry] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.age = self.random.choice((0.0, 0.0, 0.3, 0.9))
        self.ports = iter(range(20514, 20600))
        self.names = iter(range(1, 1000))
        count = self.random.choice((0, 0, 1, 1, 2, 3))
        self.rulesets = [f"rs{one}" for one in range(count)]
        self.parses = self.chance(0.25)

    def is_old(self) -> bool:
        """Whether the next is in the old form."""
        return self.chance(self.age)

    def globals(self) -> Iterator[str]:
        if self.chance(0.4):
            yield f"$WorkDirectory {FILES}/spool"
        else:
            yield f'global(workDirectory="{FILES}/spool")'
        if self.chance(0.1):
            self.use("global net.enableDNS")
            yield 'global(net.enableDNS="off")'
        if self.chance(0.1):
            self.use("global escape off")
            yield self.word(
                'global(parser.escapeControlCharactersOnReceive="off")',
                "$EscapeControlCharactersOnReceive off",
            )
        if self.chance(0.1):
            self.use("global preserveFQDN")
            yield self.word('global(preserveFQDN="on")', "$PreserveFQDN on")
        if self.chance(0.08):
            self.use("global maxMessageSize")
            yield self.word('global(maxMessageSize="16k")', "$MaxMessageSize 4k")
        if self.chance(0.08):
            self.use("$Umask")
            yield "$Umask 0022"
        if self.chance(0.08):
            self.use("$ActionFileDefaultTemplate")
            name = self.word("RSYSLOG_TraditionalFileFormat", "RSYSLOG_FileFormat")
            yield f"$ActionFileDefaultTemplate {name}"
        if self.chance(0.05):
            self.use("impstats")
            yield (
                'module(load="impstats" interval="600" format="json" log.syslog="off" '
                f'log.file="{FILES}/spool/counters")'
            )

    def main_queue(self) -> Iterator[str]:
        if self.chance(0.15):
            self.use("main_queue()")
            yield f"main_queue({self.queue(is_main=True)})"
        elif self.chance(0.15):
            self.use("$MainMsgQueue")
            yield "$MainMsgQueueSize 200000"
            if self.chance(0.5):
                yield f"$MainMsgQueueType {self.word('LinkedList', 'FixedArray')}"
            if self.chance(0.3):
                yield "$MainMsgQueueWorkerThreads 1"

    def queue(self, *, is_main: bool = False) -> str:
        """Parameters of a queue, without workers that would change the order of statements."""
        kind = self.word("LinkedList", "FixedArray", "LinkedList")
        self.use(f"queue {kind}")
        parts = [f'queue.type="{kind}"']
        more = {
            "size": self.word("1000", "5000", "20000"),
            "dequeueBatchSize": self.word("1", "64", "512"),
            "workerThreads": self.word("1", "2"), "timeoutShutdown": "2000",
            "workerThreadMinimumMessages": "500", "saveOnShutdown": "on", "highWatermark": "800",
            "lowWatermark": "200", "discardMark": "900", "discardSeverity": "8",
            "timeoutEnqueue": "100", "lightDelayMark": "700",
        }  # fmt: skip
        if is_main:
            # Its mark for discarding is above most sizes.
            del more["size"], more["discardMark"]
        chosen = self.random.sample(sorted(more), self.random.randint(0, 3))
        if self.chance(0.25):
            self.use("queue with files")
            parts += [f'queue.filename="q{next(self.names)}"', 'queue.maxDiskSpace="10m"']
            parts += [f'queue.spoolDirectory="{FILES}/spool"'] if self.chance(0.3) else []
        for key in chosen:
            self.use(f"queue.{key}")
            parts.append(f'queue.{key}="{more[key]}"')
        return " ".join(parts)

    def inputs(self) -> Iterator[str]:
        """An input for the rules outside of rulesets, and one for most rulesets."""
        bound = ["", *(one for one in self.rulesets if self.chance(0.7))]
        bound += [self.random.choice(bound)] if self.chance(0.3) else []
        for number, ruleset in enumerate(bound):
            kind = self.word("imtcp", "imptcp", "imudp")
            if number and self.chance(0.12):
                yield from self.file_input(ruleset)
            elif self.is_old():
                yield from self.old_input(kind, ruleset)
            else:
                yield from self.new_input(kind, ruleset)

    def load(self, kind: str) -> None:
        """Load a module, once."""
        if kind not in self.modules:
            given = f" {_OF_MODULES[kind]}" if kind in _OF_MODULES and self.chance(0.2) else ""
            line = f'module(load="{kind}"{given})'
            self.modules[kind] = f"$ModLoad {kind}" if self.is_old() else line

    def _enter(self, kind: str, port: int, hosts: tuple[str, ...]) -> None:
        self.entries += [Entry("udp" if kind == "imudp" else "tcp", one, port) for one in hosts]

    def new_input(self, kind: str, ruleset: str) -> Iterator[str]:
        self.load(kind)
        self.use(f"input {kind}")
        port, parts = next(self.ports), []
        hosts: tuple[str, ...] = ("127.0.0.1",)
        match self.random.randrange(4):
            case 0 | 1:
                parts.append('address="127.0.0.1"')
            case 2:
                self.use("input without address")
                hosts = self.random.choice((("127.0.0.1",), ("127.0.0.1", "::1")))
            case 3 if kind != "imtcp":
                self.use("input with IPv6")
                parts.append('address="::1"')
                hosts = ("::1",)
        parts += [self.random.choice(_OF_INPUTS[kind])] if self.chance(0.3) else []
        if ruleset:
            self.use("input bound to a ruleset")
            parts.append(f'ruleset="{ruleset}"')
        self._enter(kind, port, hosts)
        yield f'input(type="{kind}" port="{port}" {" ".join(parts)})'

    def old_input(self, kind: str, ruleset: str) -> Iterator[str]:
        self.load(kind)
        self.use(f"${_OLD_KEYS[kind]}Run")
        port, key = next(self.ports), _OLD_KEYS[kind]
        if ruleset:
            self.use("$Input...BindRuleset")
            yield f"$Input{key}BindRuleset {ruleset}"
        elif self.rulesets:
            yield f"$Input{key}BindRuleset RSYSLOG_DefaultRuleset"
        if kind == "imudp" and self.chance(0.5):
            yield "$UDPServerAddress 127.0.0.1"
        self._enter(kind, port, ("127.0.0.1",))
        yield f"${'UDPServer' if kind == 'imudp' else f'Input{key}'}Run {port}"

    def file_input(self, ruleset: str) -> Iterator[str]:
        self.load("imfile")
        self.use("input imfile")
        number = next(self.names)
        name = f"in{number}.txt"
        lines = [
            f"n{300 + number * 20 + one:05d} {self.random.choice(WORDS)}\ttail" for one in range(6)
        ]
        self.files[name] = "\n".join(lines) + "\n"
        parts = [f'file="{FILES}/{name}"', f'tag="{self.word("app:", "access", "x-1:")}"']
        parts += ['facility="local3"'] if self.chance(0.5) else []
        parts += ['severity="warning"'] if self.chance(0.5) else []
        parts += ['addMetadata="on"'] if self.chance(0.2) else []
        parts += [f'ruleset="{ruleset}"'] if ruleset else []
        yield f'input(type="imfile" {" ".join(parts)})'
