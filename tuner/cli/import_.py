"""`rsyslog-tune import`: an existing configuration as a profile."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.hosts import InventoryOption, machines_of
from tuner.cli.options import OutputOption, RsyslogdOption, name_for
from tuner.deploy.files import HostFiles
from tuner.errors import BadProfile, BadUsage, DifferencesFound, JobFailed, Problem, Refused
from tuner.host.programs import choose_rsyslogd
from tuner.host.remote import connect
from tuner.importer.translate import translate
from tuner.importer.written import Imported, profile_text
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.lint.lint import summary
from tuner.lint.load import parse_profile
from tuner.rainerscript.configuration import Configuration, configuration
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.parser import parse
from tuner.rainerscript.script import Block
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form
from tuner.validate.equality import (
    EVENTS,
    Arrival,
    Discrepancy,
    delivered,
    discrepancies,
    varied_events,
    words_asked_for,
)
from tuner.validate.rsyslogd import translated


def import_(
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="FILE...",
            help="rsyslog's configuration, such as /etc/rsyslog.conf, and what it includes.",
        ),
    ] = None,
    profile: Annotated[
        Path | None,
        typer.Option("-o", "--output-file", metavar="PROFILE", help="The file to write."),
    ] = None,
    host: Annotated[
        str | None,
        typer.Option(
            metavar="HOST",
            help="Read the files on this host, /etc/rsyslog.conf where none is named: one of "
            "the inventory by its name, or an address such as ssh://USER@HOST.",
        ),
    ] = None,
    inventory: InventoryOption = None,
    verify: Annotated[
        bool,
        typer.Option(
            "--verify",
            help="Run the configuration and the rendered profile, each on an rsyslogd of its own, "
            "with the same 300 events, and list in which fields the documents differ.",
        ),
    ] = False,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Import an existing rsyslog configuration as a profile.

    Comments in the profile name the file and line that each section comes from.  Passwords in the
    configuration become references to files; the passwords themselves are written nowhere.  The
    profile is loaded and linted at once.  What it does not say of the configuration is listed with
    file and line, and the command exits with 2.  A profile that does not load is written all the
    same: each problem is listed with its place there, and the command exits with 78.

    rsyslog's own YAML (rsyslog.yaml) is translated by rsyslogd, 8.2604 or newer, and then imported:
    places are lines of that translation, which is written nowhere because it has the passwords.

    --verify sends to inputs of type imtcp, imptcp and imudp, and compares what reaches the engine,
    for which the built-in sink stands; both configurations get ports, addresses and folders of a
    lab, without TLS and passwords.  It exits with 2 where documents differ.
    """
    choose_rsyslogd(rsyslogd)
    read, at = _read(files or [], host, inventory)
    if not read.files:
        raise BadUsage("; ".join(one.message for one in read.refused))
    imported = translate(read, name_for(profile or Path(host or (files or read.files)[0])))
    text = profile_text(imported, [at + one for one in read.files])
    if profile is not None:
        snippets = imported.snippets.items()
        _write({profile: text, **{profile.parent / name: script for name, script in snippets}})
    try:
        loaded = parse_profile(text, str(profile or "the profile"))
    except BadProfile as bad:
        _print(imported, text, profile, output, bad.problems)
        say(_to_mend(profile))
        raise
    _print(imported, text, profile, output)
    for line in summary(loaded.warnings):
        say(line)
    form = Form(imported.snippets)
    found = _verified(read, rsyslog_conf(loaded.profile, form=form)) if verify else ()
    for one in found:
        say(f"{one.what} differs for {one.events} of {EVENTS} events, such as {one.example}")
    if imported.missing:
        raise DifferencesFound(f"parts of the configuration not imported: {len(imported.missing)}")
    if found:
        raise DifferencesFound("the profile does not deliver the same documents")


def _read(
    files: Sequence[Path], host: str | None, inventory: Path | None
) -> tuple[Configuration, str]:
    """The configuration, and what to write before the names of its files."""
    if host is None:
        if inventory is not None:
            raise BadUsage("--inventory needs --host: one host of it")
        if not files:
            raise BadUsage("name the configuration, such as /etc/rsyslog.conf, or a --host")
        return configuration(files, translate=_translated), ""
    relative = [str(one) for one in files if not one.is_absolute()]
    if relative:
        raise BadUsage(f"{relative[0]}: on a host, name a file by its whole path")
    machine = machines_of([host], inventory, None)[0]
    with working(f"reading the configuration of {machine.name}"):
        there = HostFiles(connect(machine.name, machine.address))
        read = configuration(files or [Path(machine.paths.configuration)], there)
    return read, f"{machine.name}:"


def _translated(path: str) -> str:
    """RainerScript of rsyslog's own YAML, and a word on what the places are."""
    script = translated(path)
    say(
        f"{path} is rsyslog's own YAML: places are lines of what rsyslogd -N1 -F rainerscript "
        f"-o FILE -f {path} writes"
    )
    return script


def _verified(read: Configuration, rendered: str) -> tuple[Discrepancy, ...]:
    """In what the documents of the original and of the rendered configuration differ."""
    block, _ = parse(rendered, "the rendered configuration")
    events = varied_events(words_asked_for(read.block))
    with working(f"running both configurations with {EVENTS} events"):
        original = _run("the configuration as it is", read.block, events)
        ours = _run("what the profile renders", block, events)
    found = discrepancies(original, ours)
    if not found:
        say(f"the same: {len(original)} documents of {EVENTS} events, with their indices and ids")
    return found


def _run(what: str, block: Block, events: Sequence[bytes]) -> tuple[Arrival, ...]:
    try:
        return delivered(block, events)
    except RsyslogdDied as bad:
        raise JobFailed(f"--verify could not run {what}: {bad}") from None


def _write(files: Mapping[Path, str]) -> None:
    """All files, or none where one exists."""
    for path in files:
        if path.exists() or path.is_symlink():
            raise Refused(f"{path} exists: name another file, or move it")
    for path, text in files.items():
        with path.open("x", encoding="utf-8") as file:
            file.write(text)


def _to_mend(profile: Path | None) -> str:
    """What to do with a profile that does not load."""
    if profile is None:
        return "this profile does not load: write it with -o FILE, and fix the problems below"
    return (
        f"{profile} is written but does not load: fix the problems below, then run rsyslog-tune "
        f"validate {profile}"
    )


def _print(
    imported: Imported,
    text: str,
    profile: Path | None,
    output: OutputFormat,
    problems: Sequence[Problem] = (),
) -> None:
    fields = {
        "profile": None if profile is None else str(profile),
        "text": text,
        "missing": [_plain(one) for one in imported.missing],
        "changed": [_plain(one) for one in imported.changed],
        "kept": [_plain(one) for one in imported.kept],
        "snippets": dict(imported.snippets),
        "problems": [asdict(one) | {"severity": one.severity.value} for one in problems],
    }
    print_result(output, "import", fields, text.rstrip("\n") if profile is None else str(profile))
    if output is OutputFormat.JSON:
        return
    listed = {
        "not imported": imported.missing,
        "kept as RainerScript": imported.kept,
        "changed": imported.changed,
    }
    for title, gaps in listed.items():
        for one in gaps:
            say(f"{one.origin}: {title}: {one.message}")
    if imported.snippets and profile is None:
        say(f"with -o its snippets are written too: {', '.join(imported.snippets)}")


def _plain(gap: Gap) -> dict[str, object]:
    return {**asdict(gap.origin), "message": gap.message}
