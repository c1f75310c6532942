"""`rsyslog-tune import`: a profile on top of an existing configuration, or of what it says."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, suppress
from dataclasses import asdict, replace
from pathlib import Path
from posixpath import normpath
from types import MappingProxyType
from typing import Annotated, Any, cast

import typer

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.hosts import InventoryOption, machines_of
from tuner.cli.options import OutputOption, RsyslogdOption
from tuner.cli.profiles import name_for
from tuner.deploy.files import HostFiles
from tuner.deploy.target import RemoteHost
from tuner.engine.access import client_for
from tuner.engine.field_uses import field_uses
from tuner.errors import (
    BadProfile,
    BadUsage,
    DifferencesFound,
    JobFailed,
    Problem,
    ProgramMissing,
)
from tuner.host.programs import choose_rsyslogd, rsyslog_version, version_in
from tuner.importer.release import as_profile
from tuner.importer.translate import translate
from tuner.importer.uses import with_uses
from tuner.importer.written import Imported, profile_text
from tuner.lab.rsyslogd import RsyslogdDied
from tuner.lint.lint import summary
from tuner.lint.load import parse_profile
from tuner.profile.model import Profile
from tuner.profile.starter import on_top_of
from tuner.rainerscript.configuration import (
    Configuration,
    configuration,
    loading_missing,
    require_read,
)
from tuner.rainerscript.gaps import Gap
from tuner.rainerscript.hiding import hidden
from tuner.rainerscript.legacy import modern
from tuner.rainerscript.native_yaml import is_native_yaml
from tuner.rainerscript.parser import parse
from tuner.rainerscript.script import Block
from tuner.rainerscript.tokens import SURROGATES
from tuner.render.artefacts import rsyslog_conf
from tuner.render.form import Form
from tuner.render.tree import write_new
from tuner.validate.delivery import delivered
from tuner.validate.equality import Delivered, Discrepancy, discrepancies
from tuner.validate.layers import Layer, original_layer, rsyslogd_layer
from tuner.validate.rsyslogd import translated
from tuner.validate.varied import EVENTS, varied_events, words_asked_for

_ReleaseOption = Annotated[
    str | None,
    typer.Option(
        metavar="RELEASE",
        help="The release of rsyslog that the profile is for, such as 8.2512; by default that of "
        "the rsyslogd here, or on HOST.",
    ),
]
_VerifyOption = Annotated[
    bool,
    typer.Option(
        "--verify",
        help="With --convert: run the configuration and the rendered profile, each on an "
        "rsyslogd of its own, with the same 300 events, and list in what the documents, files "
        "and forwarded lines differ.",
    ),
]
_UsesOption = Annotated[
    str | None,
    typer.Option(
        "--elasticsearch",
        metavar="URL",
        help="With --convert: ask this Elasticsearch or OpenSearch what has been searched in the "
        "indices of the configuration, and write it as the uses of the fields, which search needs "
        "for an explicit mapping. Only reads.",
    ),
]
_SecretsOption = Annotated[
    bool,
    typer.Option(
        "--with-secrets",
        help="With --convert and -o: copy statements with secrets that no file can stand for into "
        "snippets that only you may read, instead of leaving them out.",
    ),
]


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
    convert: Annotated[
        bool,
        typer.Option(
            "--convert",
            help="Say all of the configuration in the profile, which then takes its place, instead "
            "of standing on top of it.",
        ),
    ] = False,
    verify: _VerifyOption = False,
    with_secrets: _SecretsOption = False,
    elasticsearch: _UsesOption = None,
    release: _ReleaseOption = None,
    rsyslogd: RsyslogdOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Write a profile on top of an existing rsyslog configuration, or with --convert one of what
    that says.

    The configuration stays as it is, byte for byte: what a search finds is changed in it, parameter
    by parameter.  Of a --host its files are kept beside the profile, in PROFILE.files, to be
    checked in with it.

    With --convert the profile says all of it anew.  Comments in it name the file and line that each
    section comes from.  Secrets in the configuration become references to files; a statement with
    one that no file can stand for is left out.  The profile is loaded and linted at once.  What it
    does not say of the configuration is listed with file and line, and the command exits with 2; a
    profile that does not load is written all the same, with its problems listed, and exit 78.

    Where rsyslogd is installed, rsyslogd -N1 reads the configuration and what the profile renders:
    its verdict on both is said, and the command exits with 1 where it accepts only the first.

    rsyslog's own YAML (rsyslog.yaml) is translated by rsyslogd, 8.2604 or newer, and converted:
    places are lines of that translation, which is written nowhere because it has the passwords.

    --verify sends to inputs of type imtcp, imptcp, imudp, imfile and imuxsock, and compares what
    reaches the engine, for which the built-in sink stands, what is written into files or forwarded,
    the servers, the sockets listened on and the files read; both configurations get ports,
    addresses and folders of a lab, without TLS and passwords.  It exits with 2 where anything
    differs, with 1 where nothing arrives.
    """
    choose_rsyslogd(rsyslogd)
    if verify and not convert:
        raise BadUsage("--verify compares what a profile says anew: it needs --convert")
    if elasticsearch and not convert:
        raise BadUsage("--elasticsearch writes uses of fields into a profile: it needs --convert")
    if with_secrets and (not convert or profile is None):
        raise BadUsage("--with-secrets writes snippets for you alone: it needs --convert and -o")
    read, machine = _read(files or [], host, inventory, convert)
    require_read(read)
    known = _release(release, machine)
    if not convert:
        _on_top(read, files or [], machine, profile, known, output)
    else:
        name = name_for(profile or Path(host or (files or read.files)[0]))
        of_here = [] if machine is not None else [str(path) for path in files or ()]
        made = translate(read, name, known, with_secrets=with_secrets)
        imported = made if elasticsearch is None else _with_uses(made, elasticsearch)
        _converted(read, of_here, imported, machine, profile, verify, output)


