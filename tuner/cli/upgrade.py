"""`rsyslog-tune advise --upgrade`: what a newer rsyslog or engine changes for a configuration."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

from tuner.cases.difference import RunDifference, differences
from tuner.cases.run import Came, Sent, Surface, run, surface
from tuner.cli.console import labelled, print_result, working, wrapped
from tuner.cli.usage.profiles import AdviseArguments
from tuner.diagnose.settings import base_of_profile
from tuner.engines.release import NEWEST_READ, Release
from tuner.engines.versions import VERSIONS
from tuner.errors import (
    BadProfile,
    BadUsage,
    DifferencesFound,
    JobFailed,
    Problem,
    ProgramMissing,
    Severity,
)
from tuner.flood.messages import Messages
from tuner.flood.spec import FloodSpec, Transport, loopback
from tuner.host.programs import choose_rsyslogd, require_program, rsyslog_version, rsyslogd
from tuner.lint.load import LoadedProfile
from tuner.lint.rules.base import refused_type
from tuner.lint.upgrade import (
    Software,
    UpgradePart,
    UpgradeStep,
    Version,
    fault_json,
    upgrade_steps,
    version_of,
)
from tuner.modules.input import TRANSPORTS
from tuner.profile.edit import edit
from tuner.profile.workload import MessageBytes
from tuner.schema.numerals import counted
from tuner.script.objects import Base
from tuner.traffic.wanted import wanted_by
from tuner.validate.layers import Layer

_UPGRADE = re.compile(r"(?:(\d+(?:\.\d+){1,2})\.\.)?(\d+(?:\.\d+){1,2})")
_EXAMPLE = "--upgrade rsyslog=8.2610 or --upgrade elasticsearch=8.19..9.5"
_MESSAGES = 60
# A warning, because an engine is only supposed; here it is named.
_TYPE = refused_type.code
# Messages are the same each time.
_RUN = "00000000"
_TITLES: Mapping[UpgradePart, str] = {
    UpgradePart.DIFFERS: "Behaves otherwise",
    UpgradePart.MEETS: "Known faults that it meets",
    UpgradePart.WARNS: "Is warned of",
    UpgradePart.LEAVES: "Known faults that it leaves behind",
    UpgradePart.BETTER: "Gets better",
}


@dataclass(frozen=True)
class _Upgrade:
    """One software from a release to a newer one, as the user wrote both."""

    software: Software
    before: str
    after: str

    @property
    def versions(self) -> tuple[Version, Version]:
        return version_of(self.before), version_of(self.after)

    def __str__(self) -> str:
        return f"{self.software.value} {self.before} to {self.after}"


def advise_upgrade(options: AdviseArguments, written: LoadedProfile) -> None:
    """Carry out `rsyslog-tune advise --upgrade`; raises DifferencesFound where something breaks."""
    if options.new_elasticsearch is not None and written.profile.base is not None:
        raise BadUsage(
            "--new-elasticsearch: a configuration has no index templates: name a profile"
        )
    upgrades = [_upgrade(text, written.profile.release) for text in options.upgrade or ()]
    base = base_of_profile(written.profile)
    steps = [
        step
        for upgrade in upgrades
        for step in upgrade_steps(base, upgrade.software, *upgrade.versions)
    ]
    steps.sort(key=lambda step: step.order)
    released = _released(written, upgrades, is_new=True)
    refused, warned = _lint_changes(_released(written, upgrades, is_new=False), released)
    ran = None
    if options.new_rsyslogd is not None:
        ran = _compared(base, options.new_rsyslogd)
    layer = None
    if options.new_elasticsearch is not None:
        layer = _engine_layer(released, options.new_elasticsearch)
    fields = {
        "profile": str(written.path),
        "upgrades": [str(upgrade) for upgrade in upgrades],
        "steps": [_step_json(step) for step in steps],
        "refused": refused,
        "warnings": warned,
        "compared": ran,
        "engine": layer,
    }
    name = str(written.path)
    lines = [
        *_text(name, upgrades, steps, refused, warned), *_engine_text(layer), *_run_text(ran),
    ]  # fmt: skip
    print_result(options.output, "upgrade", fields, "\n".join(lines))
    broken = sum(step.is_broken for step in steps) + len(refused)
    broken += 0 if layer is None else len(layer.errors)
    found = () if ran is None else ran.differences
    if broken or found:
        what = counted(broken, "thing") + (" breaks" if broken == 1 else " break")
        raise DifferencesFound(what if broken else counted(len(found), "difference"))


def _upgrade(text: str, release: Release) -> _Upgrade:
    name, _, versions = text.partition("=")
    found = _UPGRADE.fullmatch(versions)
    if found is None or name not in {software.value for software in Software}:
        raise BadUsage(f"--upgrade {text}: write {_EXAMPLE}")
    software = Software(name)
    is_rsyslog = software is Software.RSYSLOG
    if not is_rsyslog and found[1] is None and release.engine.value != name:
        raise BadUsage(f"--upgrade {text}: from which? The profile is for {release.engine.value}: "
                       f"write {name}=OLD..{found[2]}")  # fmt: skip
    before = found[1] or (release.rsyslog if is_rsyslog else release.engine_text)
    upgrade = _Upgrade(software, before, found[2])
    old, new = upgrade.versions
    if new <= old:
        told = "" if found[1] else ", which is what the profile or the installed rsyslogd says"
        raise BadUsage(f"--upgrade {text}: {found[2]} is not newer than {before}{told}")
    newest = (8, NEWEST_READ) if is_rsyslog else _newest(software)
    if new[:2] > newest:
        known = ".".join(map(str, newest))
        raise BadUsage(f"--upgrade {text}: releases up to {known} are known")
    return upgrade


def _newest(software: Software) -> Version:
    """The newest release of an engine that is known."""
    releases = (known.release for known in VERSIONS)
    return max(one.engine_version for one in releases if one.engine.value == software.value)


def _lint_changes(
    before: LoadedProfile | BadProfile, after: LoadedProfile | BadProfile
) -> tuple[list[Problem], list[Problem]]:
    """What lint refuses, and what it warns of, with the new releases alone."""
    old, new = (
        made.problems if isinstance(made, BadProfile) else made.warnings for made in (before, after)
    )
    known = {(problem.code, problem.line) for problem in old}
    came = [item for item in new if (item.code, item.line) not in known]
    broken = [item for item in came if item.severity is Severity.ERROR or item.code == _TYPE]
    return broken, [item for item in came if item not in broken]


def _released(
    written: LoadedProfile, upgrades: Sequence[_Upgrade], *, is_new: bool
) -> LoadedProfile | BadProfile:
    """The profile for the old or the new releases; what is wrong with it where it cannot be."""
    release = written.profile.release
    names = {"rsyslog": release.rsyslog, release.engine.value: release.engine_text}
    for upgrade in upgrades:
        if upgrade.software is not Software.RSYSLOG:
            names = {"rsyslog": names["rsyslog"]}
        version = upgrade.after if is_new else upgrade.before
        names[upgrade.software.value] = ".".join(version.split(".")[:2])
    try:
        return written.with_text(edit(written.text, {"release": names}))
    except BadProfile as bad:
        return bad


def _engine_layer(made: LoadedProfile | BadProfile, url: str) -> Layer | None:
    """What an engine of the new release makes of the index templates; None where lint refuses the
    profile for that release."""
    if isinstance(made, BadProfile):
        return None
    # Imported here because facts need no client of the engine.
    from tuner.engine.access import client_for
    from tuner.validate.engine import engine_layer

    with working(f"asking {url}"), closing(client_for(url, made.profile)) as client:
        return engine_layer(made, client)


@dataclass(frozen=True)
class _Compared:
    """What two rsyslogds made of the same messages: their releases, what differs, to which outputs
    something came, to which nothing, and what was not compared, with the reason."""

    releases: tuple[str, str]
    differences: tuple[RunDifference, ...]
    reached: tuple[str, ...]
    silent: tuple[str, ...]
    untested: tuple[str, ...]


def _compared(base: Base, new: Path) -> _Compared:
    """Send the same messages through the chosen rsyslogd and the one at `new`; nothing is left
    running."""
    require_program(new, "--new-rsyslogd")
    old, before, tested = Path(rsyslogd()), rsyslog_version(), surface(base)
    sent = _messages(base, tested)
    with working(f"sending {counted(len(sent), 'message')} through {before}"):
        first = _came(base, sent)
        repeated = first if isinstance(first, str) else _came(base, sent)
    try:
        choose_rsyslogd(new)
        after = rsyslog_version()
        with working(f"sending them through {after}"):
            other = _came(base, sent)
    finally:
        choose_rsyslogd(old)
    untested = [str(gap) for gap in tested.gaps] + [
        f"{action.origin}: whether omfile takes the path of its dynaFile"
        for _, action in base.of_kind("action") if action.get("dynaFile") is not None
    ]  # fmt: skip
    releases = (before, after)
    if isinstance(first, str) or isinstance(repeated, str) or isinstance(other, str):
        was, will = (came if isinstance(came, str) else "taken" for came in (first, other))
        if "taken" not in {was, will}:
            return _Compared(releases, (), (), (), (*untested, f"all: {was}"))
        number = len(sent)
        refused = RunDifference("rsyslogd", "the configuration", was, will, number, number)
        return _Compared(releases, (refused,), (), (), tuple(untested))
    came = {one.output for run in (first, other) for message in run for one in message}
    return _Compared(
        releases,
        differences(first, repeated, other),
        tuple(output for output in tested.outputs if output in came),
        tuple(output for output in tested.outputs if output not in came),
        tuple(untested),
    )


def _came(base: Base, sent: Sequence[Sent]) -> tuple[tuple[Came, ...], ...] | str:
    """What came of each message, or why rsyslogd does not take the configuration."""
    try:
        return run(base, sent)
    except (JobFailed, ProgramMissing) as refused:
        return str(refused)


def _messages(base: Base, tested: Surface) -> list[Sent]:
    """Messages that take the ways of the configuration, by its first input."""
    source, kind = next(iter(tested.inputs.items()), (None, None))
    if source is None or kind is None:
        raise BadUsage("--new-rsyslogd: the configuration has no input that takes messages here")
    facts, sizes = TRANSPORTS[kind], MessageBytes()
    sample = wanted_by(base, sizes.mean)
    spec = FloodSpec(
        Transport(("/dev/log" if facts.has_path else loopback(514),), kind),
        connections=1,
        sizes=sizes.sizes,
        seed=1,
        run_id=_RUN,
        format=facts.format,
        framing=facts.framings[0],
        sample=None if sample is None else sample.model_dump_json(),
    )
    messages, now = Messages(spec), time.time()
    return [Sent(source, messages.message(number, now)) for number in range(_MESSAGES)]


def _text(
    name: str,
    upgrades: Sequence[_Upgrade],
    steps: Sequence[UpgradeStep],
    refused: Sequence[Problem],
    warned: Sequence[Problem],
) -> Iterator[str]:
    yield wrapped(f"{', '.join(map(str, upgrades))}: what changes for {name}", "")
    broken = [step for step in steps if step.is_broken]
    if broken or refused:
        yield from ("", "Breaks: to be mended before")
    for problem in refused:
        yield wrapped(f"{problem}", "    ", "  - ")
    yield from _listed(broken)
    left = [step for step in steps if step not in broken]
    looked = [step for step in left if step.is_first]
    if looked:
        yield from ("", "To be looked at before: whether it concerns you, its condition decides")
    yield from _listed(looked)
    for part, title in _TITLES.items():
        of_part = [step for step in left if step.part is part and step not in looked]
        if of_part:
            yield from ("", title)
            yield from _listed(of_part)
    if warned:
        yield from ("", "Warned of by rsyslog-tune for the new releases")
        yield from (wrapped(str(problem), "    ", "  - ") for problem in warned)
    if not steps and not refused and not warned:
        yield from ("", "Nothing that is known concerns this configuration.")


def _listed(steps: Sequence[UpgradeStep]) -> Iterator[str]:
    for step in steps:
        fact = step.fact
        where = f"{step.where}: " if step.at else ""
        yield wrapped(f"{where}{fact.what}", "    ", "  - ")
        rows = [("is", (_kind(step),))]
        if fact.way_out and step.part is not UpgradePart.LEAVES:
            rows.append(("way out", (fact.way_out,)))
        if fact.has_no_way_back:
            rows.append(("back", ("the older release cannot read what the newer one wrote",)))
        rows.append(("source", (fact.source,)))
        yield from (f"  {line}" for line in labelled(rows))


def _kind(step: UpgradeStep) -> str:
    fact = step.fact
    if not fact.is_fault:
        return step.part.value
    return f"{fact.effect}, {fact.state}"


def _engine_text(layer: Layer | None) -> Iterator[str]:
    if layer is not None:
        yield from ("", "The index templates on the new engine")
        said = (layer.remark, *map(str, layer.problems), *layer.notes)
        yield from (wrapped(text, "    ", "  - ") for text in said if text)


def _run_text(ran: _Compared | None) -> Iterator[str]:
    if ran is None:
        return
    yield from ("", f"The same {_MESSAGES} messages through {' and '.join(ran.releases)}")
    yield from (wrapped(str(one), "    ", "  - ") for one in ran.differences)
    if not ran.differences:
        same = f"the same came to {', '.join(ran.reached)}" if ran.reached else "nothing to compare"
        yield wrapped(same, "    ", "  - ")
    if ran.silent:
        yield wrapped(f"no message came to {', '.join(ran.silent)}", "    ", "  - ")
    yield from (wrapped(f"not compared: {what}", "    ", "  - ") for what in ran.untested)


def _step_json(step: UpgradeStep) -> dict[str, object]:
    fact = step.fact
    return {
        "part": step.part.value,
        "at": [str(place) for place in step.at],
        "first": step.is_first,
        "sure": fact.is_sure,
        "no_way_back": fact.has_no_way_back,
        **fault_json(fact),
    }
