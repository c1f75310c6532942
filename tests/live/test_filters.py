"""Filters in a real rsyslogd: exactly the events that a filter describes arrive."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from pathlib import Path

import pytest

from tests.live.outputs import lines, place

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("documents"),
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

AUTH, LOCAL0, CRON = 4, 16, 9
PROGRAMS = ("sshd", "sudo", "SSHD", "10", "010", "sshd-x")
TEXTS = (
    'a"b$c\\x', 'A"B$C\\X', "a.b", "axb", "%msg% $x `id`", "$!all-json", "x" * 2000, "caf\u00e9",
    "10", "010", "deny all", "Deny all", "all deny", "it's", "(", "stop }", "",
)  # fmt: skip


@dataclass(frozen=True)
class Event:
    severity: int
    facility: int
    program: str
    text: str
    number: int

    @property
    def wire(self) -> bytes:
        head = f"<{self.facility * 8 + self.severity}>Nov 21 06:30:00 web{self.number % 3}"
        return f"{head} {self.program}: {self.text} n{self.number:05d}".encode()

    @property
    def message(self) -> str:
        return f" {self.text} n{self.number:05d}"

    @property
    def host(self) -> str:
        return f"web{self.number % 3}"


EVENTS = [
    Event(*parts, number)
    for number, parts in enumerate(product((0, 3, 4, 5, 7), (AUTH, LOCAL0, CRON), PROGRAMS, TEXTS))
]


def match(**more: object) -> dict[str, object]:
    return {"match": [{"property": "msg", **more}]}


FILTERS: dict[str, tuple[dict[str, object], Callable[[Event], bool]]] = {
    "severity": ({"syslogseverity": "warning"}, lambda e: e.severity <= 4),
    "most-urgent": ({"syslogseverity": "emerg"}, lambda e: e.severity == 0),
    "facility": ({"syslogfacility": ["auth", "cron"]}, lambda e: e.facility in {AUTH, CRON}),
    "program": ({"programname": ["sshd"]}, lambda e: e.program == "sshd"),
    "digits": ({"programname": ["10"]}, lambda e: e.program == "10"),
    "programs": ({"programname": ["sshd", "sudo"]}, lambda e: e.program in {"sshd", "sudo"}),
    "isequal": (
        {"match": [{"property": "hostname", "isequal": ["web1", "web2"]}]},
        lambda e: e.host in {"web1", "web2"},
    ),
    "isequal-long": (
        match(isequal=[" deny all n00010"]), lambda e: e.message == " deny all n00010"
    ),
    "startswith": (
        match(startswith=[" deny", " 10"]), lambda e: e.message.startswith((" deny", " 10"))
    ),
    "startswith-i": (
        match(startswith_i=[" DENY"]), lambda e: e.message.lower().startswith(" deny")
    ),
    "contains": (match(contains=["deny"]), lambda e: "deny" in e.message),
    "contains-i": (match(contains_i=["DENY"]), lambda e: "deny" in e.message.lower()),
    "hostile": (match(contains=['a"b$c\\x']), lambda e: 'a"b$c\\x' in e.message),
    "hostile-i": (match(contains_i=['a"b$C\\x']), lambda e: 'a"b$c\\x' in e.message.lower()),
    "hostile-start": (match(startswith=[' a"b$c\\']), lambda e: e.message.startswith(' a"b$c\\')),
    "dollar": (match(contains=["$!all-json", "$x `id`"]),
               lambda e: "$!all-json" in e.message or "$x `id`" in e.message),
    "percent": (match(contains=["%msg%"]), lambda e: "%msg%" in e.message),
    "quote": (match(contains=["it's"]), lambda e: "it's" in e.message),
    "brace": (match(contains=["stop }"]), lambda e: "stop }" in e.message),
    "accent": (match(contains=["caf\u00e9"]), lambda e: "caf\u00e9" in e.message),
    "regex": (match(ereregex=["a.b n"]), lambda e: bool(re.search("a.b n", e.message))),
    "regex-dot": (match(ereregex=["a\\.b n"]), lambda e: "a.b n" in e.message),
    "regex-anchors": (match(ereregex=["^ (deny|all) .*[0-9]$"]),
                      lambda e: bool(re.search("^ (deny|all) .*[0-9]$", e.message))),
    "regex-class": (match(ereregex=['a"b\\$c\\\\x']), lambda e: 'a"b$c\\x' in e.message),
    "regexes": (match(ereregex=["n0000[0-3]$", "^  n"]),
                lambda e: bool(re.search("n0000[0-3]$|^  n", e.message))),
    "not-contains": (match(contains=["deny", "10"], negate=True),
                     lambda e: "deny" not in e.message and "10" not in e.message),
    "not-regex": (
        match(ereregex=["[0-4]$"], negate=True), lambda e: not re.search("[0-4]$", e.message)
    ),
    "severity-text": (
        {"match": [{"property": "syslogseverity-text", "isequal": ["err"]}]},
        lambda e: e.severity == 3,
    ),
    "all-of-it": (
        {
            "syslogseverity": "notice", "syslogfacility": ["local0"], "programname": ["sudo", "10"],
            "match": [{"property": "msg", "contains": ["all"]},
                      {"property": "msg", "contains": ["deny"], "negate": True}],
        },
        lambda e: e.severity <= 5 and e.facility == LOCAL0 and e.program in {"sudo", "10"}
        and "all" in e.message and "deny" not in e.message,
    ),
}  # fmt: skip


@pytest.fixture(scope="module")
def arrived(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[int]]:
    """The numbers of the events that each filter lets through, from one rsyslogd with all."""
    with place(tmp_path_factory.mktemp("filters")) as site:
        outputs = [
            {"name": name, "type": "omfile", "file": f"{site.folder}/{name}.txt", "filter": wanted}
            for name, (wanted, _) in FILTERS.items()
        ]
        everything = {"name": "all", "type": "omfile", "file": f"{site.folder}/all.txt"}
        with site.running([*outputs, everything]):
            site.send(event.wire for event in EVENTS)
        return {name: numbers(site.folder / f"{name}.txt") for name in [*FILTERS, "all"]}


def numbers(file: Path) -> list[int]:
    return [int(line.rpartition(" n")[2]) for line in lines(file)]


def test_an_output_without_a_filter_has_them_all(arrived: dict[str, list[int]]) -> None:
    assert arrived["all"] == [event.number for event in EVENTS]


@pytest.mark.parametrize("name", FILTERS)
def test_exactly_the_right_events_arrive(arrived: dict[str, list[int]], name: str) -> None:
    _, wanted = FILTERS[name]
    expected = [event.number for event in EVENTS if wanted(event)]
    assert 0 < len(expected) < len(EVENTS)
    assert arrived[name] == expected
