"""The commands of README.md and docs/ that need daemons, as they are written there; what would take
long, or is somewhere else, is replaced by name."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.flood.receiver import Receiver
from tests.house.pages import Command, commands, profile_block
from tests.live.conftest import tune
from tuner.engine.client import EngineClient
from tuner.profile.edit import edit

pytestmark = [pytest.mark.live, pytest.mark.usefixtures("nothing_left_behind")]

PROFILE = "rsyslog-tune.yaml"
# The shortest of each; the sink needs no Java.
SHORT = {
    "bench": {"--repeat": "1", "--window": "1s", "--engine": "sink", "--output": "json"},
    "compare": {"--pairs": "6", "--window": "0.5s", "--engine": "sink", "--output": "json"},
}
# What only costs time here: tests of its own measure it.
LEFT_OUT = {"bench": ("--no-freshness",), "compare": ("--no-freshness",)}


def of(*names: str) -> list[Command]:
    """The commands of those names, each once however often it is written."""
    found = {one.words: one for one in commands() if one.words[0] in names}
    return list(found.values())


def with_values(words: tuple[str, ...], values: dict[str, str]) -> list[str]:
    """The words with other values of options, which are added where they are not written."""
    changed = list(words)
    for option, value in values.items():
        if option in changed:
            changed[changed.index(option) + 1] = value
        else:
            changed += [option, value]
    return changed


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """README.md's profile with a password that is here, and one that a search could end with."""
    text = profile_block()
    (tmp_path / "es.pwd").write_text("secret", encoding="utf-8")
    text = edit(text, {"outputs[logs].auth.pwd.file": str(tmp_path / "es.pwd")})
    (tmp_path / PROFILE).write_text(text, encoding="utf-8")
    batch = {"outputs[logs].queue.dequeueBatchSize": 1000}
    (tmp_path / "best.yaml").write_text(edit(text, batch), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize("one", of("bench", "compare"), ids=str)
def test_a_measurement_has_a_number_and_every_event(one: Command, folder: Path) -> None:
    words = with_values(one.words, SHORT[one.words[0]])
    done = tune(*words, *LEFT_OUT[one.words[0]], folder=folder)
    # Windows so short may not tell (1), and smaller batches may be slower (7).
    gate = {1, 7} if "--fail-below" in words else set()
    assert done.code in {0} | gate, done.err
    found = json.loads(done.out)
    outcomes = found["outcomes"] if "outcomes" in found else [r["result"] for r in found["runs"]]
    assert outcomes
    for outcome in outcomes:
        assert outcome["eps"] > 0
        assert (outcome["delivery"]["lost"], outcome["delivery"]["duplicated"]) == (0, 0)


@pytest.mark.parametrize("one", of("validate"), ids=str)
def test_rsyslogd_takes_what_a_profile_is_rendered_to(one: Command, folder: Path) -> None:
    """Without the engine of --smoke: tests/live/test_validate_engine.py has one."""
    words = [word for word in one.words if word != "--smoke"]
    (folder / "run").mkdir()
    (folder / "run" / "best.yaml").write_bytes((folder / "best.yaml").read_bytes())
    done = tune(*words, folder=folder)
    assert done.code == 0, done.err
    assert "rsyslogd -N1   ok" in done.out


@pytest.mark.parametrize("one", of("flood"), ids=str)
def test_every_message_of_a_flood_arrives(one: Command, folder: Path) -> None:
    count = int(one.words[one.words.index("--count") + 1])
    with Receiver() as receiver:
        done = tune(*with_values(one.words, {"--port": str(receiver.port)}), folder=folder)
        assert done.code == 0, done.err
        assert receiver.numbers() == list(range(count))


@pytest.mark.parametrize("one", of("diff"), ids=str)
def test_a_cluster_without_the_templates_differs(
    one: Command, folder: Path, elasticsearch: EngineClient
) -> None:
    path = folder / PROFILE
    path.write_text(edit(path.read_text("utf-8"), {"outputs[logs].auth": None}), encoding="utf-8")
    words = with_values(one.words, {"--elasticsearch": elasticsearch.url})
    done = tune(*words, folder=folder)
    assert done.code == 2, done.err
    assert "index template syslog (missing)" in done.err
