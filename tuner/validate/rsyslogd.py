"""The layer `rsyslogd -N1`: the real daemon reads the whole rendered configuration.

Necessary and not sufficient: it accepts nonsense queue sizes, and it crashes on some bad
configurations, which counts as rejecting them.

It starts nothing and runs as the user who asks, not as `nobody`: rsyslogd reads its configuration
as root, and what only root may read (secrets, keys, rulebases) would be reported as missing.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import JobFailed, ProgramMissing, Refused
from tuner.host.process import (
    daemons_can_read,
    describe_exit,
    own_environment,
    run,
    run_as_daemon,
)
from tuner.host.programs import rsyslog_version, rsyslogd, to_install
from tuner.modules.registry import packaged_since, packages, unpackaged
from tuner.rainerscript.configuration import not_loaded
from tuner.rainerscript.quoting import quote
from tuner.rainerscript.tokens import joined

if TYPE_CHECKING:
    from tuner.rainerscript.objects import Base

_TIMEOUT_S = 20.0
# Since 8.2510 it asks servers, one after the other; how many a file names is not known beforehand.
_TRANSLATION_S = 60.0
_TRANSLATES = 2604
_MOST_SAID = 3
# Nobody listens on the port for discarding (RFC 863).
_NOWHERE = "http://127.0.0.1:9"
# What rsyslogd begins a complaint with that has a file and a line.
_PARSING = "error during parsing file"
_NOT_LOADED = "could not load module"
_PLACE = re.compile(rf"{_PARSING} (?P<file>.+?), on or before line (?P<line>[0-9]+): ")
# Between two words of an object.
_GAP = r"(?:\s|\#[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
# A module by its path or in another folder, which an escape may hide, and files that rsyslogd
# writes at once.
_RUNS_CODE = re.compile(
    rf"""\$(?:ModDir|ModLoad\s+[^\s#]*/|Debug\w+)\b|\bload{_GAP}={_GAP}(?:"[^"]*[/\\]|`)|"""
    rf"""\b(?:debug\.\w+|stdlog\.channelspec|defaultopensslengine|environment){_GAP}=""",
    re.IGNORECASE,
)
# Warnings that newer releases print with -N1, and what they are about: what we render for older
# releases too, values that the profile sets on purpose, and an engine that does not answer.
_EXPECTED = {
    "parameter 'searchType' is deprecated": "searchType, which rsyslog before 8.2510 needs",
    "insecure default in use": "insecure defaults, which can be chosen since 8.2606",
    "has no dedicated non-direct queue": "inputs that share the main queue",
    "is very large - is this really intended": "a large queue.size",
    "MinimumMessage is set quite low": "a low queue.workerThreadMinimumMessages",
    'queue "retry.': "the retry queue, which makes outputs wait before it spools",
    "omelasticsearch: platform detection": "an engine that did not answer",
    "omelasticsearch: unable to detect": "an engine that did not answer",
}


@dataclass(frozen=True)
class Check:
    """What rsyslogd said: whether it accepts the configuration, its complaints, and by name the
    warnings that are no reason to change anything."""

    accepted: bool
    complaints: tuple[str, ...]
    expected: tuple[str, ...] = ()

    @property
    def lacks_module(self) -> bool:
        """Whether a module that it loads is not installed."""
        return any(_NOT_LOADED in one for one in self.complaints)

    @property
    def is_misread(self) -> bool:
        """Whether rsyslogd says a file and a line that it cannot read."""
        return any(_PARSING in one for one in self.complaints)


def place_in(complaint: str) -> tuple[str, int] | None:
    """The file and the line that a complaint names, None where it names none."""
    found = _PLACE.search(complaint)
    return None if found is None else (found["file"], int(found["line"]))


def check_fragment(
    name: str,
    text: str,
    inherits: Sequence[str] = (),
    start_checks_s: float = 0.0,
    host: Path = Path("/etc"),
) -> Check:
    """Let the installed rsyslogd read the host's own configuration with the drop-in `text` in it,
    called `name`; raises Refused where the host has no such configuration, or no drop-ins."""
    main, folder = host / "rsyslog.conf", host / "rsyslog.d"
    try:
        config = main.read_text(encoding="utf-8", errors="surrogateescape")
        others = {
            path.name: path.read_text(encoding="utf-8", errors="surrogateescape")
            for path in sorted(folder.glob("*.conf"))
        }
    except OSError as bad:
        raise Refused(f"{bad.filename} cannot be read: {bad.strerror}") from bad
    if f"{folder}/" not in config:
        raise Refused(f"{main} includes nothing of {folder}: a fragment there has no effect")
    return check(config, inherits, start_checks_s, {**others, name: text}, f"{folder}/")


def check(
    config: str,
    inherits: Sequence[str] = (),
    start_checks_s: float = 0.0,
    fragments: Mapping[str, str] | None = None,
    includes: str = "",
) -> Check:
    """Let the installed rsyslogd read `config`, which may refer to the variables `inherits`, and
    whose path `includes` stands for the fragments; death by a signal is a rejection too.  It may
    wait `start_checks_s` for servers beside its work."""
    with tempfile.TemporaryDirectory(prefix="rsyslog-tune-") as folder:
        below = Path(folder) / "rsyslog.d"
        below.mkdir()
        path = Path(folder) / "rsyslog.conf"
        here = config.replace(includes, f"{below}/") if includes else config
        texts = {below / one: text for one, text in (fragments or {}).items()}
        for file, text in {path: here, **texts}.items():
            file.touch(mode=0o600)
            file.write_text(text, encoding="utf-8", errors="surrogateescape")
        return _verdict(str(path), own_environment(*inherits), start_checks_s, f"{folder}/")


def check_files(paths: Sequence[str], texts: Iterable[str], modules: Sequence[str]) -> Check:
    """Let the installed rsyslogd read files of the user's as they are, one after the other, behind
    the `modules` that the file around them loads; `texts` are those of all that it will read.  It
    reaches no server.  Raises Refused where code of the user's would run as it reads."""
    _require_harmless(texts)
    if len(paths) > 1 or modules:
        return check(loading_first(modules) + "".join(map(_including, paths)))
    return _verdict(paths[0], own_environment() | _without_servers())


def loading_first(modules: Sequence[str]) -> str:
    """What stands before a drop-in: statements that load these modules."""
    return "".join(f"module(load={quote(one)})\n" for one in modules)


def _including(path: str) -> str:
    return f"include(file={quote(str(Path(path).absolute()))})\n"


def check_text(text: str) -> Check:
    """The same of the text of somebody else's configuration."""
    _require_harmless([text])
    return check(text)


def _require_harmless(texts: Iterable[str]) -> None:
    if any(map(_is_code, texts)):
        raise Refused("it loads modules by their paths, or sets what rsyslogd obeys as it reads")


def _without_servers() -> dict[str, str]:
    return dict.fromkeys(("http_proxy", "https_proxy"), _NOWHERE)


def _verdict(
    path: str, environment: Mapping[str, str], start_checks_s: float = 0.0, folder: str = ""
) -> Check:
    """What rsyslogd says of a file, in whose names `folder` is left out."""
    command = [rsyslogd(), "-N1", "-f", path]
    result = run(command, _TIMEOUT_S + start_checks_s, environment=environment)
    lines = [line.replace(folder, "") for line in result.stderr.splitlines()]
    said = _complaints(lines)
    if result.returncode < 0:
        said.append(f"rsyslogd crashed on it with {describe_exit(result.returncode)}")
    complaints = [line for line in said if _expected(line) is None]
    return Check(
        result.returncode == 0,
        (*packages_to_install(complaints), *complaints),
        tuple(dict.fromkeys(filter(None, map(_expected, said)))),
    )


def _expected(line: str) -> str | None:
    """What a warning is about that is no reason to change anything; None of any other line."""
    return next((what for words, what in _EXPECTED.items() if words in line), None)


def _complaints(lines: Sequence[str]) -> list[str]:
    """What rsyslogd says beside that it begins and ends."""
    own = ("version 8.", "End of config")
    return [line for line in lines if line.strip() and not any(word in line for word in own)]


def check_own(base: Base) -> Check:
    """What rsyslogd cannot read of the user's own files, with file and line, and which modules it
    lacks for them; nothing where it is not asked: what only root can read is not read by daemons,
    and no code of the user's is run.

    It starts nothing, runs as a daemon of ours does, and reaches no server: it asks those that a
    configuration names by a proxy that is not there.
    """
    paths = [str(Path(path).absolute()) for path in base.files]
    command = [rsyslogd(), "-N1", "-f"]
    is_asked = not runs_code(base) and all(Path(one).is_file() for one in paths)
    if not is_asked or not all(map(daemons_can_read, paths)):
        return Check(True, ())
    environment, modules = own_environment() | _without_servers(), not_loaded(base.block)
    if modules:
        with tempfile.NamedTemporaryFile("w", prefix="rsyslog-tune-", encoding="utf-8") as around:
            Path(around.name).chmod(0o644)
            around.write(loading_first(modules) + _including(paths[0]))
            around.flush()
            result = run_as_daemon([*command, around.name], _TIMEOUT_S, environment)
    else:
        result = run_as_daemon([*command, paths[0]], _TIMEOUT_S, environment)
    said = result.stderr.splitlines()
    complaints = [line for line in said if _PARSING in line or _NOT_LOADED in line]
    return Check(not complaints, (*packages_to_install(complaints), *complaints))


def runs_code(base: Base) -> bool:
    """Whether rsyslogd would load modules from elsewhere, or write a file, as it reads a base."""
    return any(_is_code(file.text) for file in base.files.values())


def _is_code(text: str) -> bool:
    return _RUNS_CODE.search(joined(text, "").text) is not None


def translated(path: str) -> str:
    """rsyslog's own YAML in the file `path`, and what it includes, as RainerScript that rsyslogd
    makes of it; like `check` it starts nothing.

    Raises ProgramMissing where rsyslogd is older than that, JobFailed where it refuses the file, or
    asks engines that do not answer for too long.
    """
    release = rsyslog_version()
    if int(release.partition(".")[2]) < _TRANSLATES:
        raise ProgramMissing(
            f"{path} is rsyslog's own YAML, which rsyslogd reads since 8.{_TRANSLATES}, and here "
            f"is {release}: choose a newer one with --rsyslogd, or run there rsyslogd -N1 "
            f"-F rainerscript -o rsyslog.conf -f {path}, and import what it writes"
        )
    # The translation has the passwords of the configuration: nobody else can enter the folder.
    with tempfile.TemporaryDirectory(prefix="rsyslog-tune-") as folder:
        script = Path(folder) / "rsyslog.conf"
        arguments = [rsyslogd(), "-N1", "-F", "rainerscript", "-o", str(script), "-f", path]
        result = run(arguments, _TRANSLATION_S)
        if script.is_file():
            return script.read_text(encoding="utf-8", errors="replace")
    said = "; ".join(_complaints(result.stderr.splitlines())[:_MOST_SAID])
    raise JobFailed(f"rsyslogd does not translate {path}: {said or 'it says nothing'}")


def _loading(modules: Iterable[str]) -> Check:
    """What rsyslogd says of a configuration that loads these; without an action it refuses one."""
    loads = [f'module(load="{one}")' for one in modules]
    return check("\n".join([*loads, 'action(type="omfile" file="/dev/null")']))


def require_omelasticsearch() -> None:
    """Raise ProgramMissing, with the package's name, unless rsyslogd loads its module
    omelasticsearch."""
    verdict = _loading(["omelasticsearch"])
    if not verdict.accepted:
        why = next(iter(verdict.complaints), "rsyslogd does not say why")
        raise ProgramMissing(why)


def missing_modules(modules: Iterable[str]) -> tuple[str, ...]:
    """A sentence for each of these that rsyslogd does not load, with what to install for it."""
    return packages_to_install(_loading(modules).complaints)


def packages_to_install(complaints: Sequence[str]) -> tuple[str, ...]:
    """What to install for the modules that rsyslogd could not load, one sentence for each."""
    ways = {module: to_install(package) for module, package in packages().items()}
    for module, release in packaged_since().items():
        ways[module] += f", which Debian has since rsyslog 8.{release}"
    ways |= dict.fromkeys(unpackaged(), "Debian has no package of it, rsyslog's repositories have")
    return tuple(
        f"{module} is not installed: {way}"
        for module, way in ways.items()
        if any(f"{_NOT_LOADED} '{module}'" in line for line in complaints)
    )
