"""`advise --upgrade`, as a user meets it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.here import here
from tuner.engines.release import NEWEST_READ

NEWEST = f"8.{NEWEST_READ}"
CONF = """\
module(load="imtcp")
module(load="omelasticsearch")
input(type="imtcp" port="514" maxFrameSize="0")
action(type="omelasticsearch" name="es" server="es1" bulkmode="on"
       queue.type="LinkedList" queue.filename="es" queue.spoolDirectory="/var/spool/rsyslog")
"""


@pytest.fixture
def conf(tmp_path: Path) -> Path:
    path = tmp_path / "rsyslog.conf"
    path.write_text(CONF)
    return path


def test_what_breaks_comes_first_and_exits_with_2(conf: Path) -> None:
    done = here("advise", "--conf", conf, "--upgrade", f"rsyslog=8.2302..{NEWEST}")
    assert done.code == 2
    breaks, looked, meets = (
        done.out.index(title)
        for title in (
            "Breaks: to be mended",
            "To be looked at before",
            "Known faults that it leaves",
        )
    )
    assert breaks < looked < meets
    assert 'rsyslog.conf:3:1: maxFrameSize="0" is an error' in done.out[breaks:looked]
    assert "rsyslog-tune: 1 thing breaks" in done.err


def test_without_what_breaks_the_code_is_0(conf: Path) -> None:
    conf.write_text(
        CONF.replace(' maxFrameSize="0"', "").replace("bulkmode", 'searchType="" bulkmode')
    )
    done = here("advise", "--conf", conf, "--upgrade", f"rsyslog=8.2302..{NEWEST}")
    assert done.code == 0, done.err
    assert "Breaks" not in done.out
    assert "source    " in done.out


def test_an_engine_without_types_breaks_an_action_that_sends_one(conf: Path) -> None:
    done = here("advise", "--conf", conf, "--upgrade", "elasticsearch=7.17..8.19")
    assert done.code == 2
    assert "sends _type, and elasticsearch 8 refuses every bulk" in done.out
    newer = ("--upgrade", f"rsyslog=8.2302..{NEWEST}")
    both = here("advise", "--conf", conf, "--upgrade", "elasticsearch=7.17..8.19", *newer)
    assert "sends _type" not in both.out, "the newer rsyslog sends none"


def test_as_json_each_step_has_its_source(conf: Path) -> None:
    words = ("--upgrade", f"rsyslog=8.2302..{NEWEST}", "--output", "json")
    data = json.loads(here("advise", "--conf", conf, *words).out)
    assert data["kind"] == "upgrade"
    assert data["upgrades"] == [f"rsyslog 8.2302 to {NEWEST}"]
    assert all(step["source"] and step["what"] for step in data["steps"])
    assert any(step["no_way_back"] for step in data["steps"]), "segmented disk queues"
    assert data["compared"] is None


def test_advice_names_the_known_faults_of_the_release(conf: Path) -> None:
    done = here("advise", "--conf", conf)
    assert done.code == 0, done.err
    assert "Known faults of rsyslog 8." in done.out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--upgrade", "rsyslog"), "write --upgrade rsyslog=8.2610"),
        (("--upgrade", "syslog-ng=4.0"), "write --upgrade rsyslog=8.2610"),
        (("--upgrade", "rsyslog=8.2302..8.2102"), "is not newer than 8.2302"),
        (("--upgrade", "opensearch=3.2"), "write opensearch=OLD..3.2"),
        (("--new-rsyslogd", "/usr/sbin/rsyslogd"), "--new-elasticsearch need --upgrade"),
        (("--upgrade", "rsyslog=8.9999"), "releases up to 8."),
        (("--upgrade", "opensearch=1.3..9.5"), "releases up to 3."),
        (("--upgrade", f"rsyslog={NEWEST}", "--new-elasticsearch", "http://x"), "name a profile"),
        (("--upgrade", f"rsyslog={NEWEST}", "--new-rsyslogd", "/none"), "--new-rsyslogd /none"),
        (("--upgrade", f"rsyslog={NEWEST}", "--write", "x"), "--write: not with --upgrade"),
    ],
)
def test_wrong_input_gets_one_message(conf: Path, words: tuple[str, ...], said: str) -> None:
    done = here("advise", "--conf", conf, *words)
    assert done.code == 64
    assert said in done.err
