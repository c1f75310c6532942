"""The scenarios whose counters tests/diagnose keeps, by the names of those logs; 8.2302 wrote them
as 2,000 events a second came."""

from __future__ import annotations

from collections.abc import Mapping

from tests.drill.parts import FOREVER, KEEPS, LATE, LEGACY, RESETS, es, forward
from tests.drill.scenario import Scenario

MAIN = 'main_queue(queue.type="FixedArray" queue.size="{}" queue.workerThreads="1" {})\n'
ROOM = MAIN.format(50_000, "")


def pool(size: int, batch: int, workers: int, timeout_ms: int = 86_400_000) -> str:
    """A queue in memory with several workers."""
    return (
        f'queue.type="LinkedList" queue.size="{size}" queue.dequeueBatchSize="{batch}" '
        f'queue.workerThreads="{workers}" queue.workerThreadMinimumMessages="{batch}" '
        f'queue.timeoutEnqueue="{timeout_ms}"'
    )


def sent(events: int, rate: int, until: float, faults: str = "") -> str:
    """A course: what is sent over four connections from the third second on."""
    return f"{faults}2 send tcp {events} {rate} hosts=4 pad=180; {until} end"


def course(*parts: str) -> str:
    """Steps in their order."""
    return "; ".join(sorted(parts, key=lambda one: float(one.split()[0])))


HEALTHY_ES = ROOM + es(f"{pool(20_000, 1000, 2)} {KEEPS}")
SLOW = "0 es slow=0.3; "
FLOOD = "2 send tcp 12000 2000 hosts=4 pad=180"
DISK_QUEUE = (
    'queue.type="Disk" queue.filename="es" queue.size="100000" queue.checkpointInterval="1" '
    'queue.dequeueBatchSize="500"'
)
AGAIN = 'ruleset(name="again") {{ stop }}\n'
RETRIES = 'retryfailures="on" retryruleset="again"'

