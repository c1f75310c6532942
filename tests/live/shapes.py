"""The shapes of a pipeline into an engine, as configurations whose ports and folders a `Site` of
tests/live/outage.py fills in."""

from __future__ import annotations

from collections.abc import Mapping

_HEAD = """\
global(workDirectory="@DIR@/spool")
module(load="im{transport}")
module(load="omelasticsearch")
main_queue(queue.type="LinkedList" queue.size="2000" queue.workerThreads="1"
           queue.dequeueBatchSize="128" queue.timeoutEnqueue="2000")
template(name="doc" type="list") {{
    constant(value="{{\\"message\\":\\"") property(name="msg" format="json") constant(value="\\"}}")
}}
"""
_INPUT = 'input(type="im{transport}" address="127.0.0.1" port="@IN@"{ruleset})\n'
_LOCAL = 'action(name="local" type="omfile" file="@DIR@/local")\n'
_STANDS_IN = 'action.execOnlyWhenPreviousIsSuspended="on"'
_FALLBACK = f'action(name="fallback" type="omfile" file="@DIR@/fallback" {_STANDS_IN})\n'
_MEMORY = 'queue.type="LinkedList"'
_ASSISTED = f'{_MEMORY} queue.filename="es" queue.saveOnShutdown="on"'
# So that a batch is full although events come one by one.
_FULL_BATCHES = 'queue.minDequeueBatchSize="128" queue.minDequeueBatchSize.timeout="5000"'
_RULESET = ' ruleset="in"'


def _engine(more: str = "", name: str = "es", port: str = "ES") -> str:
    return (
        f'action(name="{name}" type="omelasticsearch" server="127.0.0.1" serverport="@{port}@" '
        f'template="doc" searchIndex="logs" searchType="" bulkmode="on" '
        f'action.resumeInterval="1" {more})\n'
    )


def _forward(port: str, more: str = "") -> str:
    return (
        f'action(name="forward{port.lower()}" type="omfwd" target="127.0.0.1" port="@{port}@" '
        f'protocol="tcp" action.resumeInterval="1" {more})\n'
    )


_OLD_FAILOVER = """\
*.* action(type="omelasticsearch" server="127.0.0.1" serverport="@ES@" template="doc"
           searchIndex="logs" searchType="" bulkmode="on" action.resumeInterval="1")
$ActionExecOnlyWhenPreviousIsSuspended on
& @DIR@/fallback
$ActionExecOnlyWhenPreviousIsSuspended off
"""


def _in_ruleset(body: str, queue: str = "") -> tuple[str, str]:
    return f'ruleset(name="in" {queue}) {{\n{body}}}\n', _RULESET


_CALLED = (
    f'ruleset(name="to-es" {_MEMORY} queue.size="2000") {{\n{_engine()}}}\n{_LOCAL}call to-es\n'
)
_COUNTED = 'action.resumeRetryCount="2"'

_SHAPES: Mapping[str, tuple[str, str]] = {
    "Direct": (_engine(), ""),
    "Direct, a file beside": (_engine() + _LOCAL, ""),
    "memory": (_engine(_MEMORY), ""),
    "memory, a file beside": (_engine(_MEMORY) + _LOCAL, ""),
    "memory that discards, a file beside": (
        _engine(f'{_MEMORY} queue.timeoutEnqueue="0" action.resumeRetryCount="-1"') + _LOCAL,
        "",
    ),
    "disk, a file beside": (
        _engine('queue.type="Disk" queue.filename="es"') + _LOCAL,
        "",
    ),
    "disk-assisted of 1000, a file beside": (
        _engine(f'{_ASSISTED} {_FULL_BATCHES} action.resumeRetryCount="-1"') + _LOCAL,
        "",
    ),
    "disk-assisted of 10000, a file beside": (
        _engine(f'{_ASSISTED} queue.size="10000" action.resumeRetryCount="-1"') + _LOCAL,
        "",
    ),
    "failover to a file": (_engine(_COUNTED) + _FALLBACK, ""),
    "failover to a file, old form": (_OLD_FAILOVER, ""),
    "failover to a file, in a block": (
        f'if $msg contains "seq" then {{\n{_engine(_COUNTED)}}}\n{_FALLBACK}',
        "",
    ),
    "failover to a file, a queue on the first": (_engine(f"{_MEMORY} {_COUNTED}") + _FALLBACK, ""),
    "failover to a forwarder": (_engine(_COUNTED) + _forward("FWD", _STANDS_IN), ""),
    "failover to an engine": (_engine(_COUNTED) + _engine(_STANDS_IN, "es2", "ES2"), ""),
    "failover by a forwarder that is away to a file": (
        _engine(_COUNTED) + _forward("NOBODY", _STANDS_IN) + _FALLBACK,
        "",
    ),
    "failover to a file, in a ruleset with a queue": _in_ruleset(
        _engine(_COUNTED) + _FALLBACK, f'{_MEMORY} queue.size="2000"'
    ),
    "a ruleset without a queue, a file beside": _in_ruleset(_engine() + _LOCAL),
    "a ruleset with a queue, a file beside": _in_ruleset(
        _engine() + _LOCAL, f'{_MEMORY} queue.size="2000"'
    ),
    "a ruleset with a queue that is called, a file before it": (_CALLED, ""),
    "two engines, one up": (_engine() + _engine(name="es2", port="NEXT"), ""),
    "disk-assisted main queue, a file beside": (
        _engine() + _LOCAL,
        "main",
    ),
}
SHAPES = tuple(_SHAPES)
"""What there is."""


def configuration(shape: str, *, udp: bool) -> str:
    """The configuration of a shape whose events come over TCP or UDP."""
    body, more = _SHAPES[shape]
    transport, ruleset = ("udp" if udp else "tcp"), more if more.startswith(" ") else ""
    head = _HEAD.format(transport=transport)
    if more == "main":
        head = head.replace('queue.size="2000"', 'queue.size="2000" queue.filename="main"')
    return head + body + _INPUT.format(transport=transport, ruleset=ruleset)
