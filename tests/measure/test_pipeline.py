"""Where the number of an event stands in its message, as rsyslogd takes that apart."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from tests.engine.test_owned import META, OURS, Engine, Objects
from tests.profile.examples import small
from tuner.engine.client import EngineRefused
from tuner.engine.numbering import FIELD, MAPPING
from tuner.errors import Interrupted, JobFailed, Refused, Unreachable
from tuner.flood.messages import Messages
from tuner.flood.workload import flood_spec
from tuner.lab.lab import Lab
from tuner.measure.pipeline import identity_of, install_for_base, install_index, removed
from tuner.render.engine_files import index_template

# What rsyslogd takes off before $msg: of RFC 3164 all up to the colon of the tag, of RFC 5424 all
# up to the blank after the structured data.
_BEFORE = {
    "rfc3164": r"<\d+>.{15} \S+ \S+:",
    "local": r"<\d+>.{15} \S+:",
    "rfc5424": r"<\d+>1 \S+ \S+ \S+ \S+ \S+ (-|\[[^]]*\]) ",
    "bare": "",
}
UNIX: Mapping[str, object] = {"inputs": [{"type": "imuxsock", "socket": "/run/app.sock"}]}
FILE: Mapping[str, object] = {
    "inputs": [{"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}],
    "global": {"workDirectory": "/var/spool/rsyslog"},
}


@pytest.mark.parametrize(
    ("changes", "written"),
    [
        ({}, "rfc3164"),
        ({"workload.format": "rfc5424"}, "rfc5424"),
        (UNIX, "local"),
        (FILE, "bare"),
    ],
)
def test_the_number_is_where_documents_take_it_from(
    changes: Mapping[str, object], written: str
) -> None:
    profile = small(changes)
    spec = flood_spec(profile, "0a1b2c3d")
    assert spec.format == written
    block = Messages(spec).take(2500, 1_790_000_000)
    lines = bytes(block.data).decode().splitlines()
    identity = identity_of(profile)
    for number, line in enumerate(lines):
        text = re.sub(f"^{_BEFORE[written]}", "", line)
        assert text[identity.first - 1 : identity.last] == f"{number:012d}", line


def test_indices_of_a_base_are_ours_and_count_the_number_of_an_event() -> None:
    """What says so can be removed again, and nothing else."""
    engine = Engine(Objects())
    prefix = f"{OURS.prefix}t1-"
    install_for_base(lab_of(engine), small(), prefix, [])
    put = f"PUT /_index_template/{prefix}own?create=true&master_timeout=10s"
    assert engine.asked == ["GET /_index_template", put]
    body = cast(dict[str, Any], engine.put[0])
    assert body["index_patterns"] == [f"{prefix}*"]
    assert body["_meta"] == body["template"]["mappings"]["_meta"] == META
    assert body["template"]["mappings"]["properties"] == {FIELD: MAPPING}
    # Above what people give theirs (the engine takes the highest).
    assert body["priority"] >= 500


def test_the_users_own_template_of_a_base_holds_for_its_indices_before_ours() -> None:
    """With our prefix, the replicas that the lab has, and room for the number of an event."""
    given = SimpleNamespace(
        patterns=["logs-*", "audit"], settings={"index.number_of_shards": 3},
        mappings={"dynamic": "strict", "properties": {"host": {"type": "keyword"}}},
    )  # fmt: skip
    base = SimpleNamespace(kept=SimpleNamespace(template=given))
    replicas = {"outputs[logs].index.settings.number_of_replicas": 0}
    based = small(replicas).model_copy(update={"base": base})
    engine, prefix = Engine(Objects()), f"{OURS.prefix}t1-"
    install_for_base(lab_of(engine), based, prefix, [])
    assert engine.asked[2:] == [
        f"PUT /_index_template/{prefix}given?create=true&master_timeout=10s"
    ]
    ours, theirs = cast(list[dict[str, Any]], engine.put)
    assert theirs["index_patterns"] == [f"{prefix}logs-*", f"{prefix}audit"]
    assert theirs["priority"] > ours["priority"]
    assert theirs["_meta"] == META
    assert theirs["template"] == {
        "settings": {
            "index.number_of_shards": 3, "index.number_of_replicas": 0,
            "index.store.stats_refresh_interval": "0s",
        },
        "mappings": {
            "dynamic": "strict", "_meta": META,
            "properties": {"host": {"type": "keyword"}, FIELD: MAPPING},
        },
    }  # fmt: skip


def lab_of(engine: Engine) -> Lab:
    folder = Path("/nonexistent")
    made = SimpleNamespace(
        client=engine, owner=OURS, templates=None, trial_folder=lambda name: folder / name
    )
    return cast(Lab, made)


@pytest.mark.parametrize("rotate", [None, "daily"])
def test_the_index_of_a_trial_is_as_rendered_and_ours(rotate: str | None) -> None:
    """With the user's settings and fields; only the number of events and fresh sizes are added."""
    target = f"{OURS.prefix}t1-syslog"
    index = {"name": target, "settings": {"refresh_interval": "7s"}}
    bound = small({"outputs[logs].index": index if rotate is None else {**index, "rotate": rotate}})
    engine = Engine(Objects())
    install_index(lab_of(engine), bound)
    template, *created = cast(list[dict[str, Any]], engine.put)
    assert len(created) == (rotate is None)
    rendered = cast(dict[str, Any], index_template(bound, bound.measured))
    assert template["index_patterns"] == rendered["index_patterns"]
    assert template["priority"] == rendered["priority"] + 500
    inner, plain = template["template"], rendered["template"]
    assert plain["settings"]["index.refresh_interval"] == "7s"
    assert inner["settings"] == plain["settings"] | {"index.store.stats_refresh_interval": "0s"}
    fields = plain["mappings"]["properties"]
    assert inner["mappings"]["properties"] == fields | {FIELD: MAPPING}
    assert template["_meta"] == inner["mappings"]["_meta"] == META


