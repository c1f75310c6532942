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
from tuner.lint.upgrade import Software, Version, known_faults, version_of
from tuner.modules.registry import packages
from tuner.schema.numerals import counted

_PACKAGES = ("rsyslog", *dict.fromkeys(packages().values()), "maven")
# The newest Python that tests ran on.
_NEWEST_PYTHON = (3, 14)


@dataclass(frozen=True)
class Requirement:
    """One thing that the tool uses: what was found, or what to do if it is missing.

    `limits` means that it is missing, or not known to work, but only some commands need it.
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
    for distribution in [*chain.from_iterable(map(_engines, options.fetch_engines or ()))]:
        if not home_of(distribution).is_dir():
            with working(f"downloading {_name(distribution)}; it is kept for later runs"):
                fetch(distribution)
    left = (Requirement("removed", f"{path}, left by a killed run") for path in remove_abandoned())
    findings = [*_required(), *_module_findings(), *_optional(), *left]
    print_result(options.output, "doctor", {"findings": findings}, "\n".join(map(str, findings)))
    missing = [finding for finding in findings if finding.missing]
    if missing:
        raise ProgramMissing(f"{len(missing)} missing: {', '.join(f.what for f in missing)}")


def _engines(text: str) -> Sequence[Distribution]:
    """The engines that a --fetch names: a release such as `opensearch-2.19`, `default` or `all`."""
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


def _required() -> list[Requirement]:
    rsyslogd = _checked("rsyslogd", rsyslog_version)
    return [
        rsyslogd if rsyslogd.missing else rsyslogd_finding(rsyslogd.found),
        _checked("omelasticsearch", require_omelasticsearch, "rsyslogd loads it"),
        _checked("java", _java),
        maven_finding(cached()),
        python_finding(sys.version_info[:2]),
        *_libraries(),
    ]


def _java() -> str:
    program = java_for(DEFAULT.java_lowest, DEFAULT.java_highest)
    return f"{program.major}  {program.home}"


def _module_findings() -> list[Requirement]:
    """The modules, except omelasticsearch, that the installed rsyslogd cannot load, with the
    packages that have them."""
    try:
        lacking = missing_modules(sorted(packages().keys() - {"omelasticsearch"}))
    except ProgramMissing:
        return []
    return [Requirement("rsyslog module", sentence, limits=True) for sentence in lacking]


def rsyslogd_finding(version: str) -> Requirement:
    """Whether the parameters of this release of rsyslogd (`8.2302`) are known."""
    number = int(version.partition(".")[2])
    note = ""
    if number < OLDEST:
        note = f", older than 8.{OLDEST}: it may refuse what profiles are rendered to"
    elif number > NEWEST_READ:
        note = f", newer than 8.{NEWEST_READ}: parameters introduced since are not known"
    else:
        mended = _mended(version_of(version))
        if mended:
            version += (
                f"; {counted(mended, 'known fault')} of it mended by newer ones up to "
                f"8.{NEWEST_READ}: rsyslog-tune advise --conf FILE --upgrade rsyslog="
                f"8.{NEWEST_READ} says which concern yours"
            )
    return Requirement("rsyslogd", f"{version}{note}", limits=bool(note))


def _mended(release: Version) -> int:
    """How many known faults of a release the newest one does not have."""
    newest = (8, NEWEST_READ)
    return sum(not fact.holds(newest) for fact in known_faults(Software.RSYSLOG, release))


def python_finding(version: tuple[int, int]) -> Requirement:
    """Whether this version of Python is newer than those that are tested."""
    if version > _NEWEST_PYTHON:
        newest = ".".join(map(str, _NEWEST_PYTHON))
        note = f"{platform.python_version()}, newer than {newest}, the newest that is tested"
        return Requirement("python", note, limits=True)
    return Requirement("python", f"{platform.python_version()}  {sys.executable}")


def _libraries() -> list[Requirement]:
    """The first library that a search needs and that is not installed, if any."""
    lacking = next((name for name in EXTRAS["search"] if find_spec(name) is None), None)
    if lacking is None:
        return []
    return [Requirement("python library", str(library_missing(lacking, "a search")), missing=True)]


def maven_finding(engines: Sequence[Distribution]) -> Requirement:
    """Whether Maven is installed.  It only downloads engines, so it is not required if `engines`
    are cached, as in a container image."""
    requirement = _checked("mvn", maven)
    if requirement.missing and engines:
        return Requirement("mvn", f"not installed; not needed for {', '.join(map(_name, engines))}")
    return requirement


def _checked(what: str, check: Callable[[], object], found: str = "") -> Requirement:
    """The result of `check`, reported as `found` or as its own text; missing if it raises
    ProgramMissing."""
    try:
        answer = check()
    except ProgramMissing as error:
        return Requirement(what, str(error), missing=True)
    return Requirement(what, found or str(answer))


def engine_finding(engine: Distribution) -> Requirement:
    """Whether a lab on this machine can run an engine: its Java must be installed, and the engine
    cached, or Maven installed to download it."""
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


def _optional() -> list[Requirement]:
    here = connect("this machine", "local://")
    versions = {name: here.package(name) for name in _PACKAGES}
    installed = [
        Requirement("package", f"{name} {version}") for name, version in versions.items() if version
    ]
    ssh_client = _checked("ssh", ssh)
    if ssh_client.missing:
        needs = "apply, verify, import --host and cluster need it"
        ssh_client = Requirement("ssh", f"{ssh_client.found}; {needs}", limits=True)
    machine = Requirement("machine", describe_machine())
    return [*map(engine_finding, VERSIONS), ssh_client, machine, *installed]


def _name(distribution: Distribution) -> str:
    return f"{distribution.engine.value} {distribution.version}"