def _converted(
    read: Configuration,
    of_here: Sequence[str],
    imported: Imported,
    machine: RemoteHost | None,
    profile: Path | None,
    verify: bool,
    output: OutputFormat,
) -> None:
    """Write a profile of what the configuration says; raises DifferencesFound where it does not say
    all of it."""
    at = "" if machine is None else f"{machine.machine.name}:"
    text = profile_text(imported, [at + one for one in read.files])
    if profile is not None:
        snippets = imported.snippets.items()
        files = {profile.parent / name: script for name, script in snippets}
        write_new({profile: text, **files}, files if imported.is_private else ())
    try:
        loaded = parse_profile(text, str(profile or "the profile"))
    except BadProfile as bad:
        _print(imported, text, profile, output, bad.problems)
        say(_to_mend(profile))
        raise
    form = Form(imported.snippets)
    verdicts = {
        ", ".join(at + one for one in of_here or read.files): original_layer(read, of_here),
        "what the profile renders": rsyslogd_layer(loaded, form=form),
    }
    _print(imported, text, profile, output, verdicts=verdicts)
    for line in summary(loaded.warnings):
        say(line)
    for line in _untunable(loaded.profile):
        say(line)
    before, after = (_said(what, layer) for what, layer in verdicts.items())
    if before and after is False:
        raise JobFailed("rsyslogd -N1 accepts the configuration, and not what the profile renders")
    found = _verified(read, rsyslog_conf(loaded.profile, form=form)) if verify else ()
    for one in found:
        say(str(one))
    if imported.missing:
        raise DifferencesFound(f"parts of the configuration not imported: {len(imported.missing)}")
    if found:
        raise DifferencesFound("the profile does not deliver the same")


