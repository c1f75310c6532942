"""`rsyslog-tune doctor`: what is installed, what is missing, and the command that installs it."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Annotated

import typer

from tuner.cli.console import result, result_json, working
from tuner.cli.options import OutputFormat, OutputOption, RsyslogdOption
from tuner.engines.release import Engine, Release
from tuner.engines.versions import DEFAULT, TESTED, Distribution, distribution_for
from tuner.errors import BadUsage, ProgramMissing
from tuner.host.installed import packages
from tuner.host.programs import choose_rsyslogd, java_for, maven, omelasticsearch, rsyslog_version
from tuner.host.usage import cores, memory_bytes
from tuner.lab.distribution import cached, fetch, home_of
from tuner.lab.scratch import remove_abandoned
from tuner.modules.registry import packages as modules
from tuner.schema.units import cores_text

# How --fetch names an engine.
_EXAMPLE = f"{DEFAULT.release.engine.value}-{'.'.join(map(str, DEFAULT.release.engine_version))}"
_PACKAGES = ("rsyslog", *dict.fromkeys(modules().values()), "openjdk-17-jre-headless", "maven")


@dataclass(frozen=True)
class Requirement:
    """One thing the tool needs: what was found, and what to do when it is missing."""

    what: str
    found: str
    missing: bool = False

    def __str__(self) -> str:
        return f"{'MISSING' if self.missing else 'ok':<7}  {self.what:<15}  {self.found}"


def doctor(
    fetch_engines: Annotated[
        list[str] | None,
        typer.Option(
            "--fetch",
            metavar="ENGINE-VERSION|default|all",
            help="Download an engine before a search needs it: that of a release, such as "
            f"{_EXAMPLE}, the default, or all tested ones; can be repeated.",
            show_default=False,
        ),
    ] = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """List what is installed and what is missing; exits with 69 if something is missing."""
    choose_rsyslogd(rsyslogd)
    for distribution in [one for text in fetch_engines or [] for one in _engines(text)]:
        if not home_of(distribution).is_dir():
            with working(f"downloading {_name(distribution)}; it is kept for later runs"):
                fetch(distribution)
    removed = [
        Requirement("removed", f"{left}, left by a killed run") for left in remove_abandoned()
    ]
    findings = [*_needed(), *_useful(), *removed]
    if output is OutputFormat.JSON:
        result_json({"schema": 1, "kind": "doctor", "findings": [asdict(f) for f in findings]})
    else:
        result("\n".join(map(str, findings)))
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
    if engine not in {one.value for one in Engine} or not re.fullmatch(r"\d+\.\d+", version):
        raise BadUsage(f"--fetch {text}: use {_EXAMPLE}, default or all")
    return (distribution_for(Release.model_validate({engine: version})),)


def _needed() -> list[Requirement]:
    lowest, highest = DEFAULT.java_lowest, DEFAULT.java_highest

    def java() -> str:
        found = java_for(lowest, highest)
        return f"{found.major}  {found.home}"

    return [
        _asked("rsyslogd", rsyslog_version),
        _asked("omelasticsearch", lambda: str(omelasticsearch())),
        _asked("java", java),
        maven_finding(cached()),
    ]


def maven_finding(engines: Sequence[Distribution]) -> Requirement:
    """Whether Maven is there, which only fetches engines: with one in the cache, as in a container
    that holds no more, it is not missed."""
    found = _asked("mvn", maven)
    if found.missing and engines:
        return Requirement("mvn", f"not installed; not needed for {', '.join(map(_name, engines))}")
    return found


def _asked(what: str, ask: Callable[[], str]) -> Requirement:
    try:
        return Requirement(what, ask())
    except ProgramMissing as error:
        return Requirement(what, str(error), missing=True)


def _useful() -> list[Requirement]:
    there = [f"{_name(one)}  {home_of(one)}" for one in cached()]
    engines = there or [f"{_name(DEFAULT)}, downloaded by the first search"]
    memory = f"{cores_text(cores())}, {memory_bytes() / 1024**3:.1f} GiB"
    installed = [
        Requirement("package", f"{p.name} {p.version}") for p in packages(_PACKAGES) if p.version
    ]
    kept = [Requirement("engine", engine) for engine in engines]
    return [*kept, Requirement("machine", memory), *installed]


def _name(distribution: Distribution) -> str:
    return f"{distribution.engine.value} {distribution.version}"
