"""The pipeline of one trial: fresh indices, and rsyslogd with the copy of a configuration."""

from __future__ import annotations

import contextlib
import secrets
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import Expectation
from tuner.engine.installed import InstalledTemplate, installed_templates, overriding_templates
from tuner.engine.numbering import FIELD, MAPPING
from tuner.engine.owned import create_index, put_template, remove
from tuner.engines.user_template import for_nodes
from tuner.errors import Refused, Unreachable
from tuner.flood.spec import FloodSpec
from tuner.flood.workload import flood_spec
from tuner.lab.copy import LabCopy
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import LabDaemon, running
from tuner.lab.scratch import subfolder
from tuner.measure.prepared import PreparedTrial
from tuner.profile.model import Profile

# The size on disk is otherwise up to 10 s old (IndexStoreConfig, "stats_refresh_interval").
_FRESH_SIZES = {"index.store.stats_refresh_interval": "0s"}
# Above the built-in templates and above what we render for production.
_ABOVE_PRODUCTION = 500


@dataclass(frozen=True, kw_only=True)
class Pipeline(LabDaemon):
    """rsyslogd with what was `prepared`, taking what a flood of its profile sends."""

    prepared: PreparedTrial

    @property
    def lab(self) -> Lab:
        """Where it runs."""
        return self.prepared.lab

    @property
    def profile(self) -> Profile:
        """The profile, as bound."""
        return self.prepared.profile

    @property
    def pattern(self) -> str:
        """The pattern of the indices that it writes to."""
        return f"{self.prepared.prefix}*"

    @property
    def client(self) -> EngineClient:
        """The connection to the engine."""
        return self.lab.client

    @property
    def spec(self) -> FloodSpec:
        """A new flood of it."""
        made = flood_spec(self.profile, secrets.token_hex(4))
        return replace(made, order=self.prepared.learnt.order)

    @property
    def expectation(self) -> Expectation:
        """How many documents each event gives."""
        return self.prepared.learnt.expectation


@contextlib.contextmanager
def pipeline(prepared: PreparedTrial) -> Iterator[Pipeline]:
    """Start what was prepared, on the engine as its profile wants it, under names of this trial;
    all of it is gone afterwards.  Raises Unreachable, Refused and JobFailed."""
    lab, copy, name = prepared.lab, prepared.copy, prepared.name
    lab.engine.run_with(prepared.profile)
    folder = subfolder(lab.folder, lab.trial_folder(name).name)
    with removed(lab, name):
        install(lab, copy)
        with running(prepared.bound, copy, folder) as now:
            yield Pipeline(**vars(now), prepared=prepared)


def install(lab: Lab, copy: LabCopy) -> None:
    """Put the index templates of a copy into the engine, in which the number of each event is a
    field, behind one of ours for all of its indices; and make those whose names are known."""
    prefix = copy.site.index_prefix
    patterns = [
        tuple(f"{prefix}{name}" for name in template.patterns) for template in copy.templates
    ]
    installed = installed_templates(lab.client)
    matched = (name.replace("*", "") for names in patterns for name in names)
    for name in (prefix, *copy.indices, *matched):
        _require_first(installed, name, _ABOVE_PRODUCTION)
    _put(
        lab, f"{prefix}own", [f"{prefix}*"], _ABOVE_PRODUCTION, {}, for_nodes(copy.site.data_nodes)
    )
    # The longer the name, the higher, as those that are rendered have it.
    templates = zip(patterns, copy.templates, strict=True)
    ranked = sorted(templates, key=lambda template: max(map(len, template[0])))
    for rank, (names, given) in enumerate(ranked, 1):
        name, priority = f"{prefix}given-{rank}", _ABOVE_PRODUCTION + rank
        _put(lab, name, list(names), priority, given.mappings, given.settings)
    for index in dict.fromkeys(copy.indices):
        create_index(lab.client, lab.owner, index)


def _put(
    lab: Lab,
    name: str,
    patterns: list[str],
    priority: int,
    mappings: Mapping[str, object],
    settings: Mapping[str, object],
) -> None:
    """Put an index template with our marks into the engine, of whose indices sizes are known."""
    properties = mappings.get("properties")
    fields = properties if isinstance(properties, dict) else {}
    numbered = {**mappings, "properties": {**fields, FIELD: MAPPING}, "_meta": lab.owner.meta}
    template = {"mappings": numbered, "settings": {**settings, **_FRESH_SIZES}}
    body: JSON = {"index_patterns": patterns, "template": template, "priority": priority}
    put_template(lab.client, lab.owner, name, {**body, "_meta": lab.owner.meta})


@contextlib.contextmanager
def removed(lab: Lab, name: str) -> Iterator[None]:
    """Remove the folder and the indices of a trial.

    The folder first: an engine that is gone cannot be asked for anything, and one that is silent is
    not waited for.  Where the trial failed, the reason of that is told, even if the engine then
    refuses to clean up; the lab tries again.  A signal is answered at once: the lab does it all.
    """
    failure: BaseException | None = None
    try:
        yield
    except BaseException as error:
        failure = error
        raise
    finally:
        shutil.rmtree(lab.trial_folder(name), ignore_errors=True)
        is_signal = failure is not None and not isinstance(failure, Exception)
        if not is_signal and not isinstance(failure, Unreachable):
            with contextlib.suppress(*([EngineRefused] if failure else [])):
                remove(lab.client, lab.owner, f"{lab.owner.prefix}{name}-")


def _require_first(installed: Sequence[InstalledTemplate], index: str, priority: int) -> None:
    """Raise Refused where a new index of that name would get another template than ours of that
    priority: something else would be measured, and the index stay behind, as it would not say that
    it is ours."""
    for template in overriding_templates(installed, index, priority):
        raise Refused(
            f"the index template {template.name} of the cluster has priority {template.priority} "
            f"and matches {index}: indices of measurements would get its mapping and settings. "
            f"Narrow its index_patterns, or give it a priority below {priority} while you measure"
        )
