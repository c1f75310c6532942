"""What must hold after every fault, seen from outside: /proc, files and HTTP, and no code of ours.

The numbers are those of the invariants of the scorecard (I1 to I11).
"""

from __future__ import annotations

import hashlib
import http.client
import json
import re
import socket
import subprocess
import tempfile
import threading
import time
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, Self

import psutil

from tuner.lab.entrances import free_port

Json = dict[str, Any]

CONFIGURATION = tuple(
    map(Path, ("/etc/rsyslog.conf", "/etc/rsyslog.d", "/etc/elasticsearch", "/etc/opensearch"))
)
OURS = "rsyslog-tune-"
_LEFT_S = 20.0
_PROBE_S = 10.0


def children() -> set[psutil.Process]:
    """Everything that this process has started and that still runs, orphans included."""
    found = psutil.Process().children(recursive=True)
    return {one for one in found if is_running(one)}


def is_running(process: psutil.Process) -> bool:
    with suppress(psutil.NoSuchProcess):
        return process.status() != psutil.STATUS_ZOMBIE
    return False


def named(name: str, among: Iterable[psutil.Process]) -> list[psutil.Process]:
    found = []
    for one in among:
        with suppress(psutil.NoSuchProcess):
            if one.name() == name:
                found.append(one)
    return found


def tree(paths: Sequence[Path] = CONFIGURATION) -> dict[str, tuple[object, ...]]:
    """Every file below `paths`: mode, owner and content."""
    files = [path for top in paths if top.exists() for path in (top, *top.rglob("*"))]
    return {str(path): _described(path) for path in files}


def _described(path: Path) -> tuple[object, ...]:
    facts = path.lstat()
    digest = hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else ""
    return facts.st_mode, facts.st_uid, facts.st_gid, digest


class Surroundings:
    """What was there before a scenario: configuration (I1) and processes (I3)."""

    def __init__(self, configuration: Sequence[Path] = CONFIGURATION) -> None:
        self._paths = configuration
        self._tree, self._children = tree(configuration), children()

    def require_as_before(self, within_s: float = _LEFT_S) -> None:
        assert tree(self._paths) == self._tree, "the system's configuration was changed"
        deadline = time.monotonic() + within_s
        while (left := self.left()) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not left, f"still running: {left}"

    def left(self) -> list[psutil.Process]:
        """The processes that were not there before, but for those that one started that was."""
        new = []
        for one in children() - self._children:
            with suppress(psutil.NoSuchProcess):
                if not self._children.intersection(one.parents()):
                    new.append(one)
        return new


