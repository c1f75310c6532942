"""The scenarios of the drill."""

from __future__ import annotations

from collections.abc import Mapping

from tests.drill.scenario import JSON, Scenario

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


LATE = "slow_output direct_output stands_still slow_workers unreachable sent_again few_workers"
HEALTHY: Mapping[str, Scenario] = {
    "healthy-es": Scenario(es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 9 end"),
    "healthy-forward-legacy": Scenario(
        forward(f"{memory()} {KEEPS}"), "1 send udp 3000 500; 9 end", inputs="udp", stats=LEGACY
    ),
    "healthy-file-direct-resets": Scenario(file(), "1 send tcp 3000 500; 9 end", stats=RESETS),
    "healthy-pipe-cee": Scenario(pipe(memory()), "1 send tcp 1500 300; 9 end", stats=CEE),
    "healthy-relp-both-ways": Scenario(
        relp(f"{memory()} {KEEPS}"), "1 send relp 1500 300; 9 end", inputs="relp"
    ),
    "healthy-imfile": Scenario(
        es(f"{disk(5000)} {KEEPS}"), "1 send file 2000 400 hosts=5; 9 end", inputs="file",
        stats=LEGACY_RESETS,
    ),
    "healthy-socket-dynafile": Scenario(
        'template(name="path" type="string" string="{folder}/to-file/of-%$.which%")\n'
        'set $.which = re_extract($msg, "seq=[0-9]*([0-9]);", 0, 1, "none");\n'
        'action(name="file" type="omfile" dynaFile="path" template="line" dynaFileCacheSize="20")\n'
        "# {file}\n",
        "1 send unix 2000 400; 9 end", inputs="unix", of_input='rateLimit.interval="0"',
    ),
    "healthy-restart": Scenario(
        es(f"{disk(5000)} {KEEPS} queue.saveOnShutdown=\"on\""),
        "1 send tcp 1500 500; 6 term; 7 start; 8 send tcp 1500 500; 13 end",
    ),
    "healthy-rotated": Scenario(
        file(), "1 send tcp 3000 500; 5 rotate; 10 end", stats=LEGACY
    ),
}  # fmt: skip

LOSSES: Mapping[str, Scenario] = {
    "full-at-once": Scenario(
        es(f"{memory(500, 100, AT_ONCE)} {KEEPS}"),
        "1 send tcp 3000 1000; 2 es slow=1; 10 end",
        must="queue_full", may=LATE,
    ),
    "full-legacy-resets": Scenario(
        prog(memory(300, 16, AT_ONCE)), "0 prog slow=0.02; 1 send tcp 3000 1000; 12 end",
        must="queue_full", may=LATE, stats=LEGACY_RESETS,
    ),
    "before-the-first-round": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 0.1 send tcp 2500 4000; 16 end",
        must="queue_full", may=LATE, stats=JSON.replace('"1"', '"5"', 1),
    ),
    "one-round": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.005; 0.1 send tcp 2500 2000; 9 end",
        must="queue_full", may=LATE, stats=JSON.replace('"1"', '"6"', 1),
    ),
    "direct-forward-no-retries": Scenario(
        forward('action.resumeRetryCount="0"'), "0 tcpout away; 1 send tcp 2000 500; 9 end",
        must="given_up", may="unreachable",
    ),
    "direct-forward-three-retries": Scenario(
        forward('action.resumeRetryCount="3" action.resumeInterval="1"'),
        "0 tcpout away; 1 send tcp 1000 500; 16 end", must="given_up", may=LATE,
    ),
    "direct-es-no-retries": Scenario(
        es('action.resumeRetryCount="0" action.resumeInterval="1"'),
        "0 es away; 1 send tcp 2000 400; 10 end", must="given_up", may=LATE,
    ),
    "relp-gives-up": Scenario(
        relp('action.resumeRetryCount="1" action.resumeInterval="1"'),
        "0 relpout away; 1 send tcp 1000 500; 12 end", must="given_up", may=LATE,
    ),
    "failover-to-file": Scenario(
        es('action.resumeRetryCount="2" action.resumeInterval="1"')
        + file('action.execOnlyWhenPreviousIsSuspended="on"'),
        "1 send tcp 2000 400; 2 es away; 12 end",
        may=f"given_up {LATE}", together=True,
    ),
    "bulks-429": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 3 es status=429*4; 9 end",
        must="refused_bulks",
    ),
    "bulks-400-errorfile": Scenario(
        es(f'{memory()} {KEEPS} errorfile="{{folder}}/work/errors"'),
        "1 send tcp 3000 500; 3 es status=400*4; 9 end", must="refused_bulks",
        never="set errorfile",
    ),
    "items-400": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 3 es items=400*4; 9 end",
        must="refused_bulks",
    ),
    "items-retried-to-nowhere": Scenario(
        es(f'{memory()} {KEEPS} retryfailures="on" retryruleset="again"')
        + 'ruleset(name="again") {{ stop }}\n',
        "1 send tcp 3000 500; 3 es items=400*2; 9 end", must="refused_documents",
    ),
    "imudp-rate-limit": Scenario(
        file(), "1 send udp 3000 500; 10 end", inputs="udp",
        of_input='rateLimit.interval="5" rateLimit.burst="100"', must="rate_limit",
    ),
    "imptcp-rate-limit": Scenario(
        file(), "1 send tcp 3000 500; 10 end",
        of_input='rateLimit.interval="2" rateLimit.burst="300"', must="rate_limit", stats=RESETS,
    ),
    "imuxsock-rate-limit": Scenario(
        file(), "1 send unix 3000 500; 10 end", inputs="unix",
        of_input='rateLimit.interval="5" rateLimit.burst="200"', must="rate_limit",
    ),
    "killed-with-queue": Scenario(
        prog(memory(20_000, 16)),
        "0 prog slow=0.005; 1 send tcp 2000 1000; 5 kill; 6 start; 9 end",
        may=f"restarts killed {LATE}",
    ),
    "three-lives-busier": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 500 500; 3.5 kill; 4 start; 5 send tcp 1500 1000; 8.5 kill; "
        "9 start; 10 send tcp 4000 2000; 15 end",
        must="queue_full", may=f"restarts killed {LATE}", stats=LEGACY,
    ),
    "two-daemons-one-file": Scenario(
        prog(memory(200, 16, AT_ONCE)), "0 prog slow=0.01; 1 send tcp 3000 1000; "
        "1 send udp 1000 250; 10 end",
        other='module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="{udp}")\n'
        + file(), only={"prog": "tcp", "file": "udp"},
        must="queue_full|several_daemons", may=LATE,
    ),
    "disk-full-disk-queue": Scenario(
        forward(
            f'{KEEPS} queue.type="Disk" queue.filename="q" queue.spoolDirectory="{{folder}}/spool" '
            'queue.size="100000" queue.maxFileSize="100k"'
        ),
        "0 tcpout away; 1 send tcp 6000 1000; 12 end", disk="600k", must="disk_full|queue_full",
        may=LATE,
    ),
    "damaged-qi": Scenario(
        forward(
            f'{KEEPS} {disk(1000, 100)} queue.highWatermark="300" queue.lowWatermark="100" '
            'queue.saveOnShutdown="on" queue.maxDiskSpace="100m"'
        ),
        "0 tcpout away; 1 send tcp 2000 1000; 5 term; 5.1 damage q.qi; 5.2 tcpout ok; 5.5 start; "
        "7 send tcp 1000 500; 12 end",
        may=f"on_disk disk_gone {LATE}", must="on_disk|disk_gone",
    ),
    "open-files": Scenario(
        file(), "1 send file 2000 400 hosts=120; 10 end", inputs="file",
        must="open_files", open_files=80,
    ),
}  # fmt: skip

