"""`rsyslog-tune diff`: is the cluster as the profile says?"""

from __future__ import annotations

import contextlib
from typing import Annotated

import typer

from tuner.cli.cluster import client_for
from tuner.cli.console import result, result_json, say, working
from tuner.cli.options import OutputFormat, OutputOption, ProfilePath, TemplatesOption
from tuner.cli.profiles import load
from tuner.errors import DifferencesFound
from tuner.render.templates import Templates
from tuner.validate.difference import ClusterObject, compare


def diff(
    profile: ProfilePath,
    elasticsearch: Annotated[
        str,
        typer.Option(
            "--elasticsearch",
            metavar="URL",
            help="The Elasticsearch or OpenSearch to compare with; read only.",
            show_default=False,
        ),
    ],
    templates: TemplatesOption = None,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Compare a cluster's templates, policies and live settings with the rendered profile.

    Prints nothing and exits with 0 when they are the same, else with 2 and a unified diff: lines
    with - are in the cluster, lines with + are in the profile.
    """
    site = None if templates is None else Templates(templates)
    wanted = load(profile).profile
    with (
        working(f"reading {elasticsearch}"),
        contextlib.closing(client_for(elasticsearch, wanted)) as client,
    ):
        found = compare(wanted, client, site)
    differing = [one for one in found if one.differs]
    if output is OutputFormat.JSON:
        objects = [_object(one) for one in found]
        result_json({"schema": 1, "kind": "diff", "differs": bool(differing), "objects": objects})
    elif differing:
        result("".join(one.unified() for one in differing).rstrip())
    if differing:
        names = ", ".join(_told(one) for one in differing)
        raise DifferencesFound(f"{len(differing)} of {len(found)} objects differ: {names}")
    say(f"the same: {', '.join(one.name for one in found)}")


def _told(one: ClusterObject) -> str:
    return f"{one.name} (missing)" if one.found is None else one.name


def _object(one: ClusterObject) -> dict[str, object]:
    state = "missing" if one.found is None else "differs" if one.differs else "same"
    return {
        "name": one.name,
        "state": state,
        "cluster": one.found,
        "profile": one.wanted,
        "diff": one.unified(),
    }