def _with_uses(imported: Imported, url: str) -> Imported:
    """The profile with the uses of its fields that the engine tells."""
    profile = as_profile(imported.data)
    if profile is None or not profile.indexed:
        say(f"{url} is not asked: no output of the profile goes into an engine")
        return imported
    outputs: list[object] = []
    with working(f"asking {url} what is searched"), closing(client_for(url, profile)) as client:
        for one in cast(list[dict[str, Any]], imported.data["outputs"]):
            fields, index = one.get("document"), one.get("index", {})
            outputs.append(one)
            if not isinstance(fields, list):
                continue
            pattern = f"{index.get('name') or index.get('data_stream')}*"
            found = field_uses(client, pattern)
            if found is None:
                say(f"{one['name']}: {url} has no index {pattern}: its fields have no uses")
                continue
            outputs[-1] = {**one, "document": with_uses(fields, found.of_field)}
            what = f"are all that {pattern} serves, as {found.why}"
            if found.since is not None:
                since = found.since.astimezone().strftime("%Y-%m-%d %H:%M")
                what = f"are what has been searched in {pattern} since {since}"
            say(f"{one['name']}: the uses of its fields {what}; read them: an explicit mapping "
                "serves nothing else")  # fmt: skip
    return replace(imported, data={**imported.data, "outputs": outputs})


def _untunable(profile: Profile) -> Iterator[str]:
    """That nothing of a profile can be tuned, and what to do."""
    if not profile.outputs:
        yield (
            "no output is in the profile: all of them are kept as RainerScript, which can be "
            "neither measured nor tuned; without --convert the configuration is tuned where it "
            "stands"
        )
    elif not profile.indexed:
        yield ("no output goes into Elasticsearch or OpenSearch: search has nothing to measure")


def _said(what: str, layer: Layer) -> bool | None:
    """Whether rsyslogd takes a configuration, which is said."""
    if layer.passed is None:
        say(f"rsyslogd -N1 was not asked about {what}: {layer.remark}")
    else:
        verdict = "accepts" if layer.passed else "rejects"
        say(f"rsyslogd -N1 {verdict} {what}{': ' if layer.remark else ''}{layer.remark}")
    return layer.passed


def _on_top(
    read: Configuration,
    files: Sequence[Path],
    machine: RemoteHost | None,
    profile: Path | None,
    release: str | None,
    output: OutputFormat,
) -> None:
    """Write a profile on top of the configuration, and the files of a host beside it."""
    first, root, kept = Path(next(iter(read.sources))), None, dict[Path, str]()
    if machine is not None:
        if profile is None:
            raise BadUsage("name the profile, -o PROFILE: the files of the host are kept beside it")
        root = f"{profile.stem}.files"
        folder = profile.parent / root
        for there, raw in read.sources.items():
            # What a host names never leads out of the folder.
            kept[folder / normpath(there).lstrip("/")] = raw.decode("utf-8", SURROGATES)
        base = f"{root}{first}"
    elif files[0].is_absolute() or profile is None:
        base = str(files[0])
    else:
        base = os.path.relpath(files[0], profile.parent)
    text = on_top_of(base, name_for(profile or first), release, root)
    beside = [(str(path.absolute()), each) for path, each in kept.items()] or None
    here = read if machine is None else None
    loaded = parse_profile(text, str(profile or "the profile"), beside=beside, base=here)
    if profile is not None:
        private = {path for path, each in kept.items() if hidden(each) != each}
        write_new({**kept, profile: text}, private)
        for path in sorted(private):
            say(f"{path} holds a password or a key: only you may read it; keep it out of the "
                "repository, or have rsyslogd read that from a file")  # fmt: skip
    fields: dict[str, object] = {
        "profile": None if profile is None else str(profile),
        "text": text,
        "files": [str(path) for path in kept or read.sources],
    }
    there = "" if machine is None else f"{machine.machine.name}:"
    verdict = original_layer(read, [] if machine is not None else [str(first)])
    fields["rsyslogd"] = _verdicts({f"{there}{first}": verdict})
    print_result(output, "import", fields, text.rstrip("\n") if profile is None else str(profile))
    for line in summary(loaded.warnings):
        say(line)
    _said(f"{there}{first}", verdict)
    of_engine = len(loaded.profile.indexed)
    actions = "action goes" if of_engine == 1 else "actions go"
    if of_engine:
        say(f"{first} stays as it is; {of_engine} {actions} into an engine, and search "
            "finds better parameters for what leads there")  # fmt: skip
    else:
        say(f"no action of {first} goes into Elasticsearch or OpenSearch: search has nothing to "
            "measure")  # fmt: skip


