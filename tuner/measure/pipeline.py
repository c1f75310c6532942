"""The pipeline of one trial: a fresh index, and rsyslogd with the rendered configuration."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import FIELD, MAPPING, Expectation
from tuner.engine.owned import Owner, create_index, put_template, remove
from tuner.errors import Unreachable
from tuner.flood.heads import NUMBER_DIGITS
from tuner.flood.workload import format_for
from tuner.lab.entrances import entrances, furnish
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd, impstats_section
from tuner.lab.scratch import subfolder
from tuner.measure.expectation import expected
from tuner.profile.model import Profile
from tuner.rainerscript.script import printed
from tuner.render.artefacts import rsyslog_conf
from tuner.render.document import Identity
from tuner.render.engine_files import index_template, priority_of

# The size on disk is otherwise up to 10 s old (IndexStoreConfig, "stats_refresh_interval").
_FRESH_SIZES = {"index.store.stats_refresh_interval": "0s"}
# Above the built-in templates and above what we render for production.
_ABOVE_PRODUCTION = 500


@dataclass(frozen=True)
class Pipeline:
    """rsyslogd in a lab, taking what a flood of `profile`, as bound to that, sends, and writing its
    own counters to `stats` once a second; what it measures goes to the indices of `pattern`.  With
    an `expectation` not every event is one document."""

    lab: Lab
    profile: Profile
    rsyslogd: Rsyslogd
    stats: Path
    pattern: str
    expectation: Expectation | None = None

    @property
    def client(self) -> EngineClient:
        """The connection to the engine."""
        return self.lab.client


@contextlib.contextmanager
def pipeline(lab: Lab, profile: Profile, name: str) -> Iterator[Pipeline]:
    """Start what `profile` describes, on the engine as it wants it, under names of this trial; all
    of it is gone afterwards.  Raises Unreachable, Refused and JobFailed."""
    lab.engine.run_with(profile)
    expectation = None if profile.base is None else expected(lab, profile)
    fitted = lab.bind(profile, name)
    bound, prefix = fitted.profile, f"{lab.owner.prefix}{name}-"
    folder = subfolder(lab.folder, lab.trial_folder(name).name)
    with _removed(lab, folder, prefix):
        furnish(bound)
        if fitted.script is None:
            install_index(lab, bound)
            identity = identity_of(bound) if lab.engine.needs_numbers(bound) else None
            config = rsyslog_conf(bound, identity, lab.templates)
            pattern = bound.measured.index.pattern
        else:
            install_for_base(lab, prefix)
            config = printed(fitted.script.block)
            pattern = f"{prefix}*"
        stats = folder / "impstats.log"
        rsyslogd = Rsyslogd(
            config + impstats_section(stats),
            folder,
            entrances(bound),
            bound.secret_variables,
            start_checks_s=bound.start_checks_s,
        )
        try:
            yield Pipeline(lab, bound, rsyslogd, stats, pattern, expectation)
        finally:
            rsyslogd.stop()


def install_for_base(lab: Lab, prefix: str) -> None:
    """Put a template for the indices of a base into the engine: the number of each event is one."""
    body: JSON = {
        "index_patterns": [f"{prefix}*"],
        "template": {
            "mappings": {"properties": {FIELD: MAPPING}, "_meta": lab.owner.meta},
            "settings": _FRESH_SIZES,
        },
        "priority": _ABOVE_PRODUCTION,
        "_meta": lab.owner.meta,
    }
    put_template(lab.client, lab.owner, prefix.rstrip("-"), body)


@contextlib.contextmanager
def _removed(lab: Lab, folder: Path, prefix: str) -> Iterator[None]:
    """Remove the folder and the indices of a trial.

    The folder first: an engine that is gone cannot be asked for anything, and one that is silent is
    not waited for.  Where the trial failed, the reason of that is told, even if the engine then
    refuses to clean up; the lab tries again.
    """
    failure: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if not isinstance(failure, Unreachable):
            with contextlib.suppress(*([EngineRefused] if failure else [])):
                remove(lab.client, lab.owner, prefix)


def install_index(lab: Lab, bound: Profile) -> None:
    """Put the index template of each output of `bound` into the engine and, where its name is
    always the same, the index."""
    for output in bound.indexed:
        template = index_template(bound, output, lab.templates)
        body = _marked(template, lab.owner, priority_of(output.index))
        put_template(lab.client, lab.owner, output.index.target, body)
        if not output.index.varies:
            create_index(lab.client, lab.owner, output.index.target)


def identity_of(bound: Profile) -> Identity:
    """Where the messages of a flood carry their number: `run=RRRRRRRR seq=NNNNNNNNNNNN` begins the
    text, which of RFC 3164 messages begins with the space after the tag."""
    spaced = format_for(bound) in {"rfc3164", "local"}
    before = len("run=RRRRRRRR seq=") + (1 if spaced else 0)
    return Identity(FIELD, before + 1, before + NUMBER_DIGITS)


def _marked(template: JSON, owner: Owner, priority: int) -> JSON:
    """The rendered template with our `_meta` on it and its indices, and room for the
    number of each event."""
    inner = _section(template, "template")
    mappings = _section(inner, "mappings")
    marked: JSON = {
        **mappings,
        "properties": {**_section(mappings, "properties"), FIELD: MAPPING},
        "_meta": owner.meta,
    }
    settings = {**_section(inner, "settings"), **_FRESH_SIZES}
    body: JSON = {**inner, "mappings": marked, "settings": settings}
    raised = _ABOVE_PRODUCTION + priority
    return {**template, "priority": raised, "_meta": owner.meta, "template": body}


def _section(body: JSON, name: str) -> JSON:
    """The object under `name`, empty when there is none."""
    section = body.get(name, {})
    return section if isinstance(section, dict) else {}