DELAYS: Mapping[str, Scenario] = {
    "slow-program": Scenario(
        prog(memory(20_000, 16)), "0 prog slow=0.01; 1 send tcp 2000 1000; 14 end",
        must="slow_output|stands_still", may=LATE, never="bench --sustain",
    ),
    "slow-mmexternal": Scenario(
        'module(load="mmexternal")\ntemplate(name="t" type="string" string="%msg%\\n")\n'
        'ruleset(name="r" queue.type="LinkedList" queue.size="50000") {{\n'
        'action(name="mm" type="mmexternal" binary="{mm}")\n' + file() + "}}\n",
        "0 mm slow=0.01; 1 send tcp 1500 750; 14 end", of_input='ruleset="r"',
        must="direct_output|slow_workers|stands_still", may=LATE,
    ),
    "engine-away-comes-back": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 2 es away; 7 es ok; 14 end",
        must="unreachable", may=LATE,
    ),
    "engine-hangs": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 3 es hang; 16 end",
        must="stands_still", may=LATE,
    ),
    "direct-engine-away": Scenario(
        es(KEEPS) + file(), "1 send tcp 2000 400; 2 es away; 12 end",
        must="unreachable", may=LATE,
    ),
    "slow-names": Scenario(
        file(), "1 send udp 1500 300 hosts=40; 16 end", inputs="udp", slow_names_ms=300,
        may="slow_names slow_input", never="output without a queue",
    ),
}  # fmt: skip

ROWS: Mapping[str, Scenario] = {**HEALTHY, **LOSSES, **DELAYS}
