"""A configuration that a profile keeps: what is known of it, where problems are, what changes."""

from __future__ import annotations

import json
from pathlib import Path
from unittest.mock import Mock

import pytest

from tuner.errors import BadProfile
from tuner.lint.candidate import Checker, candidate
from tuner.lint.lint import summary
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.profile.edit import moved
from tuner.profile.source import read
from tuner.render.artefacts import render
from tuner.rule import Rank
from tuner.script.script import walk
from tuner.space.knobs import knobs

CONF = """\
# Our collector.
module(load="imtcp")
module(load="omelasticsearch")
input(type="imtcp" port="10514" ruleset="remote")
ruleset(name="remote") {
  if $syslogseverity <= 6 then {
    action(type="omelasticsearch" name="es" server="es1" bulkmode="on"
           queue.type="LinkedList" queue.size="20000"   # since 2019
           queue.dequeueBatchSize="300" action.resumeRetryCount="-1")
  }
}
"""


def loaded(folder: Path, profile: str = "", conf: str | bytes = CONF) -> LoadedProfile:
    raw = conf if isinstance(conf, bytes) else conf.encode()
    (folder / "rsyslog.conf").write_bytes(raw)
    path = folder / "prod.yaml"
    path.write_text(f"name: prod\nbase: {{rsyslog: rsyslog.conf}}\n{profile}", encoding="utf-8")
    return load_profile(path)


def problems(folder: Path, profile: str = "", conf: str = CONF) -> list[str]:
    with pytest.raises(BadProfile) as refused:
        loaded(folder, profile, conf)
    return [str(one) for one in refused.value.problems]


def test_its_queues_inputs_and_engine_actions_are_those_of_the_profile(tmp_path: Path) -> None:
    profile = loaded(tmp_path).profile
    (output,) = profile.indexed
    assert (output.name, output.action_resume_retry_count) == ("es", -1)
    assert output.queue is not None
    assert (output.queue.size, output.queue.dequeue_batch_size) == (20_000, 300)
    assert [one.type for one in profile.inputs] == ["imtcp"]
    assert profile.main_queue is None


def test_certificates_for_all_are_those_of_its_inputs(tmp_path: Path) -> None:
    named = " ".join(f'defaultNetstreamDriver{one}File="/{one}"' for one in ("CA", "Cert", "Key"))
    mode = 'streamDriver.mode="1" streamDriver.name="gtls" streamDriver.authMode="anon"'
    text = f"global({named})\n" + CONF.replace('load="imtcp"', f'load="imtcp" {mode}')
    made = loaded(tmp_path, conf=text)
    assert made.profile.inputs[0].model_dump(by_alias=True)["streamDriver.caFile"] == "/CA"
    assert "RT228" not in {one.code for one in made.warnings}


def test_names_that_a_profile_spells_alike_are_told_apart(tmp_path: Path) -> None:
    action = 'action(type="omelasticsearch" name="{}" server="es1" bulkmode="on")\n'
    text = CONF.replace("if $", action.format("es.a") + action.format("es-a") + "  if $")
    profile = loaded(tmp_path, conf=text).profile
    assert [one.name for one in profile.indexed] == ["es-a", "es-a-es-a", "es"]


def test_lint_names_the_place_in_the_configuration(tmp_path: Path) -> None:
    made = loaded(tmp_path, conf=CONF.replace('"20000"', '"99"').replace('"300"', '"9"'))
    warnings = {one.code: one for one in made.warnings}
    # The size of the queue is written, its timeout is not: then it is the action.
    assert (warnings["RT126"].file, warnings["RT126"].line) == (str(tmp_path / "rsyslog.conf"), 8)
    assert warnings["RT113"].line == 7


