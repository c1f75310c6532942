"""`rsyslog-tune advise`: what experts would change in a profile, before anything is measured."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import typer

from tuner.cli.console import OutputFormat, labelled, print_result, say, say_at_end, wrapped
from tuner.cli.options import LOCAL
from tuner.cli.profiles import CONFIGURATION, read_profile, require_configuration
from tuner.cli.usage.profiles import AdviseArguments
from tuner.diagnose.settings import base_of_profile
from tuner.engines.release import NEWEST_READ
from tuner.errors import BadUsage
from tuner.host.usage import cores, memory_bytes
from tuner.lab.check import require_bases_taken
from tuner.lint.advice import Advice
from tuner.lint.advice import advise as advice_for
from tuner.lint.candidate import candidate, with_main_queue
from tuner.lint.lint import summary
from tuner.lint.load import LoadedProfile
from tuner.lint.upgrade import Software, UpgradeStep, fault_json, faults_met, version_of
from tuner.profile.edit import flow, is_outside, moved, snippet_paths
from tuner.profile.layers import CHANGES
from tuner.profile.model import Profile
from tuner.profile.schema import full_name
from tuner.profile.source import at, read
from tuner.reading import resolved
from tuner.report.traffic import shares_of_actions
from tuner.rule import Rank
from tuner.schema.units import cores_text, size_bytes
from tuner.script.secrets import recordable_profile
from tuner.space.knob import level_text
from tuner.writing import write_new

_MEMORY = re.compile(r"[1-9][0-9]*[mg]")
_BUDGET = "30m"
_STDOUT = Path("-")
_MOST_FAULTS = 5
_NO_BULKS = (
    "No recipe fits: every event is a request of its own, and nothing makes up for that. Write "
    'bulkmode="on" first (RT409).'
)


def advise(options: AdviseArguments) -> None:
    """Carry out `rsyslog-tune advise`."""
    conf, profile, write = options.conf, options.profile, options.write
    require_configuration(conf, None if profile == LOCAL else profile)
    written = read_profile(conf or profile)
    if options.upgrade:
        if write is not None:
            raise BadUsage("--write: not with --upgrade, which changes nothing")
        # Imported here because advice alone does not need it.
        from tuner.cli.upgrade import advise_upgrade

        advise_upgrade(options, written)
        return
    if options.new_rsyslogd is not None or options.new_elasticsearch is not None:
        raise BadUsage("--new-rsyslogd and --new-elasticsearch need --upgrade")
    require_bases_taken([written.profile], runs_here=False)
    shares = _shares(written.profile)
    written = replace(written, profile=written.profile.tuning_by(dict(shares)))
    machine = options.cores or cores(), _memory(options.memory)
    advice = advice_for(written, *machine)
    repaired = {repair.code for repair in advice.repairs}
    warnings = [warning for warning in written.warnings if warning.code not in repaired]
    say_at_end(summary(warnings, Rank.LOSS))
    if write == _STDOUT:
        if options.output is OutputFormat.JSON:
            raise BadUsage("--write - prints a profile: leave --output json out")
        say("\n".join(_text(written, advice, shares, *machine)).rstrip())
        typer.echo(_profile(write, written, advice), nl=False)
        return
    if write is not None:
        text = _profile(write, written, advice)
        write_new({write: text}, [write] if recordable_profile(text) != text else [])
    next_command = _search_command(conf or profile)
    faults = _faults(written.profile)
    fields = {
        "profile": str(written.path),
        "measured": False,
        "cores": machine[0],
        "memory_bytes": machine[1],
        "engine": "local" if advice.is_local else "remote",
        "recipe": {"name": advice.recipe.name, "source": advice.recipe.source},
        "shares": dict(shares),
        "repairs": [vars(repair) | {"why": repair.why} for repair in advice.repairs],
        "changes": advice.changes,
        "left": advice.left,
        "faults": [
            {"at": [str(place) for place in step.at], **fault_json(step.fact)} for step in faults
        ],
        "written": None if write is None else str(write),
        "next": next_command,
    }
    lines = [
        *_text(written, advice, shares, *machine),
        *_faults_text(written.profile, faults),
        *([] if write is None else [f"written: {write}"]),
    ]
    print_result(options.output, "advice", fields, "\n".join([*lines, f"next: {next_command}"]))


def _shares(profile: Profile) -> Sequence[tuple[str, float]]:
    """The documents per event of each output, learnt in a lab; none if there are fewer than two
    outputs, the packages for measuring are not installed, or the lab fails."""
    if len(profile.indexed) < 2:
        return ()
    try:
        from tuner.cli.place import learnt_shares
    except ModuleNotFoundError:
        return ()
    return learnt_shares(profile)


def _faults(profile: Profile) -> tuple[UpgradeStep, ...]:
    """The known faults of its release of rsyslog that the configuration can meet."""
    release = version_of(profile.release.rsyslog)
    return faults_met(base_of_profile(profile), Software.RSYSLOG, release)


def _faults_text(profile: Profile, faults: Sequence[UpgradeStep]) -> Iterator[str]:
    if not faults:
        return
    newest = f"8.{NEWEST_READ}"
    release = profile.release.rsyslog
    yield wrapped(f"Known faults of rsyslog {release} that this configuration can meet:", "")
    for step in faults[:_MOST_FAULTS]:
        fact = step.fact
        yield wrapped(f"{fact.what} ({fact.effect}, {fact.state}; {fact.source})", "    ", "  - ")
    if len(faults) > _MOST_FAULTS and release != newest:
        more = f"{len(faults) - _MOST_FAULTS} more"
        yield wrapped(
            f"{more}: --upgrade rsyslog={newest} lists what a newer one mends", "    ", "  - "
        )
    yield ""


def _memory(text: str | None) -> int:
    if text is None:
        return memory_bytes()
    if _MEMORY.fullmatch(text) is None:
        raise BadUsage(f"--memory {text} is not a size: use 512m or 16g")
    return size_bytes(text)


def _search_command(profile: Path) -> str:
    """The command line of a search, which measures what the advice only suggests."""
    file = ["--conf", str(profile)] if profile.suffix == CONFIGURATION else [str(profile)]
    return shlex.join(["rsyslog-tune", "search", *file, "--budget", _BUDGET])


def _text(
    written: LoadedProfile,
    advice: Advice,
    shares: Sequence[tuple[str, float]],
    cores: float,
    memory: int,
) -> Iterator[str]:
    output, name = written.profile.measured, partial(full_name, written.profile)
    facts = (
        cores_text(cores),
        f"{memory / 1024**3:.1f} GiB",
        f"engine on {'the same machine' if advice.is_local else 'other machines'}",
        f"number_of_replicas {output.index.settings.number_of_replicas}",
        f"tier {written.profile.guardrails.tier.value}",
    )
    yield wrapped(f"Advice for {written.path}, not measured ({', '.join(facts)})", "")
    yield from (wrapped(f"{line}.", "") for line in shares_of_actions(written.profile, shares))
    recipe = advice.recipe
    for repair in advice.repairs:
        repair_rows = (("why", (repair.why,)), ("rule", (repair.code,)))
        settings = (f"{name(path)}: {level_text(level)}" for path, level in repair.changes)
        yield from ("", *settings, *labelled(repair_rows))
    for change in advice.changes:
        rows = (
            ("why", (change.why,)),
            ("price", change.price),
            ("takes", (change.takes,)),
            ("rule", (f"recipe: {recipe.name}",)),
        )
        yield from ("", f"{name(change.path)}: {change.levels}", *labelled(rows))
    if advice.changes:
        yield from ("", wrapped(f"The recipe comes from {recipe.source}.", ""))
    yield from _base_changes(written, advice)
    if not advice.sends_bulks:
        yield from ("", wrapped(_NO_BULKS, ""))
    elif not advice.settings:
        search = written.profile.search
        keys = " and ".join(f"search.{key}" for key in ("only", "freeze") if getattr(search, key))
        scope = f" in what {keys} of the profile leaves open" if keys else ""
        yield from ("", f"Nothing to change{scope}: what fits of the recipe is there already.")
    if advice.left:
        yield from ("", "Left to a search, which measures whether they are worth what they cost:")
        for change in advice.left:
            price = "; ".join(change.price)
            yield wrapped(f"{name(change.path)}: {change.levels}: {price}", "  ", "- ")
    yield ""


def _base_changes(written: LoadedProfile, advice: Advice) -> Iterator[str]:
    """Lists the parameters to set in the base, and those that a new main_queue() has to repeat."""
    if written.profile.base is not None and advice.settings:
        texts = (written.text, candidate(written, advice.settings).text)
        before, after = (at(read(text, "").data, (CHANGES,)) for text in texts)
        changes = before if isinstance(before, dict) else {}
        yield from ("", "In the configuration itself (what --write puts into changes):")
        for key, value in after.items() if isinstance(after, dict) else ():
            if key not in changes or changes[key] != value:
                yield f"  {key}: {'not set' if value is None else flow(value)}"
    if remark := with_main_queue(written.profile, dict(advice.settings)):
        yield from ("", wrapped(remark, ""))


def _profile(file: Path, written: LoadedProfile, advice: Advice) -> str:
    """The text of the profile with the advice, its relative paths rewritten for the folder of
    `file`.  Raises BadUsage if a snippet beside the profile would be missing there."""
    text, folder = candidate(written, advice.settings).text, file.parent
    leaf = read(text, str(written.path))
    inside = [name for path in snippet_paths(leaf.data)
              if not is_outside(name := str(at(leaf.data, path)))]  # fmt: skip
    if inside and resolved(folder) != resolved(written.path.parent):
        raise BadUsage(f"--write {file}: {inside[0]} stands beside the profile: write it there too")
    return moved(leaf, folder)