def _release(wanted: str | None, machine: RemoteHost | None) -> str | None:
    """The release of rsyslog that the profile is for, which is said with the reason: as asked, that
    of the rsyslogd there, else here; None without one.  Raises BadUsage."""
    if wanted is not None:
        if re.fullmatch(r"8\.[0-9]{2,4}", wanted) is None:
            raise BadUsage(f"--release {wanted}: a release of rsyslog is written as 8.2512")
        return wanted
    found, where = None, "here"
    if machine is not None:
        where = f"on {machine.machine.name}"
        asked = machine.host.run(["sh", "-c", "PATH=$PATH:/usr/sbin:/sbin rsyslogd -v"])
        found = version_in(asked.out.decode(errors="replace"))
    else:
        with suppress(ProgramMissing):
            found = rsyslog_version()
    if found is None:
        say(f"release.rsyslog is the default, as there is no rsyslogd {where}: --release names it")
    else:
        say(f"release.rsyslog is {found}, that of the rsyslogd {where}: --release names another")
    return found


def _read(
    files: Sequence[Path], host: str | None, inventory: Path | None, convert: bool
) -> tuple[Configuration, RemoteHost | None]:
    """The configuration, and the host that it was read from; None for this machine."""
    if not convert:
        _require_one(files)
    if host is None:
        if inventory is not None:
            raise BadUsage("--inventory needs --host: one host of it")
        if not files:
            raise BadUsage("name the configuration, such as /etc/rsyslog.conf, or a --host")
        read = configuration(files, translate=_translated)
        for gap in read.unset:
            say(str(gap))
        return read, None
    relative = [str(one) for one in files if not one.is_absolute()]
    if relative:
        raise BadUsage(f"{relative[0]}: on a host, name a file by its whole path")
    machine = machines_of([host], inventory, None)[0]
    with working(f"reading the configuration of {machine.name}"):
        there = RemoteHost(machine)
        read = configuration(files or [Path(machine.paths.configuration)], HostFiles(there.host))
    return read, there


def _require_one(files: Sequence[Path]) -> None:
    """Raise BadUsage for what no profile can stand on."""
    if len(files) > 1:
        raise BadUsage(
            f"a profile stands on one file and what that includes: name {files[0]} alone, or "
            "--convert them, which reads several"
        )
    for path in files:
        if is_native_yaml(str(path)):
            raise BadUsage(f"{path} is rsyslog's own YAML, in which nothing is changed: --convert")


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
    # Of the original alone: what is rendered must load its modules itself.
    whole = (*loading_missing(modern(read.block)), *read.block)
    with working(f"running both configurations with {EVENTS} events"):
        original = _run("the configuration as it is", whole, events)
        ours = _run("what the profile renders", block, events)
    if not original.arrivals and not ours.arrivals:
        raise JobFailed(
            f"--verify has nothing to compare: of {EVENTS} events neither configuration delivers "
            "anything into an engine, a file or to another host"
        )
    found = discrepancies(original, ours)
    if not found:
        say(f"the same: {original.counted} of {EVENTS} events")
    return found


def _run(what: str, block: Block, events: Sequence[bytes]) -> Delivered:
    try:
        return delivered(block, events)
    except RsyslogdDied as bad:
        raise JobFailed(f"--verify could not run {what}: {bad}") from None


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
    verdicts: Mapping[str, Layer] = MappingProxyType({}),
) -> None:
    fields = {
        "profile": None if profile is None else str(profile),
        "text": text,
        "missing": [_plain(one) for one in imported.missing],
        "changed": [_plain(one) for one in imported.changed],
        "kept": [_plain(one) for one in imported.kept],
        "snippets": {
            name: "" if imported.is_private else text for name, text in imported.snippets.items()
        },
        "problems": [asdict(one) | {"severity": one.severity.value} for one in problems],
        "rsyslogd": _verdicts(verdicts),
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


def _verdicts(layers: Mapping[str, Layer]) -> list[dict[str, object]]:
    """What rsyslogd says, as plain data."""
    return [
        {"of": what, "accepted": layer.passed, "remark": layer.remark}
        for what, layer in layers.items()
    ]


def _plain(gap: Gap) -> dict[str, object]:
    return {**asdict(gap.origin), "message": gap.message}
