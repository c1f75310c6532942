"""The layer `rsyslogd -N1`: the real daemon reads the whole rendered configuration.  Its complaints
are sorted: faults of the files, complaints that do not stop it, and what only this machine lacks.

Necessary and not sufficient: it accepts nonsense queue sizes, and it crashes on some bad
configurations, which counts as rejecting them.  It ends with 1 whichever complaint it has.  Each
sort was run on a real 8.2302: what stands in `runs` and `here` starts and passes events, there or
where the machine has what is missing.

It starts nothing and runs as the user who asks, not as `nobody`: rsyslogd reads its configuration
as root, and what only root may read (secrets, keys, rulebases) would be reported as missing.
"""

from __future__ import annotations

import re
import tempfile
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext, suppress
from dataclasses import dataclass, replace
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING

from tuner.errors import JobFailed, ProgramMissing, Refused
from tuner.host.process import daemons_can_read, describe_exit, own_environment, run, run_as_daemon
from tuner.host.programs import rsyslog_version, rsyslogd, to_install
from tuner.modules.registry import UNPACKAGED, every_package, packaged_since
from tuner.reading import content, table
from tuner.script.printing import printed
from tuner.script.quoting import quote
from tuner.script.script import not_loaded
from tuner.script.secrets import hidden
from tuner.script.tokens import SURROGATES, joined

if TYPE_CHECKING:
    from tuner.profile.model import Profile
    from tuner.script.objects import Base

PARSING = "error during parsing file"
"""What rsyslogd begins a complaint with that has a file and a line."""
NOT_LOADED = "could not load module"
LOADED_TWICE = "already in this config, cannot be added"
_PLACE = re.compile(rf"{PARSING} (?P<file>.+?), on or before line (?P<line>[0-9]+): ")
_FRAME = re.compile(r"^rsyslogd: *|\s*\[v8\.[^\]]*\]\s*$")
_TEXTS = table("lab/complaints.toml")
_RUNS, _HERE, _FOLLOWS = (
    re.compile("|".join(_TEXTS[sort])) for sort in ("runs", "here", "follows")
)
_UNKNOWN_OWNER = re.compile(r"\bID for (?:user|group) '?([^'\s]+)'? could not be found")
_OWNER = re.compile(
    r"""(\$(?:PrivDropTo(?:User|Group)|(?:File|Dir)(?:Owner|Group))[ \t]+|"""
    r"""\b(?:privdrop\.(?:user|group)\.name|(?:file|dir)(?:owner|group))\s*=\s*["'])([^\s"']+)""",
    re.IGNORECASE,
)
_INCLUDED = "error accessing config file or directory"
_NAME = re.compile(r"'([^'\s]+)'|(/[^\s',\]:]+)")
_MODULE = re.compile(rf"{NOT_LOADED} '([^']+)'")
_UNKNOWN_MODULE = re.compile(r"module name '([^']+)' is unknown")
_UNKNOWN_DIRECTIVE = "invalid or yet-unknown config file command"
_ONLY_WARNS = "warnings occurred in file '"
_MOST_SHOWN = 3


class Sort(Enum):
    """Whose matter a complaint is."""

    FAULT = "the files"
    RUNS = "nobody's: rsyslogd runs all the same"
    HERE = "this machine's"
    MODULE = "a module that this machine lacks"


@dataclass(frozen=True)
class Check:
    """What rsyslogd said of a configuration, by whose matter it is.

    `modules` are complaints about modules that are not installed here; `is_without` says that for
    want of something here a part of the configuration is left out, and `expected` are warnings, by
    name, that are no reason to change anything.
    """

    faults: tuple[str, ...] = ()
    runs: tuple[str, ...] = ()
    here: tuple[str, ...] = ()
    modules: tuple[str, ...] = ()
    is_without: bool = False
    expected: tuple[str, ...] = ()

    @property
    def accepted(self) -> bool:
        """Whether it takes the configuration as it is written."""
        return not self.faults and not self.modules

    @property
    def is_whole(self) -> bool:
        """Whether every part of the configuration has its effect here."""
        return not self.faults and not self.is_without

    @property
    def complaints(self) -> tuple[str, ...]:
        """Why it does not take the configuration, what to install first."""
        return (*packages_to_install(self.modules), *self.modules, *self.faults)

    @property
    def why_not(self) -> str:
        """Its first complaints."""
        return shortened(self.complaints)

    @property
    def remarks(self) -> Iterator[str]:
        """A sentence on what rsyslogd says of what it accepts."""
        if self.runs:
            yield f"rsyslogd says, and runs all the same: {shortened(self.runs)}"
        if self.here:
            yield f"rsyslogd complains of this machine, not of the files: {shortened(self.here)}"

    @property
    def owners(self) -> dict[str, str]:
        """The complaints about users and groups that are not known here, by their names: rsyslogd
        may end at one, and what follows is then not known."""
        return {name: line for line in self.here for name in _UNKNOWN_OWNER.findall(line)}


