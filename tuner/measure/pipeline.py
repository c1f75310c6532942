"""The pipeline of one trial: a fresh index, and rsyslogd with the rendered configuration."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.engine.client import JSON
from tuner.engine.owned import Owner, create_index, put_template, remove
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import subfolder
from tuner.profile.model import Profile, Rotate
from tuner.render.artefacts import RSYSLOG, index_template, render

# Above the built-in templates (100) and above what we render for production (200).
_PRIORITY = 500


@dataclass(frozen=True)
class Pipeline:
    """rsyslogd listening on `port`, indexing into the indices that match `pattern`."""

    rsyslogd: Rsyslogd
    port: int
    pattern: str


@contextlib.contextmanager
def pipeline(lab: Lab, bound: Profile, name: str) -> Iterator[Pipeline]:
    """Start what `bound` describes under names of this trial; all of it is gone afterwards."""
    folder = subfolder(lab.folder, f"trial-{name}")
    try:
        install_index(lab, bound)
        port = bound.inputs[0].port
        rsyslogd = Rsyslogd(rsyslog_conf(bound), folder, port)
        try:
            yield Pipeline(rsyslogd, port, f"{bound.outputs[0].index.name}*")
        finally:
            rsyslogd.stop()
    finally:
        remove(lab.client, lab.owner, f"{lab.owner.prefix}{name}-")
        shutil.rmtree(folder, ignore_errors=True)


def install_index(lab: Lab, bound: Profile) -> None:
    """Put the index template of `bound` and, where its name has no date in it, the index."""
    output = bound.outputs[0]
    body = _marked(index_template(bound, output), lab.owner)
    put_template(lab.client, lab.owner, output.index.name, body)
    if output.index.rotate is Rotate.NONE:
        create_index(lab.client, lab.owner, output.index.name)


def rsyslog_conf(profile: Profile) -> str:
    """The rendered configuration of rsyslogd."""
    return next(item.text for item in render(profile) if item.path == RSYSLOG)


def _marked(template: JSON, owner: Owner) -> JSON:
    """The rendered template with our `_meta` on it and on the indices made from it."""
    inner = template["template"]
    inner = inner if isinstance(inner, dict) else {}
    mappings = inner.get("mappings", {})
    mappings = mappings if isinstance(mappings, dict) else {}
    marked: JSON = {**mappings, "_meta": owner.meta}
    body: JSON = {**inner, "mappings": marked}
    return {**template, "priority": _PRIORITY, "_meta": owner.meta, "template": body}