def test_what_a_release_loses_is_said_at_each_action(tmp_path: Path) -> None:
    """A configuration names no release: the place was one of a profile that nobody had written."""
    both = CONF.replace('name="es"', 'name="kept" errorfile="/e" server="es0" bulkmode="on")\n'
                        '    action(type="omelasticsearch" name="es"')  # fmt: skip
    said = [one for one in loaded(tmp_path, conf=both).warnings if one.code == "RT404"]
    assert [(Path(one.file).name, one.line) for one in said] == [
        ("rsyslog.conf", 7),
        ("rsyslog.conf", 8),
    ]
    assert ["set errorfile" in one.message for one in said] == [False, True]


def test_a_configuration_may_have_outputs_that_a_profile_does_not_know(tmp_path: Path) -> None:
    conf = 'module(load="imtcp")\ninput(type="imtcp" port="514")\n*.* /var/log/all\n'
    assert "RT285" not in {one.code for one in loaded(tmp_path, conf=conf).warnings}


def test_what_was_wrong_before_keeps_no_point_from_being_tried(tmp_path: Path) -> None:
    """A base runs as it is, even where a profile would be refused."""
    made = loaded(tmp_path, conf=CONF.replace("queue.size", 'queue.filename="es" queue.size'))
    assert "RT109" in {one.code for one in made.warnings}
    checker = Checker(made)
    assert checker.refusal([("outputs[es].queue.dequeueBatchSize", 1000)]) is None
    assert checker.refusal([("outputs[es].queue.dequeueBatchSize", 30_000)]) is not None


def test_a_change_is_made_in_the_files_and_is_the_place_of_what_it_says(tmp_path: Path) -> None:
    made = loaded(tmp_path, "changes:\n  action[es].queue.size: 310\n")
    (file,) = render(made.profile)
    assert file.text == CONF.replace('"20000"', '"310"')
    warnings = {one.code: one for one in made.warnings}
    assert (warnings["RT111"].file, warnings["RT111"].line) == (str(tmp_path / "prod.yaml"), 4)


PLAIN = CONF.encode()


@pytest.mark.parametrize(
    "raw",
    [PLAIN, PLAIN.replace(b"\n", b"\r\n"), PLAIN + b"# gr\xfc\xdfe"],
    ids=["lf", "crlf", "latin"],
)
def test_without_changes_not_a_byte_differs(raw: bytes, tmp_path: Path) -> None:
    (file,) = render(loaded(tmp_path, conf=raw).profile)
    assert file.path == "rsyslog.conf"
    assert file.text.encode("utf-8", "surrogateescape") == raw


def test_every_address_that_names_nothing_is_told_with_what_there_is(tmp_path: Path) -> None:
    found = problems(tmp_path, "changes:\n  action[el].queue.size: 1\n  input[9].threads: 2\n")
    assert len(found) == 2
    assert found[0].startswith(f"{tmp_path}/prod.yaml:4:3: error: action[el].queue.size names noth")
    assert "which has main_queue, input[1], ruleset[remote], action[es]" in found[0]
    assert ":5:3: error: input[9].threads" in found[1]


def test_a_change_that_rsyslogd_would_not_read_so_is_told(tmp_path: Path) -> None:
    conf = f"$MainMsgQueueFileName a\n{CONF}"
    (found,) = problems(tmp_path, "changes: {main_queue.filename: 'b\"c'}\n", conf)
    assert "main_queue.filename: the change has no effect where it stands" in found
    assert loaded(tmp_path, "changes: {main_queue.filename: b}\n", conf).profile.base is not None


def test_what_the_base_says_is_not_said_twice(tmp_path: Path) -> None:
    (found,) = problems(tmp_path, "main_queue: {size: 5000}\n")
    assert "prod.yaml:3:1: error: main_queue is what the base says" in found


def test_what_cannot_be_read_of_it_has_its_place(tmp_path: Path) -> None:
    found = problems(tmp_path, conf='module(load="imtcp"\n')
    assert any(f"{tmp_path}/rsyslog.conf:1:1: error: " in one for one in found)


def test_a_base_that_is_not_there(tmp_path: Path) -> None:
    path = tmp_path / "prod.yaml"
    path.write_text("name: prod\nbase: {rsyslog: gone.conf}\n", encoding="utf-8")
    with pytest.raises(BadProfile, match=r"gone\.conf cannot be read: No such file"):
        load_profile(path)