RECORDED: Mapping[str, Scenario] = {
    "healthy": Scenario(HEALTHY_ES, sent(30_000, 2000, 21)),
    "healthy-legacy": Scenario(HEALTHY_ES, sent(12_000, 2000, 12), stats=LEGACY),
    "healthy-reset": Scenario(HEALTHY_ES, sent(12_000, 2000, 12), stats=RESETS),
    "slow-engine": Scenario(
        ROOM + es(f"{pool(2000, 100, 1)} {KEEPS}"), sent(4800, 800, 22, SLOW), may=LATE,
        must="slow_output",
    ),
    "slow-engine-reset": Scenario(
        ROOM + es(f"{pool(2000, 100, 1)} {KEEPS}"), sent(4800, 800, 22, SLOW), may=LATE,
        must="slow_output", stats=RESETS.replace("json", "cee").replace('ng="on"', 'ng="off"'),
    ),
    "queue-full": Scenario(
        ROOM + es(f"{pool(1000, 100, 1, 0)} {KEEPS}"), sent(9000, 1500, 12, SLOW), may=LATE,
        must="queue_full",
    ),
    "enqueue-timeout": Scenario(
        ROOM + es(f"{pool(1000, 100, 1, 100)} {KEEPS}"), sent(6000, 1000, 32, SLOW), may=LATE,
        must="queue_full",
    ),
    "refused-bulks": Scenario(
        HEALTHY_ES, course("4 es status=429*6", FLOOD, "14 end"), must="refused_bulks"
    ),
    "refused-items": Scenario(
        HEALTHY_ES, course("4 es some=400*3", FLOOD, "14 end"), must="refused_bulks"
    ),
    "retried-items": Scenario(
        ROOM + AGAIN + es(f"{pool(20_000, 1000, 2)} {KEEPS} {RETRIES}"),
        course("4 es some=400*3", FLOOD, "14 end"), must="refused_documents",
    ),
    "engine-away": Scenario(
        HEALTHY_ES, course("5 es away", "8 es ok", FLOOD, "18 end"), must="unreachable", may=LATE
    ),
    "engine-away-gives-up": Scenario(
        ROOM + es(pool(20_000, 500, 1)), course("5 es away", "8 es ok", FLOOD, "16 end"),
        must="given_up", may=LATE,
    ),
    "transport-errors": Scenario(
        ROOM + es(pool(20_000, 500, 1)), course("4 es reset*300", FLOOD, "18 end"),
        must="unreachable|given_up", may=LATE,
    ),
    "connection-reset": Scenario(
        HEALTHY_ES, course("4 es reset-after*2", FLOOD, "14 end"), must="unreachable", may=LATE
    ),
    "frozen-engine": Scenario(
        ROOM + es(f"{pool(20_000, 500, 1)} {KEEPS}"), course("4 es hang", FLOOD, "15 end"),
        must="stands_still", may=LATE,
    ),
    "no-action-queue": Scenario(
        MAIN.format(5000, 'queue.dequeueBatchSize="100"') + es(KEEPS),
        sent(7000, 1000, 31, SLOW), must="direct_output", may=f"senders_slowed {LATE}",
    ),
    "burst": Scenario(
        MAIN.format(1000, 'queue.dequeueBatchSize="100"') + es(f"{pool(20_000, 1000, 2)} {KEEPS}"),
        "2 send tcp 3000 60000; 14 end", may="senders_slowed",
    ),
    "to-disk": Scenario(
        ROOM + es(f'{pool(2000, 100, 1, 0)} queue.filename="es" queue.maxDiskSpace="200m" {KEEPS}'),
        sent(8000, 1000, 32, SLOW), must="on_disk", may=f"queue_full {LATE}",
    ),
    "disk-queue": Scenario(
        ROOM + es(f"{DISK_QUEUE} {KEEPS}"), sent(20_000, 4000, 32), may=f"disk_queue {LATE}"
    ),
    "less-severe-discarded": Scenario(
        ROOM + es(
            f'{pool(2000, 100, 1)} queue.discardMark="1000" queue.discardSeverity="4" {KEEPS}'
        ),
        sent(6000, 1000, 20, SLOW), must="less_severe", may=LATE,
    ),
    "dynafile-cache": Scenario(
        'template(name="path" type="string" string="{folder}/to-file/of-%$.which%")\n'
        'set $.which = re_extract($msg, "seq=[0-9]*([0-9]);", 0, 1, "none");\n'
        'action(name="file" type="omfile" dynaFile="path" template="line" dynaFileCacheSize="4")\n'
        "# {file}\n",
        sent(3000, 500, 12), must="dynafiles",
    ),
    "restarts": Scenario(
        HEALTHY_ES,
        course(*(f"{at + 2} send tcp 3000 1500 hosts=4" for at in (0, 8, 16, 24)),
               *(f"{at} term" for at in (7, 15, 23)), *(f"{at}.5 start" for at in (7, 15, 23)),
               "30 end"),
        must="restarts",
    ),
    "in-band": Scenario(
        'if $syslogtag startswith "rsyslogd-pstats" then {{\n'
        '  action(name="stats" type="omfile" file="{log}" template="RSYSLOG_FileFormat")\n'
        "  stop\n}}\n"
        + MAIN.format(500, 'queue.dequeueBatchSize="100" queue.lightDelayMark="0" '
                           'queue.timeoutEnqueue="300"')
        + es(),
        "0 es slow=0.8; 2 send tcp 6000 600 hosts=4; 24 end",
        must="queue_full", may=f"given_up {LATE}",
        stats='format="json" bracketing="on" resetCounters="off" log.syslog="on" severity="7" '
              'interval="1"',
        untold="rounds are among what was discarded",
    ),
    "local-socket-limit": Scenario(
        HEALTHY_ES, "2 send unix 5000 1000; 11 end", inputs="unix",
        of_input='rateLimit.interval="5" rateLimit.burst="500" usePIDFromSystem="on"',
        must="rate_limit",
    ),
    "workers-not-started": Scenario(
        ROOM + es(
            f'queue.type="LinkedList" queue.size="40000" queue.dequeueBatchSize="100" '
            f'queue.workerThreads="4" {FOREVER} {KEEPS}'
        ),
        sent(6000, 1000, 24, SLOW), must="slow_output", may=LATE,
    ),
    "rebinds": Scenario(
        ROOM + es(f'{pool(20_000, 100, 2)} {KEEPS} rebindinterval="5"'), sent(16_000, 2000, 14),
        must="rebinds",
    ),
    "forward-away": Scenario(
        HEALTHY_ES + forward(f"{pool(50_000, 100, 1)} {KEEPS}"),
        "0 tcpout away; 2 send tcp 9000 1500 hosts=4; 14 end", must="stands_still", may=LATE,
    ),
}  # fmt: skip

LONG: Mapping[str, Scenario] = {
    "healthy-durable": Scenario(
        ROOM + AGAIN + es(f'{pool(20_000, 500, 2)} queue.filename="es" {KEEPS} {RETRIES}'),
        sent(75_000, 500, 156), stats='interval="5" format="json-elasticsearch" log.syslog="off"',
    ),
    # rsyslogd's counters of 10 minutes, every 10 s, as in production.
    "healthy-ten-minutes": Scenario(
        HEALTHY_ES, sent(1_200_000, 2000, 624),
        stats='interval="10" format="json" bracketing="on" resetCounters="off" log.syslog="off"',
    ),
}  # fmt: skip
