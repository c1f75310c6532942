"""`rsyslog-tune diff`: a profile beside a cluster, or beside another profile."""

from __future__ import annotations

import contextlib
from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, say, working
from tuner.cli.profiles import load, templates_of
from tuner.cli.usage.profiles import DiffArguments
from tuner.engine.access import client_for
from tuner.errors import BadUsage, DifferencesFound
from tuner.lint.load import STDIN, LoadedProfile, snippets_of
from tuner.render.artefacts import RSYSLOG, base_files, render
from tuner.render.form import Form
from tuner.render.templates import Templates
from tuner.render.tree import unified
from tuner.validate.difference import ClusterObject, comparable_template, compare


def diff(options: DiffArguments) -> None:
    """Carry out `rsyslog-tune diff`."""
    profile, other, elasticsearch = options.profile, options.other, options.elasticsearch
    site, output = templates_of(options.templates), options.output
    if other == STDIN:
        raise BadUsage("only the first profile can come from stdin")
    if other is not None and elasticsearch is None:
        _profiles(profile, other, site, output)
    elif other is None and elasticsearch is not None:
        _cluster(profile, elasticsearch, site, output)
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
    if differing:
        names = ", ".join(differing)
        raise DifferencesFound(f"{len(differing)} of {len(texts)} files differ: {names}")
    say(f"the same: {', '.join(texts)}")


def _main(loaded: LoadedProfile) -> str:
    """The path of what rsyslogd starts from."""
    base = loaded.profile.base
    return RSYSLOG if base is None else next(iter(base_files(base.kept).values())).path


def _rendered(loaded: LoadedProfile, site: Templates | None) -> dict[str, str]:
    files = render(loaded.profile, site, Form(snippets_of(loaded)))
    return {file.path: file.text for file in files}


def _cluster(
    profile: Path, elasticsearch: str, site: Templates | None, output: OutputFormat
) -> None:
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
    if differing:
        names = ", ".join(
            f"{compared.name} (missing)" if compared.found is None else compared.name
            for compared in differing
        )
        raise DifferencesFound(f"{len(differing)} of {len(objects)} objects differ: {names}")
    say(f"the same: {', '.join(compared.name for compared in objects)}")


def _fields(compared: ClusterObject) -> dict[str, object]:
    state = "missing" if compared.found is None else "differs" if compared.differs else "same"
    return {
        "name": compared.name,
        "state": state,
        "cluster": compared.found,
        "profile": compared.wanted,
        "diff": compared.unified(),
    }