def packages_to_install(complaints: Sequence[str]) -> tuple[str, ...]:
    """What to install for the modules that rsyslogd could not load, one sentence for each."""
    ways = {module: to_install(package) for module, package in every_package().items()}
    for module, release in packaged_since().items():
        ways[module] += f", which Debian has since rsyslog 8.{release}"
    ways |= dict.fromkeys(UNPACKAGED, "Debian has no package of it: see rsyslog's repositories")
    return tuple(
        f"{module} is not installed: {way}"
        for module, way in ways.items()
        if any(f"{NOT_LOADED} '{module}'" in line for line in complaints)
    )


def shortened(complaints: Sequence[str]) -> str:
    """The first complaints, each with its place as FILE:LINE, and how many more there are."""
    first = [_PLACE.sub(r"\g<file>:\g<line>: ", line) for line in complaints[:_MOST_SHOWN]]
    more = len(complaints) - _MOST_SHOWN
    return "; ".join((*first, *([f"and {more} more"] if more > 0 else ())))


def place_in(complaint: str) -> tuple[str, int] | None:
    """The file and the line that a complaint names, None where it names none."""
    place = _PLACE.search(complaint)
    return None if place is None else (place["file"], int(place["line"]))


def owned_by_root(text: str, names: Container[str]) -> str:
    """A configuration in which root stands for users and groups of these names; lines stay."""
    return _OWNER.sub(lambda owner: f"{owner[1]}root" if owner[2] in names else owner[0], text)


def classified(lines: Sequence[str]) -> Check:
    """rsyslogd's lines by whose matter they are, each once and without what stands around its
    words."""
    words = list(dict.fromkeys(_FRAME.sub("", line).strip() for line in lines))
    sorts = dict(_sorted(words))
    by_sort: dict[Sort, list[str]] = {sort: [] for sort in Sort}
    for line, sort in sorts.items():
        if not (_FOLLOWS.search(line) and by_sort[sort]):
            by_sort[sort].append(line)
    faults, runs, here, modules = (tuple(by_sort[sort]) for sort in Sort)
    is_without = any(
        PARSING in line for line, sort in sorts.items() if sort in {Sort.HERE, Sort.MODULE}
    )
    return Check(faults, runs, here, modules, is_without)


def _sorted(lines: Sequence[str]) -> Iterator[tuple[str, Sort]]:
    modules = {name for line in lines for name in _MODULE.findall(line)}
    missing = set[str]()
    before: Sort | None = None
    places = dict[tuple[str, int], Sort]()
    for line in lines:
        place = place_in(line)
        if _FOLLOWS.search(line):
            sort = before or (Sort.RUNS if _ONLY_WARNS in line else Sort.FAULT)
        else:
            sort = _sort(line, modules, missing)
            if sort is Sort.FAULT and place in places:
                sort = places[place]
        if sort is Sort.HERE:
            names = _NAME.findall(_PLACE.sub("", line))
            missing.update(name for pair in names for name in pair if name)
        if sort in {Sort.HERE, Sort.MODULE} and place is not None:
            places[place] = sort
        before = sort
        yield line, sort


def _sort(line: str, modules: set[str], missing: set[str]) -> Sort:
    """Whose matter a line is by its words, and by what was found to be missing before it."""
    unknown = _UNKNOWN_MODULE.search(line)
    is_of_module = unknown is not None and unknown[1] in modules
    if NOT_LOADED in line or is_of_module or (modules and _UNKNOWN_DIRECTIVE in line):
        return Sort.MODULE
    if LOADED_TWICE in line or _RUNS.search(line):
        return Sort.RUNS
    words = _PLACE.sub("", line)
    if _INCLUDED not in line and (_HERE.search(line) or any(name in words for name in missing)):
        return Sort.HERE
    return Sort.FAULT