def test_knobs_are_parameters_that_the_base_can_have(tmp_path: Path) -> None:
    paths = {str(one.path) for one in knobs(loaded(tmp_path).profile)}
    assert {"outputs[es].queue.dequeueBatchSize", "main_queue.dequeueBatchSize"} <= paths
    assert not [one for one in paths if one.startswith(("node", "outputs[es].index", "parser"))]


def test_a_point_of_a_search_is_changes_of_the_base(tmp_path: Path) -> None:
    written = loaded(tmp_path)
    point = candidate(
        written,
        [
            ("outputs[es].queue.dequeueBatchSize", 2000),
            ("outputs[es].filter_path", ("errors", "items.*.status")),
        ],
    )
    assert "action[es].queue.dequeueBatchSize" in point.text
    assert "1m&filter_path=errors,items.*.status" in point.text
    (output,) = point.profile.indexed
    assert output.filter_path == ("errors", "items.*.status")
    assert output.queue is not None
    assert output.queue.dequeue_batch_size == 2000
    (file,) = render(point.profile)
    assert 'queue.dequeueBatchSize="2000" action.resume' in file.text


def test_a_value_that_a_point_takes_away_is_gone_from_the_file(tmp_path: Path) -> None:
    written = loaded(tmp_path)
    point = candidate(written, [("outputs[es].queue.type", "Direct")])
    (file,) = render(point.profile)
    assert 'queue.type="Direct"' in file.text
    assert "queue.size" not in file.text
    assert "queue.dequeueBatchSize" not in file.text
    assert point.profile.measured.queue is None or point.profile.measured.queue.size is None


TIMEOUTS = {
    "the filter goes": ("5m&refresh=false&filter_path=a", "filter_path", None, "5m&refresh=false"),
    "the timeout changes": ("5m&filter_path=a", "timeout", "2m", "2m&filter_path=a"),
    "the timeout goes": ("5m&filter_path=a", "timeout", None, "1m&filter_path=a"),
    "another filter": ("5m&b=c&filter_path=a", "filter_path", ("took",), "5m&b=c&filter_path=took"),
}


@pytest.mark.parametrize("case", TIMEOUTS)
def test_of_two_keys_in_one_parameter_one_changes_alone(case: str, tmp_path: Path) -> None:
    before, key, level, after = TIMEOUTS[case]
    conf = CONF.replace('server="es1"', f'server="es1" timeout="{before}"')
    point = candidate(loaded(tmp_path, conf=conf), [(f"outputs[es].{key}", level)])
    (file,) = render(point.profile)
    assert f'timeout="{after}"' in file.text


def test_what_was_changed_before_is_what_a_point_changes(tmp_path: Path) -> None:
    written = loaded(tmp_path, 'changes: {"action[es].timeout": 5m&filter_path=errors}\n')
    point = candidate(written, [("outputs[es].filter_path", None)])
    (file,) = render(point.profile)
    assert 'timeout="5m"' in file.text


def test_a_parameter_of_a_module_is_changed_there(tmp_path: Path) -> None:
    conf = CONF.replace('"imtcp"', '"imptcp"').replace('load="imptcp"', 'load="imptcp" threads="3"')
    written = loaded(tmp_path, conf=conf)
    assert written.profile.model_dump(by_alias=True)["inputs"][0]["threads"] == 3
    point = candidate(written, [("inputs[0].threads", 4), ("inputs[0].processOnPoller", False)])
    (file,) = render(point.profile)
    module = 'module(load="imptcp" threads="4" processOnPoller="off")'
    assert file.text == conf.replace('module(load="imptcp" threads="3")', module)


