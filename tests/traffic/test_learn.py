"""What is learnt of messages, and what must not be."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tuner.traffic.learn import MOST_MESSAGES, learnt
from tuner.traffic.records import parsed
from tuner.traffic.sample import Blank, Choice, Part, TrafficSample, parts_of, written


def sample_of(*lines: str, kept: tuple[str, ...] = (), verbatim: bool = False) -> TrafficSample:
    return learnt([parsed(line) for line in lines], kept, verbatim=verbatim)


def logins(
    count: int, text: str = "Accepted publickey for {user} from {ip} port {port} ssh2"
) -> list[str]:
    dice = random.Random(1)
    return [
        f"<38>Nov 25 17:{n // 60 % 60:02}:{n % 60:02} web{n % 3} sshd[{800 + n}]: "
        + text.format(
            user=("anna", "robert", "carla", "dora")[n % 4],
            ip=f"192.0.2.{n % 200}",
            port=dice.randrange(10_000, 65_000),
        )
        for n in range(count)
    ]


def test_what_differs_becomes_a_blank() -> None:
    sample = sample_of(*logins(1000))
    (only,) = sample.templates
    assert only.text == (
        "Accepted publickey for <word 4,4,5,6 of 4> from <ipv4 of 200> port <digits 5> ssh2"
    )
    assert (only.times, only.program, only.pid, only.priorities) == (
        1000,
        "sshd",
        True,
        {"auth.info": 1000},
    )
    assert only.variants is None
    assert sorted((sample.hosts or {}).values()) == [333, 333, 334]
    assert sample.mean_per_second == 1.0
    assert sample.peak_per_second == 1


def test_texts_that_come_again_are_counted() -> None:
    lines = [f"<13>Nov 25 17:00:01 h app: peer <{n % 5}> left" for n in range(100)]
    (only,) = sample_of(*lines).templates
    assert only.variants == 5
    assert only.text == "peer <<<digits 1 of 5>> left"


def test_few_words_of_the_trade_stay_with_their_shares() -> None:
    lines = [
        f"<13>Nov 25 17:00:01 h app: session {'opened' if n % 4 else 'closed'}" for n in range(40)
    ]
    (only,) = sample_of(*lines).templates
    assert only.text == "session <opened*30|closed*10>"


def test_json_keeps_its_shape() -> None:
    lines = [
        f'{{"level":"info","ms":{n % 90 + 10},"path":"/api/v1/items/{n:06}","ok":true}}'
        for n in range(50)
    ]
    (only,) = sample_of(*lines).templates
    assert only.text == (
        '{"level":"info","ms":<digits 2>,"path":"/api/v1/items/<digits 6>","ok":true}'
    )


def test_how_often_neighbours_are_alike_is_learnt() -> None:
    apart = [f"<13>Nov 25 17:00:01 h {'ab'[n % 2]}: x" for n in range(400)]
    runs = [f"<13>Nov 25 17:00:01 h {'ab'[n // 20 % 2]}: x" for n in range(400)]
    assert sample_of(*apart).stays == 0
    assert sample_of(*runs).stays == pytest.approx(0.9, abs=0.02)


SECRETS = (
    "10.20.30.40", "2001:db8::1234", "gwen", "Hartmann", "fra-db-17", "internal.example",
    "tok_live_9f8e7d6c5b4a", "AKIAIOSFODNN7EXAMPLE", "4929123456781234", "hunter2", "prometheus-eu",
    "3f2504e0-4f89-11d3-9a0c-0305e82c3301", "0242ac110002", "acme", "billingd", "059.45.101.203",
)  # fmt: skip


def test_nothing_of_the_source_is_in_a_sample() -> None:
    """Constant as they are, each in every message."""
    line = (
        '<86>1 2026-11-25T17:00:01Z fra-db-17.internal.example billingd 812 acme [x@9 u="gwen" '
        'k="AKIAIOSFODNN7EXAMPLE"] login of gwen (Hartmann) at 10.20.30.40:443 [2001:db8::1234] '
        "pool-059.45.101.203.internal.example with tok_live_9f8e7d6c5b4a password=hunter2 "
        'card=4929123456781234 job="prometheus-eu" id=3f2504e0-4f89-11d3-9a0c-0305e82c3301 '
        "mac=0242ac110002 org=acme"
    )
    assert [one for one in SECRETS if one not in line] == []
    for count in (1, 100):
        text = sample_of(*[line] * count).model_dump_json().lower()
        assert [one for one in SECRETS if one.lower() in text] == []
        assert "login of" in text
        assert "password=" in text


def test_only_numbers_of_few_digits_stay() -> None:
    line = (
        "<13>Nov 25 17:00:01 h app: login with key a1b2c3d, kx9q at port 4711 by HTTP/1.1 for 90s"
    )
    (only,) = sample_of(*[line] * 20).templates
    assert only.text == (
        "login with key <hex 7 of 1>, <mixed 4 of 1> at port <digits 4 of 1> by HTTP/1.1 for "
        "<mixed 3 of 1>"
    )
    (kept,) = sample_of(*[line] * 20, kept=("kx9q", "kx")).templates
    assert "kx9q" in kept.text


def test_words_of_a_configuration_stay() -> None:
    lines = ["<13>Nov 25 17:00:01 h billingd: invoice rejected"] * 3
    assert "invoice" not in sample_of(*lines).templates[0].text
    (kept,) = sample_of(*lines, kept=("invoice", "billingd")).templates
    assert (kept.program, kept.text) == ("billingd", "invoice rejected")
    (verbatim,) = sample_of(*lines, verbatim=True).templates
    assert (verbatim.program, verbatim.text) == ("billingd", "invoice rejected")


def test_names_keep_their_lengths() -> None:
    lines = [f"<13>Nov 25 17:00:01 db{n % 30:03}.internal.example billingd: up" for n in range(90)]
    sample = sample_of(*lines)
    assert {len(name) for name in sample.hosts or {}} == {len("db001.internal.example")}
    assert len(sample.hosts or {}) == 30
    assert len(sample.templates[0].program) == len("billingd")


def test_a_large_log_is_learnt_from_all_over() -> None:
    lines = ["<13>Nov 25 17:00:01 h app: first"] * MOST_MESSAGES
    lines += ["<13>Nov 25 17:00:01 h app: second half here"] * MOST_MESSAGES
    sample = sample_of(*lines)
    assert sample.messages == MOST_MESSAGES
    assert [one.times for one in sample.templates] == [MOST_MESSAGES // 2] * 2


BLANKS = st.builds(
    Blank,
    st.sampled_from(["word", "digits", "text"]),
    st.sampled_from([(), (3,), (1, 9)]),
    st.sampled_from([1, 40]),
    st.sampled_from([0.0, 0.25]),
)
FRESH = st.builds(Blank, st.just("hex"), st.sampled_from([(), (12,)]))
CHOICES = st.builds(Choice, st.sampled_from([(("GET", 3), ("PUT", 1)), (("a", 2),)]))
TEXTS = st.text("ab <>|*{}%", min_size=1)


@given(st.lists(st.one_of(TEXTS, BLANKS, FRESH, CHOICES)))
def test_parts_are_read_as_they_were_written(parts: list[Part]) -> None:
    def joined(each: Iterable[Part]) -> list[Part]:
        whole: list[Part] = []
        for one in each:
            if isinstance(one, str) and whole and isinstance(whole[-1], str):
                whole[-1] += one
            else:
                whole.append(one)
        return whole

    assert joined(parts_of(written(tuple(parts)))) == joined(parts)


@pytest.mark.parametrize("text", ["a < b", "<nothing 3>", "<word", "<digits 3 of 0>", "<a*0>"])
def test_a_template_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"^(a lone <|<.*> is neither)"):
        list(parts_of(text))