_TIMEOUT_S = 20.0
# Since 8.2510 it asks servers, one after the other; how many a file names is not known beforehand.
_TRANSLATION_S = 60.0
_TRANSLATES = 2604
_MOST_OWNERS = 20
# How it ends where global(abortOnUncleanConfig="on") forbids what it could run with.
_UNCLEAN = 2
_NO_START = "it does not start: abortOnUncleanConfig is on"
# Nobody listens on the port for discarding (RFC 863).
_NOWHERE = "http://127.0.0.1:9"
# Between two words of an object.
_GAP = r"(?:\s|\#[^\n]*|/\*(?:[^*]++|\*(?!/))*+\*/)*+"
# A module by its path or in another folder, which an escape may hide, and files that rsyslogd
# writes at once.
_RUNS_CODE = re.compile(
    rf"""\$(?:ModDir|ModLoad\s+[^\s#]*/|Debug\w+)\b|\bload{_GAP}={_GAP}(?:"[^"]*[/\\]|`)|"""
    rf"""\b(?:debug\.\w+|stdlog\.channelspec|defaultopensslengine|environment){_GAP}=""",
    re.IGNORECASE,
)


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
        config = content(main).decode(errors="surrogateescape")
        others = {
            path.name: content(path).decode(errors="surrogateescape")
            for path in sorted(folder.glob("*.conf"))
        }
    except OSError as bad:
        raise Refused(f"{bad.filename} cannot be read: {bad.strerror}") from bad
    if f"{folder}/" not in config:
        raise Refused(f"{main} includes nothing of {folder}: a fragment there has no effect")
    verdict = check(config, inherits, start_checks_s, {**others, name: text}, f"{folder}/")
    # What the fragment says of such a module would have no effect.
    twice = tuple(line for line in verdict.runs if LOADED_TWICE in line)
    return replace(verdict, faults=(*verdict.faults, *twice))


def check(
    config: str,
    inherits: Sequence[str] = (),
    start_checks_s: float = 0.0,
    fragments: Mapping[str, str] | None = None,
    includes: str = "",
    called: str = "rsyslog.conf",
) -> Check:
    """Let the installed rsyslogd read `config`, which may refer to the variables `inherits`, and
    whose path `includes` stands for the fragments; death by a signal is a rejection too.  It may
    wait `start_checks_s` for servers beside its work.  Where it ends at users or groups that this
    machine lacks, it reads on with others.  What it says names the file as it is `called`."""
    with tempfile.TemporaryDirectory(prefix="rsyslog-tune-") as folder:
        below = Path(folder) / "rsyslog.d"
        below.mkdir()
        path = Path(folder) / "rsyslog.conf"
        main = config.replace(includes, f"{below}/") if includes else config
        texts = {path: main, **{below / name: text for name, text in (fragments or {}).items()}}
        for file in texts:
            file.touch(mode=0o600)
        owners: dict[str, str] = {}
        while True:
            for file, text in texts.items():
                file.write_text(text, encoding="utf-8", errors="surrogateescape")
            printed_there, code = _asked(str(path), own_environment(*inherits), start_checks_s)
            output = printed_there.replace(str(path), called).replace(f"{folder}/", "")
            verdict = _verdict(output, code)
            unknown = verdict.owners
            if unknown.keys() <= owners.keys() or len(owners) >= _MOST_OWNERS:
                lacking = dict.fromkeys((*owners.values(), *verdict.here))
                return replace(verdict, here=tuple(lacking))
            owners |= unknown
            texts = {file: owned_by_root(text, unknown) for file, text in texts.items()}


def loading_first(modules: Sequence[str]) -> str:
    """What stands before a drop-in: statements that load these modules."""
    return "".join(f"module(load={quote(module)})\n" for module in modules)


def _asked(
    path: str, environment: Mapping[str, str], start_checks_s: float = 0.0, by_daemon: bool = False
) -> tuple[str, int]:
    """What rsyslogd prints, and its exit code."""
    command = [rsyslogd(), "-N1", "-f", path]
    if by_daemon:
        result = run_as_daemon(command, _TIMEOUT_S, environment)
    else:
        result = run(command, _TIMEOUT_S + start_checks_s, environment=environment)
    return result.stderr, result.returncode


def _verdict(text: str, code: int) -> Check:
    """What rsyslogd said with this text and this exit code."""
    lines = _complaints(text.splitlines())
    verdict = classified([line for line in lines if _expected(line) is None])
    # Another code is that of a signal, or of abortOnUncleanConfig, with which it does not start.
    is_unclean = code not in {0, 1} and not (verdict.here or verdict.modules)
    faults = (*verdict.faults, *(verdict.runs if is_unclean else ()))
    if is_unclean and code == _UNCLEAN:
        faults = (*faults, _NO_START)
    if code < 0:
        faults = (*faults, f"rsyslogd crashed on it with {describe_exit(code)}")
    elif code and not any((faults, verdict.runs, verdict.here, verdict.modules)):
        faults = (f"rsyslogd ends with {describe_exit(code)}",)
    return replace(
        verdict,
        faults=faults,
        runs=() if is_unclean else verdict.runs,
        expected=tuple(dict.fromkeys(filter(None, map(_expected, lines)))),
    )