def test_a_module_of_the_old_form_takes_no_parameters(tmp_path: Path) -> None:
    head = 'module(load="imtcp")\nmodule(load="omelasticsearch")\ninput(type="imtcp" port="10514"'
    old = '$ModLoad imudp\n$ModLoad omelasticsearch\ninput(type="imudp" port="10514"'
    paths = {str(one.path) for one in knobs(loaded(tmp_path, conf=CONF.replace(head, old)).profile)}
    assert paths
    assert not [one for one in paths if one.startswith("inputs")]


def test_its_place_is_kept_when_a_profile_moves(tmp_path: Path) -> None:
    written = loaded(tmp_path)
    leaf = read(written.text, str(written.path))
    assert "../rsyslog.conf" in moved(leaf, tmp_path / "run")


def test_a_base_that_was_recorded_needs_none_of_its_files(tmp_path: Path) -> None:
    conf = f'include(file="{tmp_path}/parts/*.conf")\n'
    (tmp_path / "parts").mkdir()
    part = tmp_path / "parts" / "all.conf"
    part.write_text(CONF, encoding="utf-8")
    written = loaded(tmp_path, conf=conf)
    assert written.beside is not None
    assert [path for path, _ in written.beside] == [str(tmp_path / "rsyslog.conf"), str(part)]
    part.unlink()
    (tmp_path / "rsyslog.conf").unlink()
    again = parse_profile(written.text, str(written.path), (), written.beside)
    assert again.profile.indexed == written.profile.indexed
    point = candidate(again, [("outputs[es].queue.size", 30_000)])
    texts = {file.path: file.text for file in render(point.profile)}
    assert texts == {"rsyslog.conf": conf, "parts/all.conf": CONF.replace("20000", "30000")}


def test_changes_of_a_search_are_a_line_each(tmp_path: Path) -> None:
    point = candidate(
        loaded(tmp_path), [("outputs[es].queue.size", 30_000), ("outputs[es].indexTimeout", 60_000)]
    )
    assert point.text.endswith(
        'changes:\n  "action[es].queue.size": 30000\n  "action[es].indexTimeout": 60000\n'
    )


def test_what_was_recorded_is_found_from_any_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded(tmp_path)
    monkeypatch.chdir(tmp_path)
    written = load_profile(Path("prod.yaml"))
    recorded = written.beside
    monkeypatch.chdir("/")
    again = parse_profile(written.text, str(tmp_path / "prod.yaml"), (), recorded)
    assert again.profile.indexed == written.profile.indexed


@pytest.mark.parametrize("key", ["rsyslog", "root"])
def test_a_name_that_no_file_has_is_a_problem_of_its_key(tmp_path: Path, key: str) -> None:
    names = {"rsyslog": "rsyslog.conf", "root": "."} | {key: "a\0b"}
    with pytest.raises(BadProfile, match=rf":2:\d+: error: base\.{key} is 'a.x00b': no file is"):
        parse_profile(f"name: prod\nbase: {json.dumps(names)}\n", str(tmp_path / "p.yaml"))


TEMPLATE = """{"index_patterns": ["*"], "data_stream": {}, "template": {
  "mappings": {"properties": {"message": {"type": "text"}}},
  "settings": {"index": {"refresh_interval": "30s", "number_of_shards": "2",
               "translog.durability": "async", "of_a_plugin": 1}}}}"""
WITH_TEMPLATE = "name: prod\nbase: {rsyslog: rsyslog.conf, template: t.json}\n"


def with_template(folder: Path, template: str = TEMPLATE) -> LoadedProfile:
    (folder / "t.json").write_text(template, encoding="utf-8")
    (folder / "rsyslog.conf").write_text(CONF, encoding="utf-8")
    (folder / "prod.yaml").write_text(WITH_TEMPLATE, encoding="utf-8")
    return load_profile(folder / "prod.yaml")


def test_rules_know_the_settings_of_its_index_template(tmp_path: Path) -> None:
    made = with_template(tmp_path)
    settings = made.profile.measured.index.settings
    assert (settings.refresh_interval, settings.number_of_shards) == ("30s", 2)
    assert "RT301" in {one.code for one in made.warnings}
    assert made.profile.base is not None
    given = made.profile.base.kept.template
    assert given is not None
    assert given.settings["index.of_a_plugin"] == 1


