"""`rsyslog-tune render`: a profile as files."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

import typer

from tuner.cli.console import OutputFormat, print_result, say
from tuner.cli.profiles import form_of, load, templates_of
from tuner.cli.usage.profiles import RenderArguments
from tuner.errors import BadUsage, DifferencesFound
from tuner.profile.model import Profile
from tuner.render.artefacts import Artefact
from tuner.render.artefacts import render as artefacts_of
from tuner.render.export import exported, puppet_module
from tuner.render.form import Form, Format
from tuner.render.templates import Templates
from tuner.render.tree import Status, require_ours, stale, states_of, write
from tuner.render.tree import diff as difference

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
        from tuner.cli.hosts import for_hosts

        artefacts, needs = for_hosts(loaded, options.profile, inventory, site, form)
    if options.file is not None:
        _print_file(artefacts, options.file, output)
        return
    if directory is None:
        if compares:
            raise BadUsage("--check and --diff compare with the files in a folder: name it with -o")
        _print(artefacts, output)
        return
    base = loaded.profile.base
    read: Iterable[str] = () if base is None else base.kept.sources
    if compares:
        _compare(artefacts, directory, read, options.diff, output)
        return
    states = write(artefacts, directory, read)
    _say_written(states, needs, directory, output)


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
    if format_ is not Format.PLAIN and template is not None and not template.says_patterns:
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
        lines += [
            f"{host} needs {kind}: {', '.join(names)}" for kind, names in kinds.items() if names
        ]
    files = [str(directory / path) for path, status in done.items() if status is not Status.REMOVED]
    print_result(
        output, "render", {"files": files, "status": states, "needs": needs}, "\n".join(lines)
    )


def _print(artefacts: tuple[Artefact, ...], output: OutputFormat) -> None:
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
        _print(tuple(chosen), output)
    else:
        typer.echo(chosen[0].text, nl=False)


def _compare(
    artefacts: tuple[Artefact, ...],
    directory: Path,
    read: Iterable[str],
    diff: bool,
    output: OutputFormat,
) -> None:
    states = states_of(artefacts, directory, read)
    old = stale(states)
    text = difference(artefacts, directory, read).rstrip() if diff else ""
    print_result(output, "render-check", {"stale": list(old)}, text)
    require_ours(artefacts, directory, read)
    if old:
        raise DifferencesFound(f"{len(old)} of {len(states)} files differ: {', '.join(old)}")
