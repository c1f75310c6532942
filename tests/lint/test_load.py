"""Loading: problems come all at once, in file order, each at its place, in plain words."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadProfile
from tuner.lint.load import load_profile, parse_profile
from tuner.profile.model import Profile
from tuner.profile.schema import facts


def problems(text: str) -> list[str]:
    with pytest.raises(BadProfile) as caught:
        parse_profile(text, "p.yaml")
    return [str(problem) for problem in caught.value.problems]


def problem(old: str, new: str) -> str:
    """The only problem that a replacement in the small profile makes."""
    assert old in SMALL
    (found,) = problems(SMALL.replace(old, new))
    return found


def test_a_good_profile_loads_without_warnings() -> None:
    loaded = parse_profile(SMALL, "p.yaml")
    assert loaded.profile.name == "small"
    assert loaded.warnings == ()
    assert loaded.text == SMALL


def test_a_file_is_loaded(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text(SMALL, encoding="utf-8")
    assert load_profile(path).profile == parse_profile(SMALL, "x").profile


def test_a_missing_file_is_one_problem(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    with pytest.raises(BadProfile) as caught:
        load_profile(path)
    text = f"{path}:1:1: error: cannot be read: No such file or directory [RT010]"
    assert str(caught.value) == text


def test_a_file_that_is_not_utf8_is_located(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_bytes(b"name: x\n# caf\xe9\n")
    with pytest.raises(BadProfile, match=r"p\.yaml:2:6: error: is not UTF-8"):
        load_profile(path)


def test_an_unknown_key_is_located_at_the_key_with_a_suggestion() -> None:
    assert problem("workerThreads: 1", "workerThread: 1") == (
        "p.yaml:5:52: error: there is no key workerThread in main_queue: "
        "did you mean workerThreads? [RT001]"
    )


def test_a_key_in_the_wrong_case_is_suggested() -> None:
    assert "did you mean dequeueBatchSize?" in problem("dequeueBatchSize: 1", "dequeuebatchsize: 1")


@pytest.mark.parametrize(
    ("word", "hint"),
    [
        ("server: localhost", 'write servers: ["http://127.0.0.1:9200"]'),
        ("SearchIndex: syslog", "write index: {name: ...}"),
        ("bulkmode: on", "remove it: it is always on"),
        ("template: abc", "write document: a preset or a list of fields"),
        ("queue.size: 5", "write queue: {size: ...}"),
        ("workerThreads: 5", "it belongs in outputs[].queue"),
        ("guardrails: {}", "it belongs in the top level"),
        ("Errorfile: /x", "did you mean errorfile?"),
    ],
)
def test_the_words_of_rsyslog_are_understood(word: str, hint: str) -> None:
    said = problem("index: {name: syslog}", f"index: {{name: syslog}}\n    {word}")
    key = word.partition(":")[0]
    assert f"there is no key {key} in outputs[0]: {hint} [RT001]" in said


def test_only_the_keys_of_that_kind_of_output_are_offered() -> None:
    said = problem("index: {name: syslog}", "index: {name: syslog}\n    xyzzy: 1")
    assert "servers" in said
    assert "dynaFile" not in said


def test_a_python_spelling_is_not_a_key() -> None:
    text = "index: {name: syslog, settings: {translog_durability: async}}"
    assert "did you mean translog.durability?" in problem("index: {name: syslog}", text)


def test_a_wrong_value_is_located_at_the_value() -> None:
    assert problem("workerThreads: 1", "workerThreads: 0") == (
        "p.yaml:5:67: error: main_queue.workerThreads must be at least 1, not 0 [RT002]"
    )


def test_a_missing_key_is_located_at_its_section() -> None:
    assert problem("    index: {name: syslog}\n", "") == (
        "p.yaml:7:5: error: outputs[0].index is missing: add it [RT003]"
    )


def test_a_release_that_yaml_took_for_a_number_needs_quotes() -> None:
    assert problem('"8.2302"', "8.2300") == (
        "p.yaml:2:20: error: release.rsyslog: YAML reads 8.2300 as a number; "
        'write it in quotes: "8.2300" [RT004]'
    )


def test_a_name_that_yaml_took_for_a_switch_needs_quotes() -> None:
    assert problem("name: small", "name: off") == (
        'p.yaml:1:7: error: name: YAML reads off as a yes or no; write it in quotes: "off" [RT004]'
    )


def test_a_number_in_quotes_is_not_a_number() -> None:
    text = problem("port: 10514", 'port: "10514"')
    assert "inputs[0].port must be a whole number, without quotes or unit" in text


def test_an_unknown_choice_lists_the_choices() -> None:
    assert problem("type: LinkedList", "type: linkedlist") == (
        "p.yaml:11:13: error: outputs[0].queue.type must be FixedArray, LinkedList, Disk, "
        "segmentedDisk or Direct (did you mean LinkedList?), not 'linkedlist' [RT002]"
    )


def test_an_unknown_input_is_located_at_its_type() -> None:
    text = problem("type: imptcp", "type: imhttp")
    assert text.startswith("p.yaml:4:12: error: inputs[0].type must be one of imptcp, imtcp")


def test_an_unknown_way_of_parsing_is_located_at_its_format() -> None:
    text = problem("inputs:", "parse: {columns: [a], format: xml}\ninputs:")
    said = "p.yaml:3:31: error: parse.format must be one of csv, kv, json, normalize, not"
    assert text.startswith(said)


def test_alternatives_are_told_in_one_message() -> None:
    text = problem("    index:", "    document: elk\n    index:")
    assert "must be ecs, logstash, sematext, elma or raw or a list, not 'elk'" in text


def test_an_error_inside_a_list_is_not_blamed_on_the_list() -> None:
    text = problem("    index:", "    document: [{name: a}]\n    index:")
    assert text.startswith("p.yaml:19:16: error: outputs[0].document[0] is wrong: name exactly")


def test_two_engines_are_one_too_many() -> None:
    text = problem('elasticsearch: "8.19"', 'elasticsearch: "8.19", opensearch: "2.19"')
    assert "release is wrong: name exactly one engine" in text


def test_a_section_left_empty_says_what_it_needs() -> None:
    assert problem("    index: {name: syslog}\n", "    index: {name: syslog}\nnode:\n") == (
        "p.yaml:20:6: error: node must be a section of keys and values, not empty [RT002]"
    )


def test_a_text_that_is_no_mapping_is_refused() -> None:
    assert problems("- a\n") == [
        "p.yaml:1:1: error: the profile must be a section of keys and values [RT002]"
    ]
    assert problems("") == [
        "p.yaml:1:1: error: the profile must be a section of keys and values, not empty [RT002]"
    ]


def test_all_problems_come_at_once_in_the_order_of_the_file() -> None:
    text = SMALL.replace("name: small", "name: Small").replace("10514", "0")
    text = text.replace("workerThreads: 1", "workers: 1").replace("LinkedList", "List")
    text += "name: again\n"
    lines = [int(line.split(":")[1]) for line in problems(text)]
    assert lines == [1, 4, 5, 11, 20]


def test_lint_errors_refuse_the_profile_and_warnings_do_not() -> None:
    assert problem("size: 100000", "size: 1400").endswith("[RT101]")
    loaded = parse_profile(SMALL.replace("size: 50000", "size: 7999"), "p.yaml")
    assert [str(warning)[:24] for warning in loaded.warnings] == ["p.yaml:12:13: warning: a"]


def test_every_pattern_of_the_model_is_put_in_words() -> None:
    found: set[str] = set()

    def walk(schema: object) -> None:
        if isinstance(schema, dict):
            pattern = schema.get("pattern")
            found.update([pattern] if isinstance(pattern, str) else [])
            for value in schema.values():
                walk(value)
        elif isinstance(schema, list):
            for value in schema:
                walk(value)

    walk(Profile.model_json_schema())
    assert found <= facts().shapes.keys()


def test_durations_and_sizes_are_put_in_words() -> None:
    settings = "index: {name: syslog, settings: {refresh_interval: 5}}"
    assert "must be a time such as" in problem("index: {name: syslog}", settings)
    settings = "index: {name: syslog, settings: {translog.flush_threshold_size: 1G}}"
    assert "must be a size such as" in problem("index: {name: syslog}", settings)


@pytest.mark.parametrize(
    ("word", "ours"),
    [("caseConversion", "write case: lower or upper"), ("outname", "write name"),
     ("field.number", "write split: {delimiter: ..., number: ...}"),
     ("position.from", "write position: {from: ..., to: ...}")],
)  # fmt: skip
def test_options_of_rsyslogs_templates_are_told_in_our_words(word: str, ours: str) -> None:
    field = f"    document: [{{property: msg, name: x, {word}: y}}]\n    index:"
    assert f"there is no key {word} in outputs[0].document[0]: {ours}" in problem(
        "    index:", field
    )
