"""The scenarios of the drill."""

from __future__ import annotations

from collections.abc import Mapping

from tests.drill.parts import (
    AT_ONCE,
    CEE,
    FOREVER,
    JSON,
    KEEPS,
    LATE,
    LEGACY,
    LEGACY_RESETS,
    RESETS,
    disk,
    es,
    file,
    forward,
    memory,
    pipe,
    prog,
    relp,
)
from tests.drill.recorded import RECORDED
from tests.drill.scenario import Scenario

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
        untold="what the first one had when it failed",
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
        may=f"restarts left_in_memory {LATE}",
    ),
    "three-lives-busier": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 500 500; 3.5 kill; 4 start; 5 send tcp 1500 1000; 8.5 kill; "
        "9 start; 10 send tcp 4000 2000; 15 end",
        must="queue_full", may=f"restarts left_in_memory {LATE}", stats=LEGACY,
    ),
    "two-daemons-one-file": Scenario(
        prog(memory(200, 16, AT_ONCE)), "0 prog slow=0.01; 1 send tcp 3000 1000; "
        "1 send udp 1000 250; 10 end",
        other='module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="{udp}")\n'
        + file(), only={"prog": "tcp", "file": "udp"},
        must="queue_full", may=LATE,
    ),
    "disk-full-disk-queue": Scenario(
        forward(
            f'{KEEPS} queue.type="Disk" queue.filename="q" queue.spoolDirectory="{{folder}}/spool" '
            'queue.size="100000" queue.maxFileSize="100k"'
        ),
        "0 tcpout away; 1 send tcp 6000 1000; 12 end", disk="600k", must="not_written|queue_full",
        may=LATE,
    ),
    "damaged-qi": Scenario(
        forward(
            f'{KEEPS} {disk(1000, 100)} queue.highWatermark="300" queue.lowWatermark="100" '
            'queue.saveOnShutdown="on" queue.maxDiskSpace="100m"'
        ),
        "0 tcpout away; 1 send tcp 2000 1000; 5 term; 5.1 damage q.qi; 5.2 tcpout ok; 5.5 start; "
        "7 send tcp 1000 500; 12 end",
        may=f"on_disk left_in_files {LATE}", must="on_disk|left_in_files",
    ),
    "open-files": Scenario(
        file(), "3 send file 2000 400 hosts=120; 11 end", inputs="file",
        must="open_files", may="given_up unreachable",
        open_files=80, untold="omfile and imfile count no file that could not be opened",
    ),
}  # fmt: skip

DELAYS: Mapping[str, Scenario] = {
    "slow-program": Scenario(
        prog(memory(20_000, 16)), "0 prog slow=0.01; 1 send tcp 2000 333; 16 end",
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
        file().replace("line", "named"), "1 send udp 1500 300 hosts=40; 16 end", inputs="udp",
        slow_names_ms=300,
        may="slow_names", never="output without a queue",
    ),
}  # fmt: skip

IN_BAND = 'interval="1" format="json" resetCounters="off" log.syslog="on" severity="7"'
TO_LOG = (
    'if $syslogtag startswith "rsyslogd-pstats" then {{\n'
    'action(name="stats" type="omfile" file="{log}" template="RSYSLOG_FileFormat")\nstop\n}}\n'
)
UDP = 'module(load="imudp")\ninput(type="imudp" address="127.0.0.1" port="{udp}")\n'
DA = f'queue.highWatermark="300" queue.lowWatermark="100" {KEEPS}'
BY_LAST_DIGIT = (
    'template(name="path" type="string" string="{folder}/to-file/of-%$.which%")\n# {file}\n'
    'set $.which = re_extract($msg, "seq=[0-9]*([0-9][0-9]);", 0, 1, "none");\n'
)

