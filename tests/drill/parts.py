"""What configurations of the drill are made of: actions, queues, counters."""

from __future__ import annotations

JSON = 'interval="1" format="json" resetCounters="off" log.syslog="off"'
FOREVER = 'queue.timeoutEnqueue="86400000"'
AT_ONCE = 'queue.timeoutEnqueue="0"'
KEEPS = 'action.resumeRetryCount="-1" action.resumeInterval="1"'
LEGACY = 'interval="1" format="legacy" resetCounters="off" log.syslog="off"'
RESETS = 'interval="1" format="json" resetCounters="on" bracketing="on" log.syslog="off"'
CEE = 'interval="1" format="cee" resetCounters="off" bracketing="on" log.syslog="off"'
LEGACY_RESETS = 'interval="2" format="legacy" resetCounters="on" log.syslog="off"'


def es(more: str = "", name: str = "es", to: str = "es") -> str:
    """Into an engine."""
    return (
        f'action(name="{name}" type="omelasticsearch" server="127.0.0.1" serverport="{{{to}}}" '
        f'bulkmode="on" searchType="" searchIndex="syslog" template="doc" {more})\n'
    )


def forward(more: str = "", name: str = "tcpout", protocol: str = "tcp") -> str:
    """To a server over TCP or UDP."""
    return (
        f'action(name="{name}" type="omfwd" target="127.0.0.1" port="{{{name}}}" '
        f'protocol="{protocol}" {more})\n'
    )


def relp(more: str = "") -> str:
    """To a RELP server."""
    return (
        'action(name="relpout" type="omrelp" target="127.0.0.1" port="{relpout}" '
        f'timeout="5" {more})\n'
    )


def file(more: str = "", name: str = "file") -> str:
    """Into a file."""
    return f'action(name="{name}" type="omfile" file="{{{name}}}" template="line" {more})\n'


def prog(more: str = "", name: str = "prog") -> str:
    """Into a program that confirms each event."""
    return pipe(f'confirmMessages="on" {more}', name)


def pipe(more: str = "", name: str = "pipe") -> str:
    """Into a program, as fast as its pipe takes them."""
    return f'action(name="{name}" type="omprog" binary="{{{name}}}" template="line" {more})\n'


def memory(
    size: int = 20_000, batch: int = 500, more: str = FOREVER, kind: str = "LinkedList"
) -> str:
    """A queue in memory."""
    return f'queue.type="{kind}" queue.size="{size}" queue.dequeueBatchSize="{batch}" {more}'


def disk(size: int = 2000, batch: int = 100, more: str = "", name: str = "q") -> str:
    """A disk-assisted queue."""
    return f'{memory(size, batch, "")} queue.filename="{name}" {more}'


LATE = (
    "slow_output direct_output stands_still slow_workers unreachable sent_again few_workers backlog"
)
