"""What nobody wrote by hand: read, or refused with its place and the reason, in little time; how
deep something stands in something else is limited by a number, never by Python's stack."""

from __future__ import annotations

import contextlib
import errno
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest

from tuner.errors import BadProfile
from tuner.lint.load import parse_profile
from tuner.script.configuration import (
    Configuration,
    ConfigurationFiles,
    configuration,
)
from tuner.script.objects import base_of
from tuner.script.parser import parse
from tuner.script.script import If, Operation
from tuner.script.tokens import ReadAllowance
from tuner.script.view import view_of
from tuner.traffic.wanted import wanted_by

INPUT: Final = 'module(load="imtcp")\ninput(type="imtcp" port="514")\n'
ENGINE: Final = 'action(type="omelasticsearch" server="127.0.0.1")\n'
IN_A_ROW: Final = 1000


@dataclass
class _Files(ConfigurationFiles):
    contents: Mapping[str, str]
    environment: Mapping[str, str] | None = None

    def read(self, path: str) -> bytes:
        if path not in self.contents:
            raise FileNotFoundError(errno.ENOENT, "No such file or directory")
        return self.contents[path].encode()

    def listed(self, folder: str) -> Mapping[str, bool]:
        paths = (path.rpartition("/") for path in self.contents)
        return {name: True for above, _, name in paths if (above or "/") == folder}


def read(text: str, **others: str) -> Configuration:
    files = {"/x.conf": text} | {f"/{name}.conf": other for name, other in others.items()}
    return configuration(Path("/x.conf"), _Files(files))


def refused(text: str, **others: str) -> list[str]:
    return [str(one) for one in read(text, **others).refused]


def everything(text: str) -> None:
    """All that is made of a configuration, with its reading."""
    base = base_of(read(text))
    view_of(base, None)
    wanted_by(base, 200)


def loaded(text: str) -> None:
    """Load a profile on top of a configuration, as the command does."""
    with contextlib.suppress(BadProfile):
        parse_profile("name: x\nbase: {rsyslog: /x.conf}\n", "x.yaml", base=read(text))


def chained(number: int) -> str:
    return " else ".join(f"if $programname == 'p{one}' then stop\n" for one in range(number))


def in_a_row(number: int, calls: int = 1) -> str:
    """Rulesets, each of which calls the next."""
    lines = (
        f'ruleset(name="r{one}") {{{f" call r{one + 1}" * calls} }}\n' for one in range(number)
    )
    bound = INPUT.replace('port="514"', 'port="514" ruleset="r0"')
    return f'{bound}{"".join(lines)}ruleset(name="r{number}") {{\n{ENGINE}}}\n'


@pytest.mark.parametrize(
    ("text", "allowance", "said"),
    [
        ("stop\n" * 60, ReadAllowance(words=100), "f:51:1: more than 100,000 words"),
        ("/**/" * 60, ReadAllowance(words=50), "f:1:201: more than 100,000 words"),
        ("\xa0 " * 60, ReadAllowance(words=100), "f:1:101: more than 100,000 words"),
        ('$template t,"' + "%msg%" * 60, ReadAllowance(words=50), "f:1:1: more than 100,000 words"),
        ("\\\n" * 60, ReadAllowance(lines=50), "f:1:1: more than 100,000 lines"),
    ],
    ids=["words", "comments", "no-break spaces", "properties", "lines"],
)
def test_no_more_words_and_lines_are_read_than_anybody_writes(
    text: str, allowance: ReadAllowance, said: str
) -> None:
    _, refusals = parse(f"{text}\n", "f", allowance)
    assert any(str(one).startswith(said) for one in refusals)


def test_the_allowance_is_that_of_all_files_together() -> None:
    text = "".join(f'include(file="/f{one}.conf")\n' for one in range(30))
    more = {f"f{one}": "\\\n" * 9000 for one in range(30)}
    said = refused(text, **more)
    assert said[0].endswith("more than 100,000 lines: this file is not read")
    assert said[0].startswith("/f11.conf:1:1: ")
    text = "".join(f'include(file="/f{one}.conf")\n' for one in range(3))
    wide = {f"f{one}": "#" + "x" * 1_500_000 for one in range(3)}
    assert refused(text, **wide) == [
        "/x.conf:3:14: /f2.conf cannot be read: all files together are larger than 4 MiB"
    ]


def test_no_more_statements_are_read_than_anybody_writes() -> None:
    said = "/x.conf:5001:1: more than 5,000 statements: nothing is read from here on"
    assert refused("stop\n" * 6_000) == [said]
    assert not refused("stop\n" * 5_000)


@pytest.mark.parametrize("number", [199, 201, 5000])
def test_statements_in_one_another_are_limited_by_a_number(number: int) -> None:
    text = INPUT + chained(number) + ENGINE
    said = [one for one in refused(text) if "more than 200 levels deep in one another" in one]
    assert bool(said) is (number > 199)
    if number < 1000:
        assert not said or said[0].startswith("/x.conf:202:")
        everything(text)