MORE_HEALTHY: Mapping[str, Scenario] = {
    "healthy-in-band": Scenario(
        TO_LOG + file(memory()), "1 send tcp 3000 500; 10 end", stats=IN_BAND
    ),
    "healthy-two-hosts": Scenario(
        TO_LOG + file(), "1 send tcp 2000 400; 1 send udp 1000 200; 10 end", stats=IN_BAND,
        other=UDP + TO_LOG + file(name="file2"), has_hosts=True,
        only={"file": "tcp", "file2": "udp"},
    ),
    "healthy-three-outputs": Scenario(
        es(f"{memory()} {KEEPS}") + forward(f"{memory()} {KEEPS}") + file(),
        "1 send tcp 2000 400; 9 end", stats=CEE,
    ),
    "healthy-ruleset-queue": Scenario(
        f'ruleset(name="r" {memory(5000)}) {{{{\n{file()}}}}}\n', "1 send udp 2000 400; 9 end",
        inputs="udp", of_input='ruleset="r"', stats=LEGACY,
    ),
    "healthy-every-5-s": Scenario(
        prog(f"{memory()}"), "1 send tcp 3000 500; 21 end", stats=JSON.replace('"1"', '"5"', 1)
    ),
    "healthy-one-round": Scenario(
        file(), "1 send tcp 2000 500; 9 end", stats=JSON.replace('"1"', '"6"', 1)
    ),
    "healthy-clock-back": Scenario(
        file(), "1 send tcp 3000 500; 5 clock -40; 11 end", stats=JSON
    ),
    "healthy-clock-forward": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 5 clock 3600; 11 end", stats=LEGACY
    ),
    "healthy-restart-resets": Scenario(
        file(), "1 send tcp 1500 500; 6 term; 7 start; 8 send tcp 1500 500; 13 end", stats=RESETS
    ),
    "healthy-failover-not-used": Scenario(
        es('action.resumeRetryCount="2"')
        + file('action.execOnlyWhenPreviousIsSuspended="on"'),
        "1 send tcp 2000 400; 9 end", together=True,
    ),
    "healthy-burst-into-disk-assisted": Scenario(
        es(f"{disk(20_000, 500)} {KEEPS}"), "1 send tcp 4000 8000; 9 end"
    ),
    "healthy-read-late": Scenario(
        file(memory()), "0 send file 3000 3000; 3 start; 10 end", inputs="file"
    ),
    "healthy-socket-two-rotations": Scenario(
        forward(f"{memory()} {KEEPS}"), "1 send unix 3000 500; 4 rotate; 9 end", inputs="unix",
        of_input='rateLimit.interval="0"', stats=RESETS,
    ),
}  # fmt: skip

