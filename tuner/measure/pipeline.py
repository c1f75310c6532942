"""The pipeline of one trial: a fresh index, and rsyslogd with the rendered configuration."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.engine.client import JSON, EngineRefused
from tuner.engine.identity import FIELD, MAPPING
from tuner.engine.owned import Owner, create_index, put_template, remove
from tuner.flood.heads import NUMBER_DIGITS
from tuner.lab.impstats import impstats_section
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import subfolder
from tuner.profile.model import Profile, Rotate
from tuner.profile.workload import Workload
from tuner.render.artefacts import index_template, rsyslog_conf
from tuner.render.document import Identity

# Above the built-in templates (100) and above what we render for production (200).
_PRIORITY = 500


@dataclass(frozen=True)
class Pipeline:
    """rsyslogd listening on `port`, indexing into the indices that match `pattern`, and writing its
    own counters to `stats` once a second."""

    rsyslogd: Rsyslogd
    port: int
    pattern: str
    stats: Path


@contextlib.contextmanager
def pipeline(lab: Lab, bound: Profile, name: str) -> Iterator[Pipeline]:
    """Start what `bound` describes under names of this trial; all of it is gone afterwards."""
    folder = subfolder(lab.folder, f"trial-{name}")
    with _removed(lab, folder, f"{lab.owner.prefix}{name}-"):
        install_index(lab, bound)
        port = bound.inputs[0].port
        identity = None if lab.is_sink else identity_of(bound.workload)
        stats = folder / "impstats.log"
        config = rsyslog_conf(bound, identity) + impstats_section(stats)
        rsyslogd = Rsyslogd(config, folder, port)
        try:
            yield Pipeline(rsyslogd, port, f"{bound.outputs[0].index.name}*", stats)
        finally:
            rsyslogd.stop()


@contextlib.contextmanager
def _removed(lab: Lab, folder: Path, prefix: str) -> Iterator[None]:
    """Remove the folder and the indices of a trial.

    The folder first: an engine that is gone cannot be asked for anything.  Where the trial failed,
    its reason is told and not that the engine then refused to clean up; the lab tries it again.
    """
    failed = True
    try:
        yield
        failed = False
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with contextlib.suppress(*([EngineRefused] if failed else [])):
            remove(lab.client, lab.owner, prefix)


def install_index(lab: Lab, bound: Profile) -> None:
    """Put the index template of `bound` and, where its name has no date in it, the index."""
    output = bound.outputs[0]
    body = _marked(index_template(bound, output), lab.owner)
    put_template(lab.client, lab.owner, output.index.name, body)
    if output.index.rotate is Rotate.NONE:
        create_index(lab.client, lab.owner, output.index.name)


def identity_of(workload: Workload) -> Identity:
    """Where the messages of a flood carry their number: `run=RRRRRRRR seq=NNNNNNNNNNNN` begins the
    text, which of RFC 3164 messages begins with the space after the tag."""
    before = len("run=RRRRRRRR seq=") + (1 if workload.format == "rfc3164" else 0)
    return Identity(FIELD, before + 1, before + NUMBER_DIGITS)


def _marked(template: JSON, owner: Owner) -> JSON:
    """The rendered template with our `_meta` on it and its indices, and room for the
    number of each event."""
    inner = template["template"]
    inner = inner if isinstance(inner, dict) else {}
    mappings = inner.get("mappings", {})
    mappings = mappings if isinstance(mappings, dict) else {}
    properties = mappings.get("properties", {})
    properties = properties if isinstance(properties, dict) else {}
    marked: JSON = {
        **mappings,
        "properties": {**properties, FIELD: MAPPING},
        "_meta": owner.meta,
    }
    body: JSON = {**inner, "mappings": marked}
    return {**template, "priority": _PRIORITY, "_meta": owner.meta, "template": body}