def _expected(line: str) -> str | None:
    """What a warning is about that is no reason to change anything; None of any other line."""
    expected = _TEXTS["expected"].items()
    return next((str(subject) for words, subject in expected if re.search(words, line)), None)


def _complaints(lines: Sequence[str]) -> list[str]:
    """What rsyslogd says beside that it begins and ends; it quotes lines."""
    frame = re.compile(r"version 8\.|End of config|^\s*$")
    return [hidden(line) for line in lines if not frame.search(line)]


def check_own(base: Base, *, is_copy: bool = False) -> Check | None:
    """What rsyslogd says of the user's own files as they are, or together as one text where they
    are a copy of a host's, which name files of that; None where it is not asked, as code of the
    user's would run.

    It starts nothing, and reaches no server: it asks those that a configuration names by a proxy
    that is not there.  It runs as a daemon of ours does, where that can read the files.
    """
    if runs_code(base):
        return None
    paths = [str(Path(path).absolute()) for path in base.files]
    modules = not_loaded(base.block)
    variables = base.variables
    if is_copy or not paths or not all(Path(path).is_file() for path in paths):
        return check(text_of_base(base), variables)
    by_daemon = all(map(daemons_can_read, paths))
    nowhere = dict.fromkeys(("http_proxy", "https_proxy"), _NOWHERE)
    environment = own_environment(*variables) | nowhere
    if modules:
        with tempfile.NamedTemporaryFile("w", prefix="rsyslog-tune-", encoding="utf-8") as around:
            Path(around.name).chmod(0o644)
            around.write(loading_first(modules) + f"include(file={quote(paths[0])})\n")
            around.flush()
            verdict = _verdict(*_asked(around.name, environment, by_daemon=by_daemon))
    else:
        verdict = _verdict(*_asked(paths[0], environment, by_daemon=by_daemon))
    return check(text_of_base(base), variables, called=paths[0]) if verdict.owners else verdict


def text_of_base(base: Base) -> str:
    """A configuration as one text: its own bytes, where no other file takes part."""
    texts = [file.text for file in base.files.values()]
    is_alone = len(texts) == 1 and "include" not in texts[0].lower()
    modules = loading_first(not_loaded(base.block))
    return modules + (texts[0] if is_alone else printed(base.block))


def require_taken(
    base: Base, *, is_copy: bool = False, runs_here: bool = True, with_all: bool = False
) -> None:
    """Raise JobFailed where rsyslogd does not run with the user's files as they are; where they
    are to run here also, and ProgramMissing for a module, where a part has no effect on this
    machine, or, where that is to be with all modules, one is not installed."""
    verdict = check_own(base, is_copy=is_copy)
    if verdict is None or not (
        verdict.faults
        or (runs_here and not verdict.is_whole)
        or (with_all and not verdict.accepted)
    ):
        return
    path = next(iter(base.files), "the configuration")
    why = verdict.why_not or shortened(verdict.here)
    verb = "leaves out a part of" if verdict.accepted else "rejects"
    kind = JobFailed if verdict.faults or not verdict.modules else ProgramMissing
    raise kind(f"rsyslogd {verb} {path} as it is: {hidden(why)}")


def require_bases_taken(profiles: Sequence[Profile], *, runs_here: bool = True) -> None:
    """Raise JobFailed and ProgramMissing where rsyslogd rejects the configuration that a profile
    stands on; what does not run here is only held against it where an rsyslogd is installed."""
    bases = [profile.base.kept for profile in profiles if profile.base is not None]
    with nullcontext() if runs_here else suppress(ProgramMissing):
        for base in {kept.written.text: kept for kept in bases}.values():
            rsyslog_version()
            require_taken(base.written, is_copy=bool(base.root), runs_here=runs_here)


def runs_code(base: Base) -> bool:
    """Whether rsyslogd would load modules from elsewhere, or write a file, as it reads a base."""
    return any(_RUNS_CODE.search(joined(file.text, "").text) for file in base.files.values())


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
            return script.read_text(encoding="utf-8", errors=SURROGATES)
    why = shortened(_complaints(result.stderr.splitlines())) or "it says nothing"
    raise JobFailed(f"rsyslogd does not translate {path}: {why}")


def _loading(modules: Iterable[str]) -> Check:
    """What rsyslogd says of a configuration that loads these; without an action it refuses one."""
    loads = [f'module(load="{module}")' for module in modules]
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
    return packages_to_install(_loading(modules).modules)
