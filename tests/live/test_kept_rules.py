"""What the rules about a configuration claim, asked of a real rsyslogd: is the queue on disk, does
the file beside go on, are lines read, does an engine take what is sent?"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from tests.lint.test_base_rules import MAIN, codes, kept
from tests.live.outputs import Place, daemon, lines, place
from tuner.cli.profiles import read_profile
from tuner.errors import TuneError
from tuner.lab.entrances import TcpPort
from tuner.lab.lab import sink_lab
from tuner.lab.scratch import scratch
from tuner.lint.load import LoadedProfile
from tuner.measure.learning import slow_pass

pytestmark = [
    pytest.mark.live,
    pytest.mark.full,
    pytest.mark.skipif(shutil.which("rsyslogd") is None, reason="rsyslogd is not installed"),
]

EVENTS = 60
_ACTION = (
    'action(type="omelasticsearch" server="127.0.0.1" serverport="1" searchType="" bulkmode="on"'
)
_FILE = 'action(type="omfile" file="{folder}/beside.log")'
_SPOOL = (
    'queue.type="LinkedList" queue.filename="es" queue.size="200" queue.highWatermark="20" '
    'queue.lowWatermark="10" queue.dequeueBatchSize="5" action.resumeRetryCount="-1"'
)


@pytest.fixture
def site(tmp_path: Path) -> Iterator[Place]:
    with place(tmp_path) as found:
        yield found


def text_of(site: Place, body: str) -> str:
    return (
        'module(load="imptcp")\nmodule(load="omelasticsearch")\n'
        f'input(type="imptcp" address="127.0.0.1" port="{site.port}" '
        'supportOctetCountedFraming="on")\n' + body.format(folder=site.folder) + "\n"
    )


def run(site: Place, files: Mapping[str, str]) -> None:
    """Send two bursts, a while apart, to an rsyslogd whose engine is away."""
    for name, text in files.items():
        (site.folder / name).write_text(text, encoding="utf-8")
    config = files[MAIN].replace('include(file="', f'include(file="{site.folder}/')
    with daemon(config, site.folder, [TcpPort(site.port)]):
        for _ in range(2):
            site.send(b"<13>Nov 21 06:30:00 h app: %06d" % n for n in range(EVENTS))
            time.sleep(2)


FOLDERS = {
    "global() before": {MAIN: 'global(workDirectory="{folder}")\n' + f"{_ACTION} {_SPOOL})"},
    "global() behind": {MAIN: f'{_ACTION} {_SPOOL})\nglobal(workDirectory="{{folder}}")'},
    "a directive behind": {MAIN: f"{_ACTION} {_SPOOL})\n$WorkDirectory {{folder}}"},
    "an included file": {
        MAIN: f'{_ACTION} {_SPOOL})\ninclude(file="more.inc")',
        "more.inc": 'global(workDirectory="{folder}")\n',
    },
    "a folder of its own": {MAIN: f'{_ACTION} {_SPOOL} queue.spoolDirectory="{{folder}}")'},
    "none": {MAIN: f"{_ACTION} {_SPOOL})"},
}


@pytest.mark.parametrize("case", FOLDERS)
def test_a_queue_has_a_folder_where_lint_says_so(case: str, site: Place, tmp_path: Path) -> None:
    files = {
        name: text_of(site, text) if name == MAIN else text.format(folder=site.folder)
        for name, text in FOLDERS[case].items()
    }
    run(site, files)
    is_on_disk = bool(list(site.folder.glob("es.0*")))
    assert is_on_disk is (case != "none")
    assert ("RT109" in codes(kept(tmp_path / "asked", files))) is not is_on_disk


def test_directives_before_an_action_apply_to_nothing(site: Place, tmp_path: Path) -> None:
    directives = (
        "$WorkDirectory {folder}\n$ActionQueueType LinkedList\n$ActionQueueFileName es\n"
        "$ActionQueueSize 200\n$ActionQueueHighWatermark 20\n$ActionQueueLowWatermark 10\n"
        "$ActionResumeRetryCount -1\n"
    )
    files = {MAIN: text_of(site, f"{directives}*.* {_ACTION})")}
    run(site, files)
    assert not list(site.folder.glob("es.*"))
    assert "RT413" in codes(kept(tmp_path / "asked", files))


_ENDLESS = f'{_ACTION} action.resumeRetryCount="-1")'
BESIDE = {
    "before": f"{_ENDLESS}\n{_FILE}",
    "behind": f"{_FILE}\n{_ENDLESS}",
    "called": f'ruleset(name="es") {{{{ {_ENDLESS} }}}}\ncall es\n{_FILE}',
    "a queue": f'{_ACTION} queue.type="LinkedList" action.resumeRetryCount="-1")\n{_FILE}',
    "a ruleset with a queue":
        f'ruleset(name="es" queue.type="LinkedList") {{{{ {_ENDLESS} }}}}\ncall es\n{_FILE}',
    "no retries": f"{_ACTION})\n{_FILE}",
}  # fmt: skip


@pytest.mark.parametrize("case", BESIDE)
def test_what_stops_beside_an_engine_that_is_away(case: str, site: Place, tmp_path: Path) -> None:
    files = {MAIN: text_of(site, BESIDE[case])}
    run(site, files)
    stops = len(lines(site.folder / "beside.log")) < 2 * EVENTS
    assert stops is (case in {"before", "behind", "called"})
    assert ("RT256" in codes(kept(tmp_path / "asked", files))) is stops


@pytest.mark.parametrize("reopens", [True, False])
def test_a_file_that_is_cut_in_place(reopens: bool, site: Place, tmp_path: Path) -> None:
    log, option = site.folder / "app.log", ' reopenOnTruncate="on"' if reopens else ""
    log.write_text("", encoding="utf-8")
    body = (
        'module(load="imfile")\nglobal(workDirectory="{folder}")\n'
        f'input(type="imfile" file="{{folder}}/app.log" tag="app:"{option})\n{_FILE}'
    )
    files = {MAIN: text_of(site, body)}
    with daemon(files[MAIN], site.folder, [TcpPort(site.port)]):
        for word, count in (("first", 100), ("second", 20), ("third", 30)):
            if word == "second":
                log.write_bytes(b"")
            with log.open("a", encoding="utf-8") as file:
                file.writelines(f"{word} {n}\n" for n in range(count))
            time.sleep(2)
    loses = len(lines(site.folder / "beside.log")) < 150
    assert loses is not reopens
    assert ("RT416" in codes(kept(tmp_path / "asked", files))) is loses


_DOCUMENTS = Path(__file__).parents[2] / "examples"
NEVER_SAID_FALSELY = frozenset({"RT410", "RT412"})


def refused_by_an_engine(loaded: LoadedProfile, folder: Path) -> list[bool]:
    """Of each action of which an engine refuses documents, whether it refuses all."""
    base = loaded.profile.base
    assert base is not None
    with scratch(folder) as below, sink_lab(below, "0a1b2c3d") as lab:
        return [one.is_all for one in slow_pass(lab, loaded.profile).refused]


_HEAD = (
    'module(load="imtcp")\nmodule(load="omelasticsearch")\ninput(type="imtcp" port="10514")\n'
    'template(name="doc" type="{kind}"{template}\n'
    'template(name="index" type="string" string="{name}")\n'
    'action(type="omelasticsearch" server="es1" searchType="" bulkmode="on" template="doc" '
    'searchIndex="index" dynSearchIndex="on")\n'
)
_GOOD = ' string="{\\"m\\":\\"%msg:::json%\\"}")'
ASKED = {
    "all well": (_GOOD, "logs-%$year%", []),
    "capitals": (_GOOD, "Logs-%$year%", [True]),
    "a date as it is": (_GOOD, "logs-%timereported%", [True]),
    "a date cut to the day": (_GOOD, "logs-%timereported:1:10:date-rfc3339%", []),
    "quotes that nothing escapes": (' string="{\\"m\\":\\"%msg%\\"}")', "logs", [False]),
    "a colon": (_GOOD, "logs-%syslogtag%", [True]),
}


@pytest.mark.parametrize("case", ASKED)
def test_names_and_documents_that_an_engine_refuses(case: str, tmp_path: Path) -> None:
    """A rule that says so of all is right of all; what depends on events it leaves to rsyslogd."""
    template, name, refused = ASKED[case]
    text = _HEAD.replace("{kind}", "string").replace("{template}", template)
    loaded = kept(tmp_path / "asked", {MAIN: text.replace("{name}", name)})
    assert refused_by_an_engine(loaded, tmp_path) == refused
    if codes(loaded) & NEVER_SAID_FALSELY:
        assert refused == [True]


EXAMPLES = sorted(_DOCUMENTS.rglob("*.conf"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda one: one.name)
def test_no_rule_says_of_an_example_what_rsyslogd_does_not_do(path: Path, tmp_path: Path) -> None:
    try:
        loaded = read_profile(path)
        refused = refused_by_an_engine(loaded, tmp_path)
    except TuneError as cannot:
        pytest.skip(str(cannot))
    assert bool(codes(loaded) & NEVER_SAID_FALSELY) <= (True in refused)