MORE_LOSSES: Mapping[str, Scenario] = {
    "full-ruleset-queue": Scenario(
        f'ruleset(name="r" {memory(300, 16, AT_ONCE)}) {{{{\n{prog()}}}}}\n',
        "0 prog slow=0.01; 1 send udp 2000 500; 10 end", inputs="udp", of_input='ruleset="r"',
        must="queue_full", may=LATE,
    ),
    "full-main-queue": Scenario(
        f"main_queue({memory(300, 16, AT_ONCE)})\n{prog()}",
        "0 prog slow=0.01; 1 send udp 2000 500; 10 end", inputs="udp",
        must="queue_full", may=LATE, stats=CEE,
    ),
    "full-after-200-ms": Scenario(
        es(memory(300, 50, f'queue.timeoutEnqueue="200" {KEEPS}')),
        "1 send tcp 2000 1000; 2 es slow=0.5; 14 end", must="queue_full", may=LATE, stats=LEGACY,
    ),
    "full-long-ago": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.005; 1 send tcp 1500 1500; 4 rotate; 6 send tcp 1500 1500; 12 end",
        must="queue_full", may=LATE, stats=LEGACY,
    ),
    "by-severity": Scenario(
        prog(memory(2000, 16, f'{FOREVER} queue.discardMark="500" queue.discardSeverity="7"')),
        "0 prog slow=0.005; 1 send tcp 3000 1500 severity=7; 12 end", must="less_severe", may=LATE,
    ),
    "by-severity-resets": Scenario(
        prog(memory(1000, 16, f'{FOREVER} queue.discardMark="300" queue.discardSeverity="6"')),
        "0 prog slow=0.005; 2 send tcp 2000 1000; 12 end", must="less_severe", may=LATE,
        stats=RESETS,
    ),
    "limit-before-the-first-round": Scenario(
        file(), "0.1 send unix 2000 3000; 12 end", inputs="unix",
        of_input='rateLimit.interval="10" rateLimit.burst="200"', must="rate_limit",
        stats=JSON.replace('"1"', '"4"', 1),
    ),
    "stopped-with-queue": Scenario(
        prog(memory(20_000, 16)),
        "0 prog slow=0.005; 1 send tcp 2000 1000; 5 term; 6 start; 9 end",
        may=f"restarts left_in_memory {LATE}", stats=RESETS,
    ),
    "killed-main-queue": Scenario(
        f"main_queue({memory(20_000, 16)})\n{prog()}",
        "0 prog slow=0.005; 1 send udp 2000 1000; 5 kill; 6 start; 9 end", inputs="udp",
        may=f"restarts left_in_memory {LATE}", stats=LEGACY,
    ),
    "killed-twice-resets": Scenario(
        prog(memory(20_000, 16)),
        "0 prog slow=0.005; 1 send tcp 1500 1000; 4.5 kill; 5 start; 6 send tcp 1500 1000; "
        "9.5 kill; 10 start; 13 end",
        may=f"restarts left_in_memory {LATE}", stats=RESETS,
    ),
    "killed-disk-assisted": Scenario(
        forward(f"{disk(1000, 100)} {DA}"),
        "0 tcpout away; 1 send tcp 1500 1000; 6 kill; 6.5 tcpout ok; 7 start; 12 end",
        may=f"restarts left_in_memory on_disk left_in_files {LATE}",
    ),
    "killed-and-no-more": Scenario(
        prog(memory(20_000, 16)), "0 prog slow=0.005; 1 send tcp 2000 1000; 6 kill; 7 end",
        may=LATE, untold="nothing in a log shows how it ended",
    ),
    "disk-full-disk-assisted": Scenario(
        forward(f'{disk(1000, 100)} {DA} queue.spoolDirectory="{{folder}}/spool"'),
        "0 tcpout away; 1 send tcp 6000 1000; 13 end", disk="400k", must="not_written|queue_full",
        may=f"on_disk {LATE}",
    ),
    "disk-full-resets": Scenario(
        es(
            f'{KEEPS} queue.type="Disk" queue.filename="q" queue.spoolDirectory="{{folder}}/spool" '
            'queue.size="100000"'
        ),
        "0 es away; 1 send tcp 5000 1000; 12 end", disk="300k", must="not_written|queue_full",
        may=LATE, stats=RESETS,
    ),
    "disk-limit": Scenario(
        forward(
            f'{KEEPS} queue.type="Disk" queue.filename="q" queue.size="100000" '
            f'queue.maxFileSize="50k" queue.maxDiskSpace="200k" {AT_ONCE}'
        ),
        "0 tcpout away; 1 send tcp 3000 1000; 10 end", must="queue_full", may=LATE,
    ),
    "damaged-files": Scenario(
        forward(f'{disk(1000, 100)} {DA} queue.saveOnShutdown="on"'),
        "0 tcpout away; 1 send tcp 1500 1000; 5 term; 5.1 remove q.0*; 5.2 tcpout ok; 5.5 start; "
        "7 send tcp 1000 500; 12 end",
        may=f"restarts on_disk left_in_files {LATE}", stats=LEGACY,
        untold="what it held may have gone out before the first round after the start",
    ),
    "two-daemons-both-lose": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 0 prog2 slow=0.005; 1 send tcp 2000 800; 1 send udp 2000 800; 10 end",
        other=UDP + prog(memory(150, 16, AT_ONCE), name="prog2"),
        only={"prog": "tcp", "prog2": "udp"}, must="queue_full", may=LATE,
    ),
    "two-daemons-same-names": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 2000 800; 4 send udp 500 250; 10 end", stats=LEGACY,
        other=UDP + prog(memory()).replace("{prog}", "{prog2}"),
        only={"prog": "tcp", "prog2": "udp"}, must="queue_full", may=LATE,
    ),
    "two-daemons-one-restarts": Scenario(
        file(), "1 send tcp 2000 400; 4 term b; 5 start b; 6 send udp 500 250; 11 end",
        other=UDP + file(name="file2"), only={"file": "tcp", "file2": "udp"},
        stats=LEGACY,
    ),
    "two-hosts-one-loses": Scenario(
        TO_LOG + prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 2000 800; 1 send udp 1000 200; 10 end", stats=IN_BAND,
        other=UDP + TO_LOG + file(), has_hosts=True, only={"prog": "tcp", "file": "udp"},
        must="queue_full", may=LATE,
    ),
    "clock-back-and-full": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 3000 500; 4 clock -40; 11 end", must="queue_full", may=LATE,
    ),
    "clock-back-at-rotation": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 3000 500; 4 rotate; 4.3 clock -60; 11 end",
        must="queue_full", may=LATE, stats=LEGACY,
    ),
    "rotated-and-killed": Scenario(
        prog(memory(200, 16, AT_ONCE)),
        "0 prog slow=0.01; 1 send tcp 1500 500; 3 rotate; 6 kill; 7 start; 8 send tcp 1500 500; "
        "13 end",
        must="queue_full", may=f"restarts left_in_memory {LATE}", stats=LEGACY,
    ),
    "in-band-and-full": Scenario(
        TO_LOG + prog(memory(200, 16, AT_ONCE)), "0 prog slow=0.01; 1 send tcp 2000 500; 11 end",
        must="queue_full", may=LATE, stats=IN_BAND,
    ),
    "open-files-dynafile": Scenario(
        BY_LAST_DIGIT
        + 'action(name="file" type="omfile" dynaFile="path" template="line" '
        'dynaFileCacheSize="200")\n',
        "1 send tcp 3000 500; 10 end", must="open_files", may="given_up unreachable dynafiles",
        untold="omfile counts no file that could not be opened",
        open_files=60,
    ),
    "open-files-connections": Scenario(
        file(), "3 send tcp 2000 400 hosts=60; 11 end", open_files=40, must="open_files",
        may="given_up unreachable",
        untold="what was sent over a connection that rsyslogd could not accept",
    ),
    "udp-to-nobody": Scenario(
        forward(name="udpout", protocol="udp"), "0 udpout away; 1 send tcp 2000 400; 9 end",
        may="unreachable", untold="UDP tells nobody",
    ),
    "forward-reset": Scenario(
        forward(f"{memory()} {KEEPS}"),
        "1 send tcp 3000 500; 3 tcpout away; 5 tcpout ok; 12 end", may=LATE,
        untold="what TCP had taken when the connection broke is lost, and rsyslogd does not know",
    ),
    "relp-refuses": Scenario(
        relp(f"{memory()} {KEEPS}"), "1 send tcp 1500 500; 2 relpout refuse*3; 12 end", may=LATE,
        untold="omrelp takes for sent what the server refuses",
    ),
    "relp-away": Scenario(
        relp(f"{memory()} {KEEPS}"), "0 relpout away; 1 send tcp 1500 150; 12 relpout ok; 16 end",
        must="unreachable|stands_still", may=LATE,
    ),
    "bulks-503-resets": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 2 es status=503*8; 9 end",
        must="refused_bulks", may=LATE, stats=RESETS,
    ),
    "all-bulks-400": Scenario(
        es(f"{memory()} {KEEPS}"), "0 es status=400; 1 send tcp 2000 400; 9 end",
        must="refused_bulks", may=LATE,
    ),
    "some-items-400": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 2 es some=400*10; 9 end",
        must="refused_bulks", stats=CEE,
    ),
    "direct-bulks-429": Scenario(
        es(KEEPS), "1 send tcp 2000 400; 3 es status=429*20; 9 end", must="refused_bulks",
        may=LATE,
    ),
    "items-429-sent-again": Scenario(
        f'ruleset(name="again") {{{{\n{es(KEEPS, name="esagain")}}}}}\n'
        + es(f'{memory()} {KEEPS} retryfailures="on" retryruleset="again"'),
        "1 send tcp 2000 400; 3 es items=429*1; 10 end",
        must="refused_documents", may="sent_again",
    ),
    "engine-gives-up-with-queue": Scenario(
        es(f'{memory(20_000, 100)} action.resumeRetryCount="1" action.resumeInterval="1"'),
        "1 send tcp 3000 500; 2 es away; 14 end", must="given_up", may=LATE,
    ),
    "engine-resets": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 3 es reset*5; 12 end", may=LATE,
    ),
    "engine-stores-and-resets": Scenario(
        es(f"{memory()} {KEEPS}"), "1 send tcp 3000 500; 3 es reset-after*5; 12 end", may=LATE,
    ),
    "failover-to-forward": Scenario(
        relp('action.resumeRetryCount="0" action.resumeInterval="2"')
        + forward('action.execOnlyWhenPreviousIsSuspended="on"'),
        "1 send tcp 2000 400; 3 relpout away; 11 end", may=f"given_up {LATE}", together=True,
        untold="what the first one had when it failed",
    ),
    "unnamed-forward-gives-up": Scenario(
        'action(type="omfwd" target="127.0.0.1" port="{tcpout}" protocol="tcp" '
        'action.resumeInterval="1")\n',
        "0 tcpout away; 1 send udp 1500 500; 9 end", inputs="udp", must="given_up", may=LATE,
        aliases={"action-0": "tcpout"},
    ),
    "program-dies": Scenario(
        pipe(f"{memory()} {KEEPS}"), "1 send tcp 1500 500; 2.5 pipe die; 3 pipe ok; 10 end",
        may=LATE, untold="what stood in the pipe when the program died",
    ),
}  # fmt: skip