def test_its_index_template_is_recorded_with_it_and_moves_with_the_profile(tmp_path: Path) -> None:
    written = with_template(tmp_path)
    leaf = read(written.text, str(written.path))
    assert "../t.json" in moved(leaf, tmp_path / "run")
    (tmp_path / "t.json").unlink()
    point = candidate(written, [("outputs[es].queue.size", 30_000)])
    assert point.profile.base is not None
    assert point.profile.base.kept.template is not None


def test_a_setting_of_its_index_template_is_a_change_like_others(tmp_path: Path) -> None:
    written = with_template(tmp_path)
    setting = "outputs[es].index.settings"
    point = candidate(
        written, [(f"{setting}.refresh_interval", "5s"), (f"{setting}.codec", "best_compression")]
    )
    assert "  template.index.refresh_interval: 5s\n" in point.text
    assert point.profile.measured.index.settings.refresh_interval == "5s"
    files = {one.path: one.text for one in render(point.profile)}
    assert files["rsyslog.conf"] == CONF
    assert (
        '"index.codec": "best_compression", "index": {"refresh_interval": "5s"' in files["t.json"]
    )
    assert (
        json.loads(files["t.json"])["template"]["mappings"]
        == json.loads(TEMPLATE)["template"]["mappings"]
    )
    back = candidate(point, [(f"{setting}.refresh_interval", None), (f"{setting}.codec", None)])
    (template,) = (one.text for one in render(back.profile) if one.path == "t.json")
    assert template == TEMPLATE.replace('"refresh_interval": "30s", ', "")


def test_a_change_that_is_no_setting_of_an_index_is_told(tmp_path: Path) -> None:
    with_template(tmp_path)
    (tmp_path / "prod.yaml").write_text(
        f"{WITH_TEMPLATE}changes:\n  template.index.refresh_interval: soon\n"
        "  template.codec: default\n  template.index.of_mine: 1\n",
        encoding="utf-8",
    )
    with pytest.raises(BadProfile) as refused:
        load_profile(tmp_path / "prod.yaml")
    assert [str(one).partition("error: ")[2] for one in refused.value.problems] == [
        "index.refresh_interval takes no such value [RT019]",
        "codec is no setting of an index: those begin with index. [RT019]",
        "no setting of an index is called index.of_mine [RT019]",
    ]


def test_without_an_index_template_its_settings_are_no_knobs(tmp_path: Path) -> None:
    paths = [one.path for one in knobs(loaded(tmp_path, conf=CONF).profile)]
    assert paths
    assert not [one for one in paths if "settings" in one]
    assert any(
        "settings.refresh_interval" in one.path for one in knobs(with_template(tmp_path).profile)
    )


def test_an_index_template_that_cannot_serve_is_told_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(BadProfile) as refused:
        with_template(tmp_path, "{}")
    (found,) = map(str, refused.value.problems)
    assert f"{tmp_path}/prod.yaml:2:31: error: {tmp_path}/t.json is no index template: " in found


OLD_ENGINE = 'release: {rsyslog: "8.2302", elasticsearch: "7.17"}\n'
NEW_RSYSLOG = 'release: {rsyslog: "8.2510", elasticsearch: "8.19"}\n'
TYPES = {
    "not set": ("", "", [7]),
    "a name": ('searchType="doc"', "", [7]),
    "a name, newer": ('searchType="doc"', NEW_RSYSLOG, [7]),
    "empty": ('searchType=""', "", []),
    "an engine with types": ("", OLD_ENGINE, []),
    "not set, newer": ("", NEW_RSYSLOG, []),
}


@pytest.mark.parametrize("case", TYPES)
def test_bulks_that_are_refused_for_their_type_are_told(case: str, tmp_path: Path) -> None:
    parameter, release, lines = TYPES[case]
    made = loaded(tmp_path, release, CONF.replace('"es1"', f'"es1" {parameter}'))
    found = [one for one in made.warnings if one.code == "RT408"]
    assert [one.line for one in found] == lines
    assert {one.file for one in found} <= {str(tmp_path / "rsyslog.conf")}


