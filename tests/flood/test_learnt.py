"""Messages that are like those of a sample."""

from __future__ import annotations

import re
import time
from collections import Counter

import pytest

from tuner.flood.messages import LEARNT_POOL, Messages, pool_size
from tuner.flood.spec import FloodSpec, Transport, line_of, spec_of
from tuner.modules.input import Format
from tuner.profile.workload import LONGEST_MESSAGE_BYTES, MessageSizes
from tuner.traffic.sample import MessageTemplate, TrafficSample

SAMPLE = TrafficSample(
    messages=100,
    mean_bytes=40.0,
    format="rfc5424",
    hosts={"alpha": 75, "beta": 25},
    templates=(
        MessageTemplate(
            times=90, program="sshd", pid=True, priorities={"auth.info": 90},
            text="login of <word 5 of 3 first 80%> from <ipv4> id <digits 9> <<<uuid> "
            "<GET*1|PUT*3>",
        ),
        MessageTemplate(
            times=10, variants=4, program="app", priorities={"user.err": 10}, msgid="ID7",
            data='[a@1 k="<hex 8 of 2>"]', text="failed <digits 6>",
        ),
    ),
)  # fmt: skip


def spec(
    seed: int = 1,
    sample: TrafficSample = SAMPLE,
    form: Format = "rfc5424",
    begins_s: int | None = None,
) -> FloodSpec:
    return FloodSpec(
        Transport(("127.0.0.1:514",)), 1, MessageSizes(244), seed, "0123abcd", format=form,
        sample=sample.model_dump_json(), begins_s=begins_s,
    )  # fmt: skip


def lines(flood: FloodSpec, count: int) -> list[str]:
    messages, text = Messages(flood), bytearray()
    while messages.taken < count:
        text += messages.take(count - messages.taken, time.time()).data
    return text.decode("ascii").splitlines()


HEAD = re.compile(
    r"<(?P<pri>\d+)>1 (?P<time>\S+) (?P<host>\S+) (?P<program>\S+) (?P<pid>\S+) (?P<id>\S+) "
    r"(?P<data>-|\[.*?\]) run=0123abcd seq=(?P<number>\d{12}) (?P<text>.*)"
)


def heads(each: list[str]) -> list[re.Match[str]]:
    found = [HEAD.fullmatch(one) for one in each]
    assert all(found)
    return [one for one in found if one]


def test_structured_data_beyond_ascii_moves_no_number() -> None:
    template = MessageTemplate(times=1, program="app", data='[m t="21\u00b0C"]', text="it is warm")
    each = heads(lines(spec(sample=SAMPLE.model_copy(update={"templates": (template,)})), 5))
    assert [int(one["number"]) for one in each] == list(range(5))
    assert {one["data"] for one in each} == {'[m t="21?C"]'}


def test_shares_are_those_of_the_sample() -> None:
    each = heads(lines(spec(), LEARNT_POOL))
    assert Counter(one["program"] for one in each)["app"] == pytest.approx(1000, rel=0.15)
    assert Counter(one["host"] for one in each)["beta"] == pytest.approx(2500, rel=0.1)
    logins = [one for one in each if one["program"] == "sshd"]
    assert {one["pri"] for one in logins} == {"38"}
    words = Counter(one["text"].split()[2] for one in logins)
    assert len(words) == 3
    assert max(words.values()) == pytest.approx(len(logins) * (0.8 + 0.2 / 3), rel=0.05)
    assert Counter(one["text"].split()[-1] for one in logins)["GET"] == pytest.approx(
        len(logins) / 4, rel=0.1
    )


def test_messages_have_the_shape_of_their_template() -> None:
    uuid = "[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
    for one in heads(lines(spec(), 2000)):
        if one["program"] == "sshd":
            assert re.fullmatch(
                rf"login of [a-z]{{5}} from 10\.\d+\.\d+\.\d+ id \d{{9}} <{uuid} (GET|PUT)",
                one["text"],
            )
            assert one["pid"] != "-"
            assert (one["id"], one["data"]) == ("-", "-")
        else:
            assert re.fullmatch(r"failed \d{6}", one["text"])
            assert re.fullmatch(r'\[a@1 k="[0-9a-f]{8}"\]', one["data"])
            assert (one["pid"], one["id"]) == ("-", "ID7")


def test_values_that_never_come_twice_are_others_in_each_round() -> None:
    each = heads(lines(spec(), 3 * LEARNT_POOL))
    texts = [one["text"] for one in each if one["program"] == "sshd"]
    assert len(set(texts)) > 0.999 * len(texts)
    variants = {one["text"] for one in each if one["program"] == "app"}
    assert len(variants) == 4


def test_the_same_seed_gives_the_same_messages() -> None:
    def bodies(seed: int) -> list[str]:
        return [one["text"] for one in heads(lines(spec(seed), 500))]

    assert bodies(1) == bodies(1)
    assert bodies(1) != bodies(2)


@pytest.mark.parametrize("form", ["rfc3164", "local", "bare"])
def test_any_format_carries_it(form: Format) -> None:
    (first, *_) = lines(spec(form=form), 10)
    assert "run=0123abcd seq=000000000000 " in first
    assert (re.search(r" (alpha|beta) (sshd|app)", first) is not None) is (form == "rfc3164")


def test_a_message_of_no_host_and_program_has_some_in_its_head() -> None:
    """With `- -:` rsyslogd's parser of RFC 3164 finds the text elsewhere, and no engine the
    number."""
    bare = TrafficSample(
        messages=1, mean_bytes=9.0, format="bare", templates=(MessageTemplate(times=1, text="up"),)
    )
    (line, *_) = lines(spec(sample=bare, form="rfc3164"), 1)
    assert " host app: run=0123abcd" in line


def test_no_message_is_longer_than_rsyslog_takes() -> None:
    """It would make two events of one."""
    long = MessageTemplate(times=1, text=f"{'a' * 7990} <digits 99> <digits 50>")
    sample = SAMPLE.model_copy(update={"templates": (long,)})
    found = lines(spec(sample=sample), 50)
    assert {len(line) for line in found} == {LONGEST_MESSAGE_BYTES}
    assert all(re.search(r"a \d+$", line) for line in found)


def test_numbers_in_the_time_leave_the_body_alone() -> None:
    (first, *_) = lines(spec(begins_s=1_795_000_000), 10)
    assert "seq=" not in first
    assert re.search(r"[-\]] (login of|failed )", first)


def test_a_sample_reaches_the_process_that_sends() -> None:
    asked = spec()
    assert spec_of(line_of(asked)) == asked
    assert pool_size(asked) == LEARNT_POOL