MORE_DELAYS: Mapping[str, Scenario] = {
    "senders-slowed": Scenario(
        f"main_queue({memory(300, 16, FOREVER)})\n{prog()}",
        "0 prog slow=0.01; 1 send tcp 2000 500; 14 end",
        must="direct_output|slow_workers|senders_slowed|stands_still", may=LATE,
    ),
    "waits-a-long-time": Scenario(
        prog(memory(20_000, 1)), "0 prog slow=0.02; 1 send tcp 1200 200; 20 end",
        must="slow_output|stands_still", may=LATE, stats=LEGACY,
    ),
    "waits-and-goes-on-waiting": Scenario(
        f'ruleset(name="r" {memory(20_000, 4)}) {{{{\n{prog()}}}}}\n',
        "0 prog slow=0.02; 1 send udp 2000 500; 15 end", inputs="udp", of_input='ruleset="r"',
        must="slow_names|slow_workers|direct_output|stands_still", may=LATE, stats=RESETS,
    ),
    "slow-engine-grows": Scenario(
        es(f"{memory(20_000, 50)} {KEEPS}"), "0 es slow=0.5; 1 send tcp 2000 500; 16 end",
        must="slow_output", may=LATE,
    ),
    "slow-direct-engine": Scenario(
        f"main_queue({memory(20_000, 50)})\n" + es(KEEPS) + file(),
        "0 es slow=0.5; 1 send tcp 2000 500; 16 end", must="direct_output", may=LATE, stats=CEE,
    ),
    "slow-relp": Scenario(
        relp(f"{memory(20_000, 10)} {KEEPS}"),
        "0 relpout slow=0.01; 1 send tcp 1500 500; 15 end", must="slow_output", may=LATE,
    ),
    "forward-hangs": Scenario(
        forward(f"{memory()} {KEEPS}"),
        "0 tcpout hang; 1 send tcp 4000 400 pad=3000; 16 end", may=LATE,
        untold="what TCP had taken",
    ),
    "engine-hangs-direct": Scenario(
        es(f'{KEEPS} indextimeout="2000"') + file(),
        "1 send tcp 2000 400; 3 es hang; 15 end", may=LATE, must="unreachable|stands_still",
    ),
    "to-disk-and-back": Scenario(
        es(f"{disk(1000, 100)} {DA}"), "0 es away; 1 send tcp 2000 1000; 5 es ok; 13 end",
        must="on_disk", may=LATE,
    ),
    "to-disk-and-stays": Scenario(
        forward(f"{disk(1000, 100)} {DA}"), "0 tcpout away; 1 send tcp 2000 1000; 12 end",
        must="on_disk", may=LATE, stats=LEGACY_RESETS,
    ),
    "slow-names-of-connections": Scenario(
        file(), "1 send tcp 1500 300 hosts=40; 16 end", slow_names_ms=300,
        may="slow_names", never="output without a queue",
    ),
    "slow-names-and-forward": Scenario(
        forward(f'{memory()} {KEEPS} template="named"'),
        "1 send udp 1500 300 hosts=40; 16 end", inputs="udp", slow_names_ms=300, stats=LEGACY,
        may="slow_names", never="output without a queue",
    ),
    "file-held-up-by-engine": Scenario(
        es(f"{memory(300, 100)} {KEEPS}") + file(), "1 send file 3000 600; 2 es away; 14 end",
        inputs="file", must="unreachable", may=LATE,
    ),
    "wait-for-room": Scenario(
        prog(memory(300, 16)), "0 prog slow=0.01; 1 send tcp 1500 500; 18 end",
        must="slow_output", may=LATE,
    ),
}  # fmt: skip