@pytest.mark.parametrize(
    ("parameter", "said"),
    [("", [7]), ('bulkmode="off"', [7]), ('bulkMode="on"', []), ("bulkmode=`echo on`", [])],
)
def test_an_action_that_sends_each_event_by_itself_is_told(
    parameter: str, said: list[int], tmp_path: Path
) -> None:
    made = loaded(tmp_path, conf=CONF.replace('bulkmode="on"', parameter))
    found = [one for one in made.warnings if one.code == "RT409"]
    assert [one.line for one in found] == said
    assert all('changes: {action[es].bulkmode: "on"}' in one.message for one in found)
    changed = 'changes: {"action[es].bulkmode": "on"}\n'
    after = loaded(tmp_path, changed, CONF.replace('bulkmode="on"', parameter))
    assert not [one for one in after.warnings if one.code == "RT409"]


def test_what_changes_add_does_not_move_the_places_of_warnings(tmp_path: Path) -> None:
    """They are those of the file that the user has, not of the one that would be rendered."""
    changed = 'changes: {main_queue.size: 20000, "action[es].bulkmode": "off"}\n'
    made = loaded(tmp_path, changed)
    places = {one.code: one.line for one in made.warnings if one.file.endswith("rsyslog.conf")}
    assert (places["RT408"], places["RT409"]) == (7, 7)


def test_a_search_shows_that_nothing_would_arrive_or_at_a_crawl(tmp_path: Path) -> None:
    made = loaded(tmp_path, conf=CONF.replace('bulkmode="on"', ""))
    shown = "".join(summary(made.warnings, Rank.LOSS))
    assert "[RT408]" in shown
    assert "[RT409]" in shown


@pytest.mark.parametrize(
    "line", ['global(maxMessageSize="16k")\nglobal(umask="0077")', "$MaxMessageSize 16k"]
)
def test_it_says_how_long_messages_may_be(line: str, tmp_path: Path) -> None:
    assert loaded(tmp_path).profile.longest_message_bytes == 8096
    assert loaded(tmp_path, conf=f"{line}\n{CONF}").profile.longest_message_bytes == 16_384


def test_what_is_rendered_stays_below_its_folder(tmp_path: Path) -> None:
    home, include = tmp_path / "site", tmp_path / "elsewhere.inc"
    home.mkdir()
    include.write_text("# nothing\n", encoding="utf-8")
    profile = loaded(home, conf=f"$IncludeConfig ../elsewhere.inc\n{CONF}").profile
    assert {one.path for one in render(profile)} == {"rsyslog.conf", str(include).lstrip("/")}


def test_the_statements_are_gone_through_equally_often_for_few_inputs_and_for_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each input without a module went through all of them: 4,900 took 44 s."""
    gone = Mock(wraps=walk)
    monkeypatch.setattr("tuner.script.script.walk", gone)
    counts = []
    for number in (3, 30):
        inputs = "".join(f'input(type="imtcp" port="{1000 + one}")\n' for one in range(number))
        loaded(tmp_path, conf=f'{inputs}action(type="omelasticsearch" server="es1")\n')
        counts.append(gone.call_count)
    assert counts[1] == 2 * counts[0]


def test_more_engine_actions_than_anybody_has_are_refused_at_the_first_too_many(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tuner.profile.base._MOST_ENGINE_ACTIONS", 2)
    action = 'action(type="omelasticsearch" bulkmode="on" searchIndex="{}")\n'
    conf = 'module(load="omelasticsearch")\n' + "".join(map(action.format, "ab"))
    assert len(loaded(tmp_path, conf=conf).profile.indexed) == 2
    (problem,) = problems(tmp_path, conf=conf + action.format("c"))
    assert problem.startswith(f"{tmp_path}/rsyslog.conf:4:1: error: 3 actions write to an engine, ")
