"""Whatever a file says, a command that reads it ends in a sentence of its own, and in time."""

from __future__ import annotations

import os
import random
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from tests.hostile.files import KINDS, WHOLE, WORDS, commands_with, furnish
from tuner.cli.commands import app
from tuner.errors import TuneError

CASES = int(os.environ.get("FUZZ_CASES", "5000"))
_AT_ONCE = 100
# Of the processor; none took more than two.
_MOST_S = 20.0
# What once gave a traceback, or took minutes, and a command that showed it.
ONCE = (
    ("template", "objects"), ("template", "settings in one another"), ("counters", "years"),
    ("counters", "the first year"), ("counters", "the last year"),
    ("plan", "a long number in JSON"),
    ("journal", "objects"), ("bench", "objects"), ("configuration", "includes everything"),
    ("configuration", "includes a device"), ("profile", "not UTF-8"), ("cases", "NUL"),
)  # fmt: skip


def tried(folder: Path, kind: str, content: bytes) -> None:
    """Run every command that reads such a file."""
    for command in commands_with(folder, kind, content):
        began_s = time.process_time()
        failure = CliRunner().invoke(app, command).exception
        took_s = time.process_time() - began_s
        assert failure is None or isinstance(failure, TuneError | SystemExit), (command, failure)
        assert took_s < _MOST_S, (command, took_s)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    furnish(tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("kind", "name"), ONCE)
def test_what_a_command_once_did_not_read_ends_in_a_sentence(
    kind: str, name: str, site: Path
) -> None:
    tried(site, kind, WHOLE[name])


@pytest.mark.parametrize("escape", ["\\U00110000", "\\UFFFFFFFF", "\\ud800", "\\0"])
@pytest.mark.parametrize(
    ("kind", "text"),
    [
        (
            "profile",
            'name: p\nbase: {{rsyslog: base.conf}}\nchanges: {{main_queue.filename: "a{}"}}\n',
        ),
        ("profile", 'name: "{}"\n'),
        ("cases", 'conf: base.conf\ncases: [{{name: a, message: "{}"}}]\n'),
        ("inventory", 'hosts: {{"{}": {{address: "ssh://{}"}}}}\n'),
    ],
)
def test_no_escape_gives_a_traceback(kind: str, text: str, escape: str, site: Path) -> None:
    tried(site, kind, text.replace("{}", escape).replace("{{", "{").replace("}}", "}").encode())


@pytest.mark.fuzz
@pytest.mark.parametrize("kind", KINDS)
def test_no_content_gives_a_traceback(kind: str, site: Path) -> None:
    for content in WHOLE.values():
        tried(site, kind, content)


@pytest.mark.fuzz
@pytest.mark.parametrize("first", range(0, CASES, _AT_ONCE))
def test_thousands_of_changed_files_give_none(first: int, site: Path) -> None:
    for number in range(first, first + _AT_ONCE):
        chance = random.Random(number)
        kind = chance.choice(sorted(KINDS))
        try:
            tried(site, kind, changed(KINDS[kind][0].encode(), chance))
        except Exception as bad:
            raise AssertionError(f"case {number}: {bad!r}") from bad


def changed(content: bytes, chance: random.Random) -> bytes:
    """A file with some of it taken out, doubled, moved, or with words put in."""
    for _ in range(chance.randint(1, 6)):
        start = chance.randrange(len(content) + 1)
        end = min(len(content), start + chance.choice((0, 1, 1, 5, 20, 100)))
        piece = content[start:end]
        word = chance.choice(WORDS).encode("utf-8", "surrogatepass")
        made = chance.choice((b"", piece * 2, piece[::-1], word, word, piece * 500))
        content = content[:start] + made + content[end:]
    return content[: 1 << 20]