KEPT = f'{disk(1000, 100)} {DA} queue.saveOnShutdown="on"'
RESTARTS: Mapping[str, Scenario] = {
    "restart-and-all-comes-back": Scenario(
        es(KEPT), "0 es away; 1 send tcp 2000 1000; 5 term; 5.2 es ok; 5.5 start; 12 end",
        untold="the batch that was being sent when it was stopped",
        must="on_disk", may=LATE,
    ),
    "restart-and-the-forwarder-is-back": Scenario(
        forward(KEPT),
        "0 tcpout away; 1 send tcp 2000 1000; 5 term; 5.2 tcpout ok; 5.5 start; 12 end",
        must="on_disk", may=LATE, stats=LEGACY,
    ),
    "restart-and-still-away": Scenario(
        es(KEPT), "0 es away; 1 send tcp 2000 1000; 5 term; 5.5 start; 12 end",
        untold="the batch that was being sent when it was stopped",
        must="on_disk", may=LATE, stats=RESETS,
    ),
    "killed-disk-queue": Scenario(
        forward(f'{KEEPS} queue.type="Disk" queue.filename="q" queue.size="100000" '
            'queue.checkpointInterval="1"'),
        "0 tcpout away; 1 send tcp 1500 500; 6 kill; 6.2 tcpout ok; 6.5 start; 12 end", may=LATE,
    ),
    "killed-while-datagrams-come": Scenario(
        file(), "1 send udp 3000 500; 4 kill; 5 start; 11 end", inputs="udp",
        may="restarts left_in_memory", untold="nobody received what came meanwhile",
    ),
    "stopped-while-datagrams-come": Scenario(
        forward(f"{memory()} {KEEPS}"), "1 send udp 3000 500; 4 term; 5 start; 11 end",
        inputs="udp", may="restarts", stats=RESETS, untold="nobody received what came meanwhile",
    ),
    "four-starts": Scenario(
        file(), "1 send tcp 500 500; 3 term; 4 start; 6 term; 7 start; 9 term; 10 start; "
        "11 send tcp 500 500; 13 end",
        must="restarts", stats=LEGACY,
    ),
}  # fmt: skip

