"""`rsyslog-tune doctor`: what is installed, what is missing, and the command that installs it."""

from __future__ import annotations

import platform
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import chain

from tuner.cli.console import print_result, say, working
from tuner.cli.usage.hosts import EXAMPLE, DoctorArguments
from tuner.engines.release import NEWEST_READ, OLDEST, Engine, Release
from tuner.engines.versions import DEFAULT, TESTED, VERSIONS, Distribution, distribution_for
from tuner.errors import EXTRAS, BadUsage, ProgramMissing, library_missing
from tuner.host.programs import java_for, maven, rsyslog_version, ssh
from tuner.host.remote import connect
from tuner.host.usage import describe_machine
from tuner.lab.check import missing_modules, require_omelasticsearch
from tuner.lab.distribution import cached, fetch, home_of
from tuner.lab.scratch import remove_abandoned
from tuner.modules.registry import packages

_PACKAGES = ("rsyslog", *dict.fromkeys(packages().values()), "maven")
# The newest Python that tests ran on.
_NEWEST_PYTHON = (3, 14)


@dataclass(frozen=True)
class Requirement:
    """One thing the tool uses: what was found, and what to do when it is missing.

    `limits` is for what is not there, or not known to work, and only some commands need.
    """

    what: str
    found: str
    missing: bool = False
    limits: bool = False

    def __str__(self) -> str:
        mark = "MISSING" if self.missing else "limits" if self.limits else "ok"
        return f"{mark:<7}  {self.what:<15}  {self.found}"


def doctor(options: DoctorArguments) -> None:
    """Carry out `rsyslog-tune doctor`."""
    wanted = [*chain.from_iterable(map(_engines, options.fetch_engines or ()))]
    for distribution in wanted:
        if not home_of(distribution).is_dir():
            with working(f"downloading {_name(distribution)}; it is kept for later runs"):
                fetch(distribution)
    gone = (Requirement("removed", f"{path}, left by a killed run") for path in remove_abandoned())
    findings = [*_needed(), *_module_findings(), *_useful(), *gone]
    print_result(options.output, "doctor", {"findings": findings}, "\n".join(map(str, findings)))
    missing = [finding for finding in findings if finding.missing]
    if missing:
        raise ProgramMissing(f"{len(missing)} missing: {', '.join(f.what for f in missing)}")


def _engines(text: str) -> Sequence[Distribution]:
    """Those that a release such as `opensearch-2.19` names, `default`, or `all` that are tested."""
    if text == "all":
        return TESTED
    if text == "default":
        return (DEFAULT,)
    engine, _, version = text.partition("-")
    if engine not in {kind.value for kind in Engine} or not re.fullmatch(r"\d+\.\d+", version):
        raise BadUsage(f"--fetch {text}: use {EXAMPLE}, default or all")
    release = Release.model_validate({engine: version})
    distribution = distribution_for(release)
    if distribution.release != release:
        say(f"{text}: labs run {_name(distribution)} in its place")
    return (distribution,)


def _needed() -> list[Requirement]:
    rsyslogd = _asked("rsyslogd", rsyslog_version)
    return [
        rsyslogd if rsyslogd.missing else rsyslogd_finding(rsyslogd.found),
        _asked("omelasticsearch", require_omelasticsearch, "rsyslogd loads it"),
        _asked("java", _java),
        maven_finding(cached()),
        python_finding(sys.version_info[:2]),
        *_libraries(),
    ]


def _java() -> str:
    program = java_for(DEFAULT.java_lowest, DEFAULT.java_highest)
    return f"{program.major}  {program.home}"


def _module_findings() -> list[Requirement]:
    """The modules, beside omelasticsearch, that the real rsyslogd does not load, with their
    packages."""
    try:
        lacking = missing_modules(sorted(packages().keys() - {"omelasticsearch"}))
    except ProgramMissing:
        return []
    return [Requirement("rsyslog module", sentence, limits=True) for sentence in lacking]


def rsyslogd_finding(version: str) -> Requirement:
    """What profiles can be rendered for an rsyslogd of that version (`8.2302`)."""
    number = int(version.partition(".")[2])
    why = ""
    if number < OLDEST:
        why = f", older than 8.{OLDEST}: it may refuse what profiles are rendered to"
    elif number > NEWEST_READ:
        why = f", newer than 8.{NEWEST_READ}: parameters introduced since are not known"
    return Requirement("rsyslogd", f"{version}{why}", limits=bool(why))


def python_finding(version: tuple[int, int]) -> Requirement:
    """Whether tests ran on this Python."""
    if version > _NEWEST_PYTHON:
        newest = ".".join(map(str, _NEWEST_PYTHON))
        note = f"{platform.python_version()}, newer than {newest}, the newest that is tested"
        return Requirement("python", note, limits=True)
    return Requirement("python", f"{platform.python_version()}  {sys.executable}")


def _libraries() -> list[Requirement]:
    """The first of the libraries that measuring needs and that is not there."""
    lacking = next((name for name in EXTRAS["search"] if find_spec(name) is None), None)
    if lacking is None:
        return []
    return [Requirement("python library", str(library_missing(lacking, "a search")), missing=True)]


def maven_finding(engines: Sequence[Distribution]) -> Requirement:
    """Whether Maven is there, which only fetches engines: with one in the cache, as in a container
    that holds no more, it is not missed."""
    requirement = _asked("mvn", maven)
    if requirement.missing and engines:
        return Requirement("mvn", f"not installed; not needed for {', '.join(map(_name, engines))}")
    return requirement


def _asked(what: str, ask: Callable[[], object], found: str = "") -> Requirement:
    """What was found, else what the answer says."""
    try:
        answer = ask()
    except ProgramMissing as error:
        return Requirement(what, str(error), missing=True)
    return Requirement(what, found or str(answer))


def engine_finding(engine: Distribution) -> Requirement:
    """Whether a lab here can run an engine: its Java, and whether it is in the cache or can be
    fetched."""
    name = _name(engine)
    try:
        java = java_for(engine.java_lowest, engine.java_highest)
        place = str(home_of(engine))
        if not home_of(engine).is_dir():
            maven()
            place = "downloaded by the first search"
    except ProgramMissing as error:
        return Requirement("engine", f"{name} does not run here: {error}", limits=True)
    return Requirement("engine", f"{name}  Java {java.major}  {place}")


def _useful() -> list[Requirement]:
    here = connect("this machine", "local://")
    versions = {name: here.package(name) for name in _PACKAGES}
    installed = [
        Requirement("package", f"{name} {version}") for name, version in versions.items() if version
    ]
    by_ssh = _asked("ssh", ssh)
    if by_ssh.missing:
        needs = "apply, verify, import --host and cluster need it"
        by_ssh = Requirement("ssh", f"{by_ssh.found}; {needs}", limits=True)
    machine = Requirement("machine", describe_machine())
    return [*map(engine_finding, VERSIONS), by_ssh, machine, *installed]


def _name(distribution: Distribution) -> str:
    return f"{distribution.engine.value} {distribution.version}"