def test_files_in_files_and_what_stands_in_them_have_one_limit() -> None:
    opened, closed = "if $a then {\n" * 50, "}\n" * 50
    files = {f"f{one}": f'{opened}include(file="/f{one + 1}.conf")\n{closed}' for one in range(10)}
    said = refused('include(file="/f0.conf")\n', **files)
    assert any("more than 200 levels deep" in one for one in said)


def test_the_first_of_many_modules_of_a_name_counts_as_for_rsyslogd() -> None:
    more = 'module(load="imtcp" maxSessions="7")\n'
    made = view_of(base_of(read(INPUT + more * 50)), None).section(("inputs", 0))
    assert "maxSessions" not in made
    everything(INPUT * 300 + ENGINE)


def test_operands_are_read_once_each() -> None:
    block, refusals = parse(f"if {' and '.join(['$a'] * 5000)} then stop\n", "f")
    assert not refusals
    (one,) = block
    assert isinstance(one, If)
    assert isinstance(one.condition, Operation)
    assert len(one.condition.operands) == 5000


@pytest.mark.parametrize("text", ["a" * 3_900_000, '\\"' * 1_900_000], ids=["plain", "escaped"])
@pytest.mark.parametrize("end", ['"', ""], ids=["closed", "open"])
def test_a_text_of_megabytes_is_refused_by_its_place(text: str, end: str) -> None:
    said = refused(f'{INPUT}action(type="omfile" file="{text}{end})\n')
    reason = "a text of more than 100,000 characters" if end else "this text has no closing"
    assert any(one.startswith("/x.conf:3:27: ") and reason in one for one in said)


def test_a_number_of_thousands_of_digits_is_refused() -> None:
    said = refused(f"if $a == {'9' * 5000} then stop\n")
    assert "/x.conf:1:10: a number of more than 20 digits" in said


def test_rulesets_that_call_one_another_in_a_row_take_no_stack() -> None:
    everything(in_a_row(IN_A_ROW))
    everything(f"call r0\n{in_a_row(IN_A_ROW)}")


def test_ways_that_double_at_each_call_end() -> None:
    everything(in_a_row(60, calls=2))
    loops = "".join(
        f"if $msg == 'a' or $msg == 'b' then {{ set $!a{one} = 'x';\n" for one in range(50)
    )
    everything(f"{INPUT}{loops}{'}' * 50}\n{ENGINE}")


ACTION: Final = 'action(type="omelasticsearch" server="es" bulkmode="on")'
LISTED: Final = {
    "comments": INPUT + "/*" * 1_900_000 + "\n" + ENGINE,
    "a string": f'{INPUT}action(type="omfile" file="/{"a" * 3_900_000}")\n{ENGINE}',
    "inputs": INPUT * 20_000 + ENGINE,
    "a list template": INPUT
    + 'template(name="t" type="list") {\n'
    + 'property(name="msg" outname="k" format="jsonf")\n' * 50_000
    + "}\n"
    + ENGINE,
    "and": f"{INPUT}if {' and '.join(['$msg contains 1'] * 80_000)} then {{\n{ENGINE}}}\n",
    "joined": f"{INPUT}set $!a = {' & '.join(['1'] * 200_000)};\n{ENGINE}",
    "added": f"{INPUT}set $!a = {' + '.join(['1'] * 200_000)};\n{ENGINE}",
    "templates": INPUT + 'template(name="t" type="string" string="%msg%")\n' * 60_000 + ENGINE,
    "selectors": INPUT + "*.* /var/log/a\n" * 90_000 + ENGINE,
    "actions": INPUT + "*.* /var/log/a\n" + "& /var/log/b\n" * 200_000 + ENGINE,
    "conditions": INPUT + "if $programname == 'p' then stop\n" * 40_000 + ENGINE,
    "else if": INPUT + chained(20_000) + ENGINE,
    "rulesets": in_a_row(30_000),
}
# What is read of them is all there is: nothing bounds it but the statements.
READ: Final = {
    "engine actions": INPUT + f"{ACTION}\n" * 4_800,
    "rulesets with an engine": INPUT
    + "".join(f'ruleset(name="r{one}") {{ {ACTION} }}\n' for one in range(2_300)),
}
_RUN = """
import resource, sys
resource.setrlimit(resource.RLIMIT_CPU, (40, 41))
from tuner.cli.main import main
peak, sys.argv = sys.argv[1], ["rsyslog-tune", *sys.argv[2:]]
try:
    main()
finally:
    with open(peak, "w") as file:
        file.write(str(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss))
"""


@pytest.mark.full
@pytest.mark.parametrize("what", [*LISTED, *READ])
def test_whatever_is_below_4_mib_is_read_or_refused(what: str, tmp_path: Path) -> None:
    """In 500 MB; the time is that of a slow machine with other work: it was for ever before."""
    file, peak = tmp_path / "rsyslog.conf", tmp_path / "peak"
    file.write_text({**LISTED, **READ}[what])
    done = subprocess.run(
        [sys.executable, "-c", _RUN, peak, "import", file, "--release", "8.2302"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode in ({78} if what in LISTED else {0, 78}), done.stderr[-2000:]
    assert str(file) in done.stderr
    assert int(peak.read_text()) < 500 << 10