@pytest.mark.parametrize("pattern", ["*", "*-syslog"])
@pytest.mark.parametrize("is_base", [False, True])
def test_a_template_of_the_cluster_that_would_take_the_place_of_ours_is_refused(
    is_base: bool, pattern: str
) -> None:
    """As a catch-all of a higher priority does: something else would be measured."""
    engine = Engine(Objects(templates={"catch-all": None}))
    engine.template = {"index_patterns": [pattern], "priority": 5000}
    with pytest.raises(Refused, match="catch-all of the cluster has priority 5000 and matches"):
        installed(engine, is_base)
    assert engine.put == []
    for harmless in ({"priority": 100}, {"index_patterns": ["logs-*"]}):
        engine.template |= {"index_patterns": [pattern], "priority": 5000} | harmless
        installed(engine, is_base)


def installed(engine: Engine, is_base: bool) -> None:
    """What a trial needs in an engine."""
    prefix = f"{OURS.prefix}t1-"
    bound = small({"outputs[logs].index": {"name": f"{prefix}syslog"}})
    if is_base:
        install_for_base(lab_of(engine), bound, prefix, [f"{prefix}syslog"])
    else:
        install_index(lab_of(engine), bound)


class Gone(Engine):
    """One that ended."""

    def request(self, *_: object, **__: object) -> object:
        raise Unreachable("connection refused")


@pytest.mark.parametrize("signal_number", [2, 15])
def test_a_signal_that_ends_the_engine_too_ends_the_command(signal_number: int) -> None:
    """As `systemctl stop` does: taken for the loss of an engine it would be started again, and the
    search go on, deaf to signals."""
    with pytest.raises(Interrupted), removed(lab_of(Gone(Objects())), "t1"):
        raise Interrupted(signal_number)


@pytest.mark.parametrize(
    ("failure", "told"),
    [(None, EngineRefused), (JobFailed("a loss"), JobFailed), (Unreachable("gone"), Unreachable)],
)
def test_why_a_trial_failed_is_told_even_if_the_engine_refuses_to_clean_up(
    failure: Exception | None, told: type[Exception]
) -> None:
    engine = Engine(Objects({f"{OURS.prefix}t1-logs": META}))
    engine.refuses[f"DELETE /{OURS.prefix}t1-logs"] = 503

    def trial() -> None:
        with removed(lab_of(engine), "t1"):
            if failure is not None:
                raise failure

    with pytest.raises(told):
        trial()
