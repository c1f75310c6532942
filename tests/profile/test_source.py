"""Reading YAML: what is refused, and where the message points."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.errors import BadProfile
from tuner.lint.load import text_of
from tuner.profile.source import MAX_BYTES, Position, read


def refusal(text: str) -> str:
    with pytest.raises(BadProfile) as caught:
        read(text, "p.yaml")
    assert len(caught.value.problems) == 1
    return str(caught.value.problems[0])


def complaint(text: str) -> str:
    (problem,) = read(text, "p.yaml").problems
    return str(problem)


def test_every_value_and_key_has_its_place() -> None:
    source = read("a: 1\nb:\n  - c: x\n", "p.yaml")
    assert source.data == {"a": 1, "b": [{"c": "x"}]}
    assert source.position(("a",)) == Position(1, 4)
    assert source.position(("b", 0, "c")) == Position(3, 8)
    assert source.key_position(("b", 0, "c")) == Position(3, 5)


def test_a_missing_value_is_placed_at_its_section() -> None:
    source = read("a: 1\nb:\n  - c: x\n", "p.yaml")
    assert source.position(("b", 0, "d")) == Position(3, 5)
    assert source.position(("z", "d")) == Position(1, 1)


def test_an_empty_text_is_no_data() -> None:
    assert read("# nothing\n", "p.yaml").data is None


@pytest.mark.parametrize("word", ["on", "yes", "true"])
def test_switches_are_switches(word: str) -> None:
    assert read(f"a: {word}\n", "p").data == {"a": True}


def test_broken_yaml_is_located() -> None:
    assert refusal("a: 1\nb: c: 2\n").startswith("p.yaml:2:5: error: not YAML")


def test_a_tab_is_located() -> None:
    assert refusal("a:\n\tb: 1\n").startswith("p.yaml:2:1: error: not YAML, ")


def test_a_control_character_is_located() -> None:
    assert refusal("a: 1\nb: x\x07\n").startswith("p.yaml:2:5: error: character")


def test_two_documents_are_refused() -> None:
    assert "expected a single document" in refusal("a: 1\n---\nb: 1\n")


def test_anchors_and_aliases_are_refused() -> None:
    assert refusal("a: &x [1]\nb: 2\n").startswith("p.yaml:1:4: error: anchors")
    assert "write the value out" in refusal("a: *x\n")


def test_merge_keys_are_refused() -> None:
    assert "a key must be a word; << is not one" in complaint("<<: {a: 1}\n")


def test_deep_nesting_is_refused() -> None:
    assert "nested more than 32 levels" in refusal("[" * 40 + "]" * 40)


def test_very_deep_nesting_is_refused_without_a_crash() -> None:
    assert "nested more than 32 levels" in refusal("[" * 20000)


def test_an_escape_above_the_last_character_is_refused_in_its_place() -> None:
    for escape in ("U00110000", "UFFFFFFFF"):
        said = refusal(f'a: "x"\nb: "\\{escape}"\n')
        assert said.startswith("p.yaml:2:")
        assert "an escape here is no character" in said


def test_large_files_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "p.yaml"
    path.write_text("a: " + "x" * MAX_BYTES, encoding="utf-8")
    with pytest.raises(BadProfile, match=f"larger than {MAX_BYTES} bytes"):
        text_of(path)


def test_a_key_set_twice_is_refused_at_the_second() -> None:
    assert complaint("a: 1\nb: 2\na: 3\n") == (
        "p.yaml:3:1: error: a is set twice, first in line 1: keep one of them [RT013]"
    )


@pytest.mark.parametrize("value", ["!!python/name:os.system x", "!secret x", "!!binary aGk="])
def test_tags_are_refused(value: str) -> None:
    assert "the tag" in complaint(f"a: {value}\n")


@pytest.mark.parametrize("value", ["017", "0x1f", "1_000", "1:30", "2026-11-21", ".inf", "="])
def test_spellings_that_yaml_reads_in_surprising_ways_are_refused(value: str) -> None:
    text = complaint(f"a: {value}\n")
    assert text.startswith("p.yaml:1:4: error: YAML reads")
    assert f'"{value}" in quotes' in text


@pytest.mark.parametrize("key", ["5", "on", "[a]", "~"])
def test_keys_must_be_words(key: str) -> None:
    assert "a key must be a word" in complaint(f"{key}: 1\n")


def test_halves_of_characters_are_refused() -> None:
    assert "half of a character" in complaint('a: "\\ud83d\\udc18"\n')
    assert "this is not one" in complaint('"\\ud83d": 1\n')


def test_numbers_beyond_any_use_are_refused_without_repeating_them() -> None:
    text = complaint(f"a: {'9' * 5000}\n")
    assert "YAML reads 999" in text
    assert len(text) < 300


@pytest.mark.parametrize("key", ["pwd", "apikey"])
def test_a_secret_is_not_repeated_whatever_yaml_makes_of_it(key: str) -> None:
    assert "0123456" not in complaint(f"auth: {{{key}: 0123456}}\n")


def test_a_text_at_the_limit_is_read() -> None:
    start = "a: "
    text = start + "x" * (MAX_BYTES - len(start))
    assert read(text, "p.yaml").data == {"a": text[len(start) :]}


def test_nesting_at_the_limit_is_read() -> None:
    assert read("[" * 32 + "]" * 32, "p.yaml").problems == ()
    assert "nested more than 32" in refusal("[" * 33 + "]" * 33)


def test_a_billion_aliases_are_refused_before_they_are_expanded() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    for n in range(1, 30):
        again = ", ".join([f"*a{n - 1}"] * 9)
        lines.append(f"a{n}: &a{n} [{again}]")
    assert refusal("\n".join(lines)).startswith("p.yaml:1:5: error: anchors")


@pytest.mark.parametrize("line", ["a: 1\n  b: 2\n", "a:\n  - 1\n - 2\n"])
def test_a_wrong_indentation_is_called_by_its_name(line: str) -> None:
    assert "check the indentation" in refusal(line)