OLD = """$ActionQueueType LinkedList
$ActionQueueSize 300
$ActionQueueTimeoutEnqueue 0
$ActionResumeRetryCount -1
$ActionResumeInterval 1
*.* @@127.0.0.1:{tcpout};line
"""
FEW: Mapping[str, Scenario] = {
    "one-round-gives-up": Scenario(
        forward('action.resumeRetryCount="0"'), "0 tcpout away; 0.2 send tcp 1000 500; 7 end",
        must="given_up", may=LATE, stats=JSON.replace('"1"', '"5"', 1),
    ),
    "one-round-limit": Scenario(
        file(), "0.2 send udp 6000 2000; 8 end", inputs="udp", must="rate_limit",
        of_input='rateLimit.interval="30" rateLimit.burst="200"',
        stats=LEGACY.replace('"1"', '"6"', 1),
    ),
    "one-round-waits": Scenario(
        prog(memory(20_000, 16)), "0 prog slow=0.02; 0.2 send tcp 1500 500; 8 end",
        may=LATE, stats=RESETS.replace('"1"', '"5"', 1),
    ),
    "one-round-refused": Scenario(
        es(f"{memory()} {KEEPS}"), "0 es status=400; 0.2 send tcp 1000 500; 7 end",
        must="refused_bulks", stats=CEE.replace('"1"', '"5"', 1), may=LATE,
    ),
    "old-directives-and-full": Scenario(
        OLD, "0 tcpout away; 1 send tcp 1500 500; 10 end", must="queue_full", may=LATE,
        aliases={"action-0": "tcpout"},
    ),
    "old-directives-healthy": Scenario(OLD, "1 send tcp 1500 300; 9 end", stats=CEE),
    "healthy-imtcp": Scenario(
        'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{tcp}")\n'
        + es(f"{memory()} {KEEPS}"), "1 send tcp 2000 400 hosts=3; 9 end", inputs="",
        stats=LEGACY,
    ),
    "imtcp-limit": Scenario(
        'module(load="imtcp")\ninput(type="imtcp" address="127.0.0.1" port="{tcp}" '
        'rateLimit.interval="5" rateLimit.burst="300")\n' + file(),
        "1 send tcp 3000 500; 10 end", inputs="", must="rate_limit",
    ),
    "limit-and-full": Scenario(
        prog(memory(200, 16, AT_ONCE)), "0 prog slow=0.01; 1 send udp 3000 600; 11 end",
        inputs="udp", of_input='rateLimit.interval="2" rateLimit.burst="400"',
        must="rate_limit", may=f"queue_full {LATE}",
    ),
    "full-and-refused": Scenario(
        es(f"{memory(300, 50, AT_ONCE)} {KEEPS}"),
        "1 send tcp 3000 600; 2 es slow=0.5; 6 es status=429*3; 12 end",
        must="queue_full", may=f"refused_bulks {LATE}",
    ),
    "full-at-two-outputs": Scenario(
        prog(memory(200, 16, AT_ONCE)) + prog(memory(400, 16, AT_ONCE), name="prog2") + file(),
        "0 prog slow=0.01; 0 prog2 slow=0.005; 1 send tcp 2000 500; 10 end",
        must="queue_full", may=LATE, stats=RESETS,
    ),
}  # fmt: skip

ROWS: Mapping[str, Scenario] = {
    **HEALTHY, **MORE_HEALTHY, **LOSSES, **MORE_LOSSES, **DELAYS, **MORE_DELAYS, **RESTARTS,
    **FEW, **RECORDED
}  # fmt: skip
