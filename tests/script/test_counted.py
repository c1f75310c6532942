"""What rsyslogd's counters and threads call actions and queues, above all those without a name."""

from __future__ import annotations

import shutil
import tempfile
import time
from pathlib import Path

import pytest

from tests.lab.test_copy import fitted
from tests.profile.test_base import loaded
from tuner.diagnose.settings import of_base
from tuner.host.process import wait_until
from tuner.host.programs import rsyslog_version
from tuner.lab.entrances import TcpPort, free_port
from tuner.lab.rsyslogd import Rsyslogd, impstats_section
from tuner.lab.rsyslogd import read as rounds
from tuner.lab.scratch import scratch, subfolder
from tuner.measure.stages import counted_queues
from tuner.script.configuration import configuration
from tuner.script.counted import UNCOUNTED_SINCE, queue_of_action, worker_thread
from tuner.script.objects import Base, base_of
from tuner.script.printing import printed

OFF = 'config.enabled="off"'
INPUT = 'module(load="imtcp")\ninput(type="imtcp" port="{port}" address="127.0.0.1")\n'
# Every form that an action can have, and what has a number without an action.
FORMS = """module(load="omelasticsearch")
*.* {folder}/0
& {folder}/1
& ~
$IncludeConfig {includes}/included.conf
*.* {{ action(type="omfile" file="{folder}/2") stop }}
include(file="{includes}/included.conf")
include(file="{includes}/included.conf" {off})
include(text="action(type=\\"omfile\\" file=\\"{folder}/3\\")")
:msg, contains, "foo" ~
$RuleSet legacy
*.* {folder}/4
$RuleSet RSYSLOG_DefaultRuleset
ruleset(name="Own_Queue" queue.type="LinkedList") {{
  action(type="omfile" file="{folder}/5" queue.type="LinkedList")
  if $msg contains "y" then {{ call legacy }}
  action(type="omelasticsearch" server="127.0.0.1" serverport="9" queue.type="LinkedList")
}}
ruleset(name="off" {off}) {{ action(type="omfile" file="{folder}/6") }}
$ActionName old.Named
*.* -{folder}/7
$ActionQueueType LinkedList
*.* {folder}/8;RSYSLOG_SyslogProtocol23Format
action(type="OMFWD" target="127.0.0.1" port="9" protocol="udp")
if $msg contains "q" then {{ {folder}/9
& @127.0.0.1
}}
*.* ?RSYSLOG_DebugFormat
*.* :omusrmsg:nobody-of-that-name
*.* ^/bin/true;RSYSLOG_DebugFormat
action(name="Its:Own_Name" type="omfile" file="{folder}/10")
action(type="omfile" file="{folder}/11")
"""
INCLUDED = """action(type="omfile" file="{folder}/12")
if $msg contains "x" then {{ action(type="omfile" file="{folder}/13" {off}) }} else {{
{folder}/14
}}
"""


def base(folder: Path, text: str) -> Base:
    (folder / "rsyslog.conf").write_text(text, encoding="utf-8")
    return base_of(configuration(folder / "rsyslog.conf"))


@pytest.mark.live
@pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed")
def test_every_action_is_called_as_a_real_rsyslogd_counts_it() -> None:
    port = free_port()
    with scratch(Path(tempfile.gettempdir())) as folder:
        run = subfolder(folder, "run")
        stats = run / "stats"
        places = {"port": port, "folder": run, "includes": folder, "off": OFF}
        (folder / "included.conf").write_text(INCLUDED.format(**places), "utf-8")
        text = (INPUT + FORMS).format(**places)
        rsyslogd = Rsyslogd(text + impstats_section(stats), run, [TcpPort(port)])
        try:
            began_s = time.time()
            assert wait_until(lambda: any(one.at > began_s - 1 for one in rounds(stats)), 5.0)
        finally:
            rsyslogd.stop()
        last = rounds(stats)[-1]
        made = base(folder, text)
    is_new = int(rsyslog_version().partition(".")[2][:4]) >= UNCOUNTED_SINCE
    live = [made.counted[one.origin] for _, one in made.of_kind("action")]
    assert len(live) == 19
    assert {name.since if is_new else name.before for name in live} <= last.actions.keys()
    assert len(last.queues.keys() & {"main Q", "Own_Queue"}) == 2


def test_names_that_may_be_another_s_are_nobody_s(tmp_path: Path) -> None:
    """Since 8.2608 what is switched off has no number: which name is whose depends on that."""
    write = 'action(type="omfile" file="/var/log/{}'
    made = base(tmp_path, "".join(f"{write.format(one)})\n" for one in (f'a" {OFF}', 'b"', 'c"')))
    names = [f"action-{number}-builtin:omfile" for number in range(3)]
    assert list(of_base(made, UNCOUNTED_SINCE).outputs) == names[:2]
    assert list(of_base(made, 2302).outputs) == [names[0], names[2]]


ENGINE = 'action({}type="omelasticsearch" queue.type="LinkedList")\n'
SHAPES = {
    "without a name": ("", "action-1-omelasticsearch"),
    "with a name": ('name="es" ', "es"),
    "with capitals and signs": ('name="Send.to:ES" ', "Send.to:ES"),
}


@pytest.mark.parametrize("shape", SHAPES)
def test_a_lab_counts_by_the_names_of_the_host(shape: str, tmp_path: Path) -> None:
    """Also behind an action that a lab leaves out."""
    written, name = SHAPES[shape]
    conf = (
        'input(type="imtcp" port="514" ruleset="Fast")\nruleset(name="Fast" queue.type="Disk" '
        f'queue.filename="q") {{ action(type="omprog" binary="/bin/true")\n'
        f"{ENGINE.format(written)}}}\n"
    )
    profile = loaded(tmp_path, "", conf).profile
    assert [one.names for one in counted_queues(profile)] == [("Fast",), (queue_of_action(name),)]
    assert f'name="{name}"' in printed(fitted(tmp_path, conf).block)


def test_threads_with_one_name_are_told_apart_in_a_lab(tmp_path: Path) -> None:
    text = "".join(ENGINE.format(f'name="elasticsearch-{name}" ') for name in ("hot", "cold"))
    names = base(tmp_path, text).distinct_names.values()
    assert list(names) == ["1.elasticsearch-hot", "2.elasticsearch-cold"]
    assert len({worker_thread(queue_of_action(one)) for one in names}) == 2