class Bystander:
    """An rsyslogd that has nothing to do with us: it must stay up, as it is, and take messages
    (I2)."""

    def __enter__(self) -> Self:
        self._folder = tempfile.TemporaryDirectory(prefix="bystander-")
        folder = Path(self._folder.name)
        self._port, self._file = free_port(), folder / "received"
        self._config = folder / "rsyslog.conf"
        self._config.write_text(
            f'module(load="imptcp")\ninput(type="imptcp" port="{self._port}" address="127.0.0.1")\n'
            f'action(type="omfile" file="{self._file}")\n',
            encoding="utf-8",
        )
        self._before = tree([self._config])
        self._process = subprocess.Popen(
            ["rsyslogd", "-n", "-f", self._config, "-i", folder / "pid"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        self.require_at_work()
        return self

    @property
    def pid(self) -> int:
        return self._process.pid

    def require_at_work(self) -> None:
        """Alive, with its own configuration, and it writes what it is sent."""
        probe = f"probe-{time.monotonic_ns()}"
        deadline = time.monotonic() + _PROBE_S
        is_sent = False
        while time.monotonic() < deadline:
            assert self._process.poll() is None, "another rsyslogd was ended"
            with suppress(OSError):
                if not is_sent:
                    with socket.create_connection(("127.0.0.1", self._port), 1) as connection:
                        connection.sendall(f"<13>Nov 21 01:02:03 h app: {probe}\n".encode())
                    is_sent = True
                if probe in self._file.read_text("utf-8"):
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("another rsyslogd takes no messages any more")
        assert tree([self._config]) == self._before, "another rsyslogd's configuration was changed"

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.wait()
        self._folder.cleanup()


def get(url: str, path: str, method: str = "GET", body: Json | None = None) -> Any:
    """The JSON that an engine answers with."""
    connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=30)
    try:
        text = None if body is None else json.dumps(body)
        connection.request(method, path, text, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        read = answer.read()
        assert answer.status < 400, f"{method} {path}: {read!r}"
        return json.loads(read)
    finally:
        connection.close()


def foreign(url: str) -> Json:
    """Everything in an engine that is not ours: documents by index, settings, templates (I4)."""
    rows = get(url, "/_cat/indices?format=json&expand_wildcards=all&h=index")
    names = sorted(row["index"] for row in rows if not row["index"].startswith((OURS, ".")))
    templates = get(url, "/_index_template")["index_templates"]
    return {
        "documents": {name: get(url, f"/{name}/_count")["count"] for name in names},
        "settings": {name: get(url, f"/{name}/_settings") for name in names},
        "templates": [one for one in templates if not one["name"].startswith(OURS)],
        "cluster": get(url, "/_cluster/settings"),
    }


def ours(url: str) -> list[str]:
    """The indices and index templates that we made and that are still there (I4)."""
    return sorted((*our_indices(url), *_our_templates(url)))


def remove_ours(url: str) -> None:
    """Remove what a control left in an engine that others use after it."""
    for name in our_indices(url):
        get(url, f"/{name}", "DELETE")
    for name in _our_templates(url):
        get(url, f"/_index_template/{name}", "DELETE")


def our_indices(url: str) -> list[str]:
    names = (row["index"] for row in get(url, "/_cat/indices?format=json&h=index"))
    return [name for name in names if name.startswith(OURS)]


def _our_templates(url: str) -> list[str]:
    names = (one["name"] for one in get(url, "/_index_template")["index_templates"])
    return [name for name in names if name.startswith(OURS)]


def records(run: Path) -> list[Json]:
    """The whole lines of a journal, each checked against its CRC-32 and all before it (I5)."""
    found, check = [], 0
    for line in (run / "trials.jsonl").read_bytes().split(b"\n")[:-1]:
        _, _, body = line.partition(b'", ')
        check = zlib.crc32(body, check)
        assert line.startswith(b'{"check": "%08x", ' % check), f"damaged: {line[:80]!r}"
        found.append(json.loads(b"{" + body))
    return found


def trials(found: Sequence[Json]) -> list[Json]:
    """The trials of a journal that ended."""
    return [one["trial"] for one in found if "trial" in one]


def is_scored(trial: Json) -> bool:
    """Whether it has a number, rather than a reason for having none."""
    return "eps" in trial["outcome"]


def under_way(found: Sequence[Json]) -> Json | None:
    """The trial that a journal announces and does not have, if its last line is one."""
    return found[-1]["intent"]["asked"] if found and "intent" in found[-1] else None


def require_kept(before: Sequence[Json], after: Sequence[Json]) -> None:
    """Whatever was on record still is, unchanged (I5)."""
    assert list(after[: len(before)]) == list(before), "the journal lost what it held"


def require_not_scored(found: Sequence[Json], number: int) -> None:
    """The trial that a fault struck has no number (I6)."""
    struck = [one for one in trials(found) if one["number"] == number]
    assert not any(map(is_scored, struck)), f"trial {number} was struck and has a score"


def require_exact(found: Sequence[Json]) -> None:
    """Of each trial with a number every event is in the engine, once (I10)."""
    for trial in filter(is_scored, trials(found)):
        told = trial["outcome"]["delivery"]
        counts = {told["sent"], told["indexed"], told["found"]}
        is_exact = len(counts) == 1 and told["lost"] == told["duplicated"] == 0
        assert is_exact, f"trial {trial['number']} has a score and lost events: {told}"


def require_one_cause(code: int, wanted: int, err: str, cause: str = "") -> None:
    """The documented exit code, and a message that is no traceback and names the cause (I7)."""
    assert code == wanted, f"exit code {code}, not {wanted}: {err[-2000:]}"
    assert "Traceback" not in err, f"a traceback: {err[-2000:]}"
    assert re.search(cause, err), f"{cause!r} is not named: {err[-2000:]}"


def require_no_files_left(*folders: Path) -> None:
    """No folder of daemons stands below `folders` any more (I3)."""
    left = [str(path) for top in folders for path in top.glob("**/rsyslog-tune-lab-*/**")]
    assert not left, f"files are left: {left[:5]}"


@contextmanager
def meanwhile(act: Callable[[], None], every_s: float) -> Iterator[None]:
    """Do something again and again for as long as this lasts."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every_s):
            act()

    thread = threading.Thread(target=repeat)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


@contextmanager
def kept_from_command_lines(secret: str) -> Iterator[None]:
    """A text stands neither in the arguments nor in the environment of a process that we start
    (I8)."""
    seen: dict[int, str] = {}

    def look() -> None:
        for process in children():
            for name in ("cmdline", "environ"):
                with suppress(OSError):
                    if secret.encode() in Path(f"/proc/{process.pid}/{name}").read_bytes():
                        seen[process.pid] = name

    with meanwhile(look, 0.02):
        yield
    assert not seen, f"the secret stood in /proc: {seen}"


def require_secret_nowhere(secret: str, texts: Mapping[str, str], folders: Sequence[Path]) -> None:
    """Neither in what was printed nor in any file below `folders` (I8)."""
    leaks = [name for name, text in texts.items() if secret in text]
    files = (path for top in folders for path in top.rglob("*") if path.is_file())
    leaks += [str(path) for path in files if secret.encode() in path.read_bytes()]
    assert not leaks, f"the secret leaked into {leaks}"
