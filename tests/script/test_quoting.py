"""A value can never become syntax."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.render.tokens import parse, unescape
from tuner.modules.secrets import SecretRef
from tuner.script.quoting import (
    Emitted,
    authored,
    comment,
    constant,
    json_value,
    literal,
    number,
    parameter,
    quote,
    quote_all,
    secret,
    size,
    variable,
    word,
)

TEXTS = st.text(st.characters(codec="utf-8", exclude_characters="\0"), max_size=30)
NASTY = st.sampled_from(
    [
        'x") action(type="omprog" binary="/bin/true',
        "\\",
        '\\"',
        "`id`",
        "$x",
        "\\101",
        "a\nb",
        "%m%",
    ]
)
VALUES = st.one_of(TEXTS, NASTY, st.builds("{}{}".format, NASTY, TEXTS))


@given(VALUES)
def test_any_text_comes_back_as_one_value(value: str) -> None:
    assert parse(f"action(uid={parameter(value)})")[0].parameters == {"uid": value}


@given(VALUES)
def test_a_quoted_text_stays_on_one_line_and_keeps_to_known_escapes(value: str) -> None:
    quoted = quote(value)
    assert not any(ord(character) < 0x20 or ord(character) == 0x7F for character in quoted)
    assert "\\x" not in quoted.replace("\\\\", "")


@given(st.lists(VALUES, min_size=1, max_size=4))
def test_a_list_of_any_texts_comes_back(values: list[str]) -> None:
    (made,) = parse(f"action(server={quote_all(values)})")
    assert made.parameters == {"server": values}


@given(VALUES)
def test_a_constant_survives_being_unescaped_twice(value: str) -> None:
    once = unescape(constant(value))
    assert once.count("\\") == 2 * value.count("\\")
    assert once.replace("\\\\", "\\") == value


@pytest.mark.parametrize("code", [0, 0xD800, 0xDC7F, 0xDD00, 0xDFFF])
def test_what_rsyslog_cannot_hold_is_refused(code: int) -> None:
    with pytest.raises(ValueError, match="cannot stand"):
        quote(f"a{chr(code)}b")


def test_bytes_that_are_no_text_are_written_by_number() -> None:
    """Python keeps them as U+DC80 to U+DCFF; what lies beside those is refused, or is text."""
    assert [quote(one) for one in ("\udc80", "\udcff", "\ue000")] == [
        '"\\200"', '"\\377"', '"\ue000"'
    ]  # fmt: skip


def test_json_stays_ascii_whatever_it_holds() -> None:
    assert json_value({"b": "\u00fc", "a": [1, None]}) == '{"b": "\\u00fc", "a": [1, null]}'


def test_switches_and_numbers_are_quoted_too() -> None:
    assert [quote(True), quote(False), quote(-1)] == ['"on"', '"off"', '"-1"']


@given(VALUES)
def test_only_words_are_names(name: str) -> None:
    try:
        made = word(name)
    except ValueError:
        return
    assert made.replace(".", "_").isidentifier()


@pytest.mark.parametrize(
    ("emit", "fine", "refused"),
    [
        (word, ("queue.size", "_a"), ("", "a b", "1a", 'a"')),
        (variable, ("$msg", "$!a!b", "$.omes"), ("msg", "$", "$!a b", "$msg)", "$!a\n")),
        (size, ("4g", "100", "2K"), ("", "g", "4gb", "4 g", "-1", "4;g")),
    ],
)
def test_what_stands_without_quotes_is_of_its_kind_or_refused(
    emit: Callable[[str], Emitted], fine: tuple[str, ...], refused: tuple[str, ...]
) -> None:
    assert [emit(one) for one in fine] == list(fine)
    for one in refused:
        with pytest.raises(ValueError, match="is not a"):
            emit(one)


def test_a_number_is_written_as_one() -> None:
    assert [number(one) for one in (0, -3, True)] == ["0", "-3", "1"]


def test_a_text_in_an_expression_has_no_bare_dollar() -> None:
    assert literal('$msg "a"') == '"\\044msg \\"a\\""'


def test_secrets_are_references() -> None:
    assert secret(SecretRef(file="/etc/rsyslog.d/es.pwd")) == "`cat /etc/rsyslog.d/es.pwd`"
    assert secret(SecretRef(env="ES_PWD")) == "`echo $ES_PWD`"
    for name in ("A`id`", "", None):
        with pytest.raises(ValueError, match="not the name of an environment variable"):
            secret(SecretRef.model_construct(env=name))


@pytest.mark.parametrize("path", ["/a`id`", "/a\nb", "relative", "/a\\b", '/a"b'])
def test_a_secret_file_cannot_leave_its_backticks(path: str) -> None:
    with pytest.raises(ValueError, match="backticks"):
        secret(SecretRef.model_construct(file=path, env=None))


def test_what_the_user_wrote_stays_but_for_its_last_line_ends() -> None:
    assert authored("  if $msg == 'a' then stop \n\n") == "  if $msg == 'a' then stop "
    assert authored("set $!a = $!X\n") == "set $!a = $!X"


def test_a_comment_cannot_end_early() -> None:
    assert comment("a b") == "# a b"
    for text in ("a\nb", "a\x07", "a\u2028b"):
        with pytest.raises(ValueError, match="printable"):
            comment(text)


def test_what_is_no_value_is_no_parameter() -> None:
    assert parameter(None) == ""
    with pytest.raises(TypeError, match="not a value of RainerScript"):
        parameter({"a": 1})
