"""Streams, snippets and fragments in rsyslog.conf."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.profile.examples import SMALL, small
from tests.render.test_lanes import block
from tuner.errors import BadProfile, Refused
from tuner.lint.load import load_profile, parse_profile, snippets_of
from tuner.profile.edit import edit
from tuner.profile.model import Profile
from tuner.render.artefacts import render, rsyslog_conf
from tuner.render.form import Form


def streams(changes: Mapping[str, object] | None = None) -> Profile:
    """The small profile beside a stream with an input and an output of its own."""
    text = f"{SMALL}  - {{name: file, type: omfile, file: /var/log/apps.log, stream: apps}}\n"
    apps = {"parse": {"format": "json", "cookie": ""}, **(changes or {})}
    inputs = [
        {"type": "imptcp", "port": 10514},
        {"type": "imptcp", "port": 10515, "stream": "apps"},
    ]
    return parse_profile(edit(text, {"inputs": inputs, "streams": {"apps": apps}}), "p").profile


def fragment(profile: Profile, *loaded: str) -> str:
    return rsyslog_conf(profile, form=Form(is_fragment=True, loaded=frozenset(loaded)))


def test_each_stream_has_its_inputs_its_parsing_and_its_outputs() -> None:
    text = rsyslog_conf(streams())
    doors = re.findall(r'port="(\d+)".*?ruleset="([^"]+)"', text, re.DOTALL)
    assert doors == [("10514", "small"), ("10515", "stream.apps")]
    apps, own = block(text, 'ruleset(name="stream.apps")'), block(text, 'ruleset(name="small")')
    assert 'type="mmjsonparse"' in apps
    assert 'type="omfile"' in apps
    assert "mmjsonparse" not in own
    assert "omfile" not in own


def test_a_stream_hands_on_what_its_filter_takes() -> None:
    wanted = {"parsesuccess": True, "match": [{"json": "user.name", "isequal": ["anna"]}]}
    text = block(rsyslog_conf(streams({"filter": wanted})), 'ruleset(name="stream.apps")')
    condition = 'if $parsesuccess == "OK" and $!user!name == "anna" then {'
    assert text.index("mmjsonparse") < text.index(condition) < text.index("omfile")


def test_a_stream_may_have_a_queue() -> None:
    text = rsyslog_conf(streams({"queue": {"type": "LinkedList", "size": 5000}}))
    assert 'queue.size="5000"' in block(text, 'ruleset(\n    name="stream.apps"')


def test_snippets_stand_where_they_are_named() -> None:
    profile = small({"snippets": {"start": ["a.conf"], "outputs": ["b.conf"], "end": ["c.conf"]}})
    texts = {"a.conf": "# first\n", "b.conf": 'set $.x = "1";\n', "c.conf": "# last\n"}
    text = rsyslog_conf(profile, form=Form(texts))
    assert text.index("# first") < text.index("module(load=")
    assert text.index('ruleset(name="small")') < text.index('set $.x = "1";')
    assert text.index('set $.x = "1";') < text.index('type="omelasticsearch"')
    assert text.rstrip().endswith("# last")
    other = rsyslog_conf(profile, form=Form({**texts, "a.conf": "# other"}))
    assert text.splitlines()[0] != other.splitlines()[0], "the header names what was rendered"


def test_snippets_are_found_beside_the_file_that_names_them(tmp_path: Path) -> None:
    text = Path("profiles/default.yaml").read_text(encoding="utf-8")
    path = tmp_path / "p.yaml"
    path.write_text(f"{text}\nsnippets: {{start: [a.conf], end: [gone.conf]}}\n", encoding="utf-8")
    (tmp_path / "a.conf").write_text("# mine\n", encoding="utf-8")
    with pytest.raises(BadProfile, match=r"gone.conf cannot be read: No such file"):
        snippets_of(load_profile(path))
    (tmp_path / "gone.conf").write_text("# too\n", encoding="utf-8")
    assert snippets_of(load_profile(path)) == {"a.conf": "# mine\n", "gone.conf": "# too\n"}


def test_a_fragment_leaves_the_host_alone() -> None:
    text = fragment(small({"global": {"workDirectory": "/var/spool/rsyslog"}}))
    assert "global(" not in text
    assert "main_queue(" not in text
    own = block(text, 'ruleset(\n    name="small"')
    assert 'queue.size="100000"' in own
    assert 'queue.dequeueBatchSize="1024"' in own


def test_files_of_a_fragments_queues_keep_their_folder() -> None:
    disk = {"global": {"workDirectory": "/var/spool/rsyslog"}, "main_queue.filename": "main"}
    own = block(fragment(small(disk)), 'ruleset(\n    name="small"')
    assert 'queue.spoolDirectory="/var/spool/rsyslog"' in own


def test_a_fragment_loads_nothing_that_the_host_has_loaded() -> None:
    socket = {"type": "imuxsock", "socket": "/run/app.sock", "flowControl": True}
    profile = small({"inputs": [socket]})
    assert 'load="imuxsock"' in rsyslog_conf(profile)
    assert 'load="imuxsock"' not in fragment(profile, "imuxsock")
    polled = {"type": "imfile", "file": "/var/log/app.log", "tag": "app:", "mode": "polling"}
    files = small({"inputs": [polled], "global": {"workDirectory": "/var/spool/rsyslog"}})
    with pytest.raises(Refused, match=r"loads imfile, and only there .* remove mode"):
        fragment(files, "imfile")


def test_a_fragment_has_a_name_of_its_own() -> None:
    files = render(small({}), form=Form(is_fragment=True))
    assert "rsyslog.d/small.conf" in [file.path for file in files]
    assert "rsyslog.conf" not in [file.path for file in files]


def test_local_sources_come_through_the_default_ruleset() -> None:
    local = [{"type": "imklog"}, {"type": "imuxsock"}, {"type": "imptcp", "port": 10514}]
    text = rsyslog_conf(small({"inputs": local}))
    assert 'module(load="imuxsock" sysSock.use="on")' in text
    assert 'module(load="imklog")' in text
    assert "\ncall small\n" in text
    assert text.count("input(") == 1
    assert "\ncall " not in rsyslog_conf(small({}))
    # rsyslog's own messages come to the default ruleset too, where its rules are to see them.
    said = rsyslog_conf(small({"global": {"processInternalMessages": True}}))
    assert "\ncall small\n" in said
    assert "\ncall " not in rsyslog_conf(small({"global": {"processInternalMessages": False}}))


def test_beside_the_hosts_configuration_local_sources_are_loaded_already() -> None:
    text = fragment(small({"inputs": [{"type": "imuxsock"}]}), "imuxsock")
    assert "imuxsock" not in text
    assert "\ncall small\n" in text


def test_snippets_may_be_the_only_outputs() -> None:
    """What no key expresses can still be rendered, and is refused by measurements alone."""
    profile = small({"outputs": [], "snippets": {"outputs": ["a.conf"]}})
    text = rsyslog_conf(profile, form=Form({"a.conf": 'action(type="omjournal")\n'}))
    assert 'action(type="omjournal")' in block(text, 'ruleset(name="small")')
    with pytest.raises(Refused, match="none of the outputs goes into the engine"):
        _ = profile.measured
    with pytest.raises(BadProfile, match="its events would be dropped"):
        parse_profile(edit(SMALL, {"outputs": []}), "p")


def test_steps_stand_in_their_order_and_parsing_first_unless_a_step_says_where() -> None:
    anon = {"type": "mmanon", "ipv4.bits": 8}
    for steps, order in (
        ([anon], ["mmjsonparse", "mmanon"]),
        ([anon, {"type": "parse"}], ["mmanon", "mmjsonparse"]),
    ):
        text = block(rsyslog_conf(streams({"steps": steps})), 'ruleset(name="stream.apps")')
        assert re.findall(r'type="(mm[a-z]+)"', text) == order


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"document": [{"variable": "x", "name": "x"}]}, "no step sets the variable x"),
        ({"document": [{"json": "x", "name": "x"}]}, "needs parse"),
        ({"filter": {"match": [{"variable": "x", "isequal": ["y"]}]}}, "no step sets the variable"),
        ({"document": [{"variable": "omes.x", "name": "x"}]}, "choose another name"),
    ],
)
def test_fields_and_filters_read_what_a_step_sets(
    changes: Mapping[str, object], message: str
) -> None:
    ours = {f"outputs[logs].{key}": value for key, value in changes.items()}
    with pytest.raises(BadProfile, match=message):
        small(ours)
    if "omes" not in str(changes):
        place = "json" if "json" in str(changes) else "variable"
        step = {"type": "set", place: "x", "value": [{"property": "hostname"}]}
        small({**ours, "steps": [step]})


def test_counters_as_events_have_a_stream() -> None:
    stats = {"log.syslog": True, "stream": "apps"}
    for impstats, ruleset in ((stats, "stream.apps"), ({"log.syslog": True}, "small")):
        changes: dict[str, object] = {"impstats": impstats, "streams": {"apps": {}}}
        output = {"name": "file", "type": "omfile", "file": "/var/log/x", "stream": "apps"}
        own = small().model_dump(mode="json", by_alias=True, exclude_defaults=True)["outputs"][0]
        inputs = [{"type": "imptcp", "port": 1514}]
        if ruleset == "small":
            inputs.append({"type": "imptcp", "port": 1515, "stream": "apps"})
        text = rsyslog_conf(small({**changes, "inputs": inputs, "outputs": [own, output]}))
        assert f'ruleset="{ruleset}"' in text.partition('module(load="imptcp"')[0]


def test_the_system_socket_has_parameters_of_its_own() -> None:
    source = {"type": "imuxsock", "sysSock.rateLimit.interval": 5, "sysSock.annotate": True}
    text = rsyslog_conf(small({"inputs": [source]}))
    wanted = 'sysSock.use="on" sysSock.rateLimit.interval="5" sysSock.annotate="on"'
    assert f'module(load="imuxsock" {wanted})' in text
    with pytest.raises(BadProfile, match="its keys begin with sysSock"):
        small({"inputs": [{"type": "imuxsock", "annotate": True}]})


def test_modules_of_snippets_are_loaded_once_and_not_where_the_host_has_them() -> None:
    named = {"outputs": ["a.conf"], "modules": ["omelasticsearch", "mmsequence", "omfile"]}
    profile = small({"snippets": named})
    loaded = re.findall(r'load="(\w+)"', rsyslog_conf(profile))
    assert loaded.count("omelasticsearch") == loaded.count("mmsequence") == 1
    assert "omfile" not in loaded, "it is built in"
    assert 'load="mmsequence"' not in fragment(profile, "mmsequence")


def test_the_header_tells_configurations_with_other_steps_or_tables_apart() -> None:
    tables: dict[str, object] = {"lookup_tables": {"owners": {"file": "/etc/owners.json"}}}
    step = {"type": "set", "variable": "a", "value": [{"property": "msg"}]}
    changes: list[dict[str, object]] = [{}, tables, {"steps": [step]}, {"steps": [step, step]}]
    heads = {rsyslog_conf(small(one)).split("\n")[0] for one in changes}
    assert len(heads) == len(changes)
