"""`rsyslog-tune render`, a profile as files; and `diff`, what changes in them between two profiles,
or beside a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.profiles import form_of, load, templates_of
from tuner.cli.usage.profiles import DiffArguments, RenderArguments
from tuner.errors import BadUsage, DifferencesFound
from tuner.lint.load import STDIN, LoadedProfile, snippets_of
from tuner.profile.model import Profile
from tuner.render.artefacts import RSYSLOG, Artefact, base_files
from tuner.render.artefacts import render as artefacts_of
from tuner.render.export import exported, puppet_module
from tuner.render.form import Form, Format
from tuner.render.templates import Templates
from tuner.render.tree import Status, Tree, stale, unified

if TYPE_CHECKING:
    from tuner.deploy.objects import ClusterObject


# What each host needs, by its name and by kind.
_Needs = Mapping[str, Mapping[str, Sequence[str]]]


def render(options: RenderArguments) -> None:
    """Carry out `rsyslog-tune render`."""
    directory, inventory, output = options.directory, options.inventory, options.output
    compares = options.check or options.diff
    if options.stdout and (compares or directory is not None):
        raise BadUsage("--stdout cannot be combined with --check, --diff or -o")
    if options.file is not None and not options.stdout:
        raise BadUsage(f"{options.file}: a file name needs --stdout")
    if inventory is not None and options.format_ is not Format.PLAIN:
        raise BadUsage("--inventory and --format cannot be combined")
    site = templates_of(options.templates)
    loaded = load(options.profile)
    form = form_of(loaded, options)
    needs: _Needs = {}
    if inventory is None:
        artefacts = _exported(loaded.profile, site, form, options.format_, directory)
    else:
        # Only here: hosts are reached by what takes as long to import as a whole render.
        from tuner.cli.hosts import artefacts_for_hosts

        artefacts, needs = artefacts_for_hosts(loaded, options.profile, inventory, site, form)
    if options.file is not None:
        _print_file(artefacts, options.file, output)
        return
    if directory is None:
        if compares:
            raise BadUsage("--check and --diff compare with the files in a folder: name it with -o")
        _print(artefacts, output)
        return
    base = loaded.profile.base
    tree = Tree(artefacts, directory, () if base is None else base.kept.sources)
    if compares:
        _compare(tree, options.diff, output)
    else:
        _say_written(tree.write(), needs, directory, output)


def _exported(
    profile: Profile, site: Templates | None, form: Form, format_: Format, directory: Path | None
) -> tuple[Artefact, ...]:
    """The files of a profile that is the same for all hosts."""
    module = puppet_module(profile)
    if format_ is Format.PUPPET and directory is not None and directory.name != module:
        raise BadUsage(
            f"-o {directory}: Puppet finds a module by the name of its folder: end it in {module}"
        )
    template = None if profile.base is None else profile.base.kept.template
    if format_ is not Format.PLAIN and template is not None and not template.has_patterns:
        say(
            f"{template.file} has no index_patterns: what installs the files does not give it to "
            "the engine"
        )
    return exported(profile, artefacts_of(profile, site, form), format_, form, site)


def _say_written(
    done: Mapping[str, Status], needs: _Needs, directory: Path, output: OutputFormat
) -> None:
    states = {str(directory / path): status.value for path, status in done.items()}
    lines = [f"{state:<9}  {path}" for path, state in states.items()]
    for host, kinds in needs.items():
        listed = ((kind, ", ".join(names)) for kind, names in kinds.items() if names)
        lines += [f"{host} needs {kind}: {names}" for kind, names in listed]
    files = [path for path, state in states.items() if state != Status.REMOVED.value]
    fields = {"files": files, "status": states, "needs": needs}
    print_result(output, "render", fields, "\n".join(lines))


def _print(artefacts: Iterable[Artefact], output: OutputFormat) -> None:
    files = {artefact.path: artefact.text for artefact in artefacts}
    text = "\n".join(f"==> {path} <==\n{text}" for path, text in files.items())
    print_result(output, "render", {"text": files}, text)


def _print_file(artefacts: tuple[Artefact, ...], file: str, output: OutputFormat) -> None:
    """One file to its last byte, to be piped on."""
    chosen = [artefact for artefact in artefacts if artefact.path == file]
    if not chosen:
        names = ", ".join(artefact.path for artefact in artefacts)
        raise BadUsage(f"this profile renders no {file}, only {names}")
    if output is OutputFormat.JSON:
        _print(chosen, output)
    else:
        typer.echo(chosen[0].text, nl=False)


def _compare(tree: Tree, diff: bool, output: OutputFormat) -> None:
    states = tree.states
    old = stale(states)
    text = tree.diff().rstrip() if diff else ""
    print_result(output, "render-check", {"stale": list(old)}, text)
    tree.require_ours()
    if old:
        raise DifferencesFound(f"{len(old)} of {len(states)} files differ: {', '.join(old)}")


def diff(options: DiffArguments) -> None:
    """Carry out `rsyslog-tune diff`."""
    profile, other, elasticsearch = options.profile, options.other, options.elasticsearch
    site, output = templates_of(options.templates), options.output
    if other == STDIN:
        raise BadUsage("only the first profile can come from stdin")
    if other is not None and elasticsearch is None:
        _profiles(profile, other, site, output)
    elif other is None and elasticsearch is not None:
        _with_cluster(profile, elasticsearch, site, output)
    else:
        raise BadUsage("name either another profile or a cluster, --elasticsearch URL")


def _profiles(a: Path, b: Path, site: Templates | None, output: OutputFormat) -> None:
    """What two profiles render, file by file; what rsyslogd starts from is one file, however its
    name differs."""
    first, second = (load(path) for path in (a, b))
    before, after = (_rendered(loaded, site) for loaded in (first, second))
    if _main(second) not in before:
        before[_main(second)] = before.pop(_main(first))
    texts = {
        path: "".join(unified(path, before.get(path), after.get(path)))
        for path in sorted(before.keys() | after.keys())
    }
    differing = [path for path, text in texts.items() if text]
    files = [{"path": path, "diff": text} for path, text in texts.items()]
    fields = {"differs": bool(differing), "files": files}
    print_result(output, "diff", fields, "".join(texts.values()).rstrip())
    _require_same(differing, list(texts), "files")


def _require_same(differing: Sequence[str], names: Sequence[str], what: str) -> None:
    """Say that nothing differs of these; raises DifferencesFound where something does."""
    if differing:
        listed = ", ".join(differing)
        raise DifferencesFound(f"{len(differing)} of {len(names)} {what} differ: {listed}")
    say(f"the same: {', '.join(names)}")


def _main(loaded: LoadedProfile) -> str:
    """The path of what rsyslogd starts from."""
    base = loaded.profile.base
    return RSYSLOG if base is None else next(iter(base_files(base.kept).values())).path


def _rendered(loaded: LoadedProfile, site: Templates | None) -> dict[str, str]:
    files = artefacts_of(loaded.profile, site, Form(snippets_of(loaded)))
    return {file.path: file.text for file in files}


def _with_cluster(
    profile: Path, elasticsearch: str, site: Templates | None, output: OutputFormat
) -> None:
    # What asks an engine takes longer to import than a whole render.
    from tuner.deploy.objects import comparable_template, compare
    from tuner.engine.access import client_for

    wanted = load(profile).profile
    if wanted.base is not None:
        comparable_template(wanted.base.kept)
    with (
        working(f"reading {elasticsearch}"),
        contextlib.closing(client_for(elasticsearch, wanted)) as client,
    ):
        objects = compare(wanted, client, site)
    differing = [compared for compared in objects if compared.differs]
    fields = {"differs": bool(differing), "objects": [_fields(compared) for compared in objects]}
    text = "".join(compared.unified() for compared in differing).rstrip()
    print_result(output, "diff", fields, text)
    names = [f"{one.name}{' (missing)' * (one.found is None)}" for one in differing]
    _require_same(names, [compared.name for compared in objects], "objects")


def _fields(compared: ClusterObject) -> dict[str, object]:
    state = "missing" if compared.found is None else "differs" if compared.differs else "same"
    return {
        "name": compared.name,
        "state": state,
        "cluster": compared.found,
        "profile": compared.wanted,
        "diff": compared.unified(),
    }
