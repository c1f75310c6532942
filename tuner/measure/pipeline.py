"""The pipeline of one trial: a fresh index, and rsyslogd with the rendered configuration, or with
that of a base."""

from __future__ import annotations

import contextlib
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.delivery import Expectation
from tuner.engine.installed import InstalledTemplate, installed_templates, stronger
from tuner.engine.numbering import FIELD, MAPPING
from tuner.engine.owned import Owner, create_index, put_template, remove
from tuner.errors import Refused, Unreachable
from tuner.flood.heads import NUMBER_DIGITS
from tuner.flood.workload import format_for
from tuner.host.process import open_given, own_environment
from tuner.lab.entrances import entrances, furnish
from tuner.lab.lab import Lab, Learnt
from tuner.lab.receiver import Receiver, receiver_for
from tuner.lab.rsyslogd import Rsyslogd, impstats_section
from tuner.lab.scratch import subfolder
from tuner.measure.learning import learnt
from tuner.profile.model import Profile
from tuner.rainerscript.printing import printed
from tuner.render.artefacts import rsyslog_conf
from tuner.render.document import Identity
from tuner.render.engine_files import index_template, priority_of

# The size on disk is otherwise up to 10 s old (IndexStoreConfig, "stats_refresh_interval").
_FRESH_SIZES = {"index.store.stats_refresh_interval": "0s"}
# Above the built-in templates and above what we render for production.
_ABOVE_PRODUCTION = 500
# The reply of one bulk; what stands first says as much as what follows.
_MOST_BYTES = 1 << 24
_REASON = re.compile(r'"reason": ?"((?:[^"\\]|\\.)+)"')


@dataclass(frozen=True)
class Pipeline:
    """rsyslogd in a lab, taking what a flood of `profile`, as bound to that, sends, and writing its
    own counters to `stats` once a second; what it measures goes to the indices of `pattern`.  With
    what was `learnt` of a base not every event is one document; the `receiver` takes what is
    forwarded."""

    lab: Lab
    profile: Profile
    rsyslogd: Rsyslogd
    stats: Path
    pattern: str
    learnt: Learnt | None = None
    receiver: Receiver | None = None

    @property
    def client(self) -> EngineClient:
        """The connection to the engine."""
        return self.lab.client

    @property
    def expectation(self) -> Expectation | None:
        """How many documents each event gives, where not each is one."""
        return None if self.learnt is None else self.learnt.expectation


@contextlib.contextmanager
def pipeline(lab: Lab, profile: Profile, name: str) -> Iterator[Pipeline]:
    """Start what `profile` describes, on the engine as it wants it, under names of this trial; all
    of it is gone afterwards.  Raises Unreachable, Refused and JobFailed."""
    lab.engine.run_with(profile)
    of_base = None if profile.base is None else learnt(lab, profile)
    fitted = lab.bind(profile, name)
    bound, prefix = fitted.profile, f"{lab.owner.prefix}{name}-"
    folder = subfolder(lab.folder, lab.trial_folder(name).name)
    with removed(lab, name), receiver_for(fitted.script) as receiver:
        furnish(bound)
        if fitted.script is None:
            install_index(lab, bound)
            identity = identity_of(bound) if lab.engine.needs_numbers(bound) else None
            config = rsyslog_conf(bound, identity, lab.templates)
            pattern = bound.measured.index.pattern
        else:
            install_for_base(lab, bound, prefix, fitted.script.indices)
            config = printed(fitted.script.block)
            pattern = f"{prefix}*"
        variables = () if bound.base is None else bound.base.kept.variables
        stats = folder / "impstats.log"
        rsyslogd = Rsyslogd(
            config + impstats_section(stats),
            folder,
            entrances(bound),
            own_environment(*bound.secret_variables, *variables),
            start_checks_s=bound.start_checks_s,
        )
        try:
            yield Pipeline(lab, bound, rsyslogd, stats, pattern, of_base, receiver)
        finally:
            rsyslogd.stop()


def install_for_base(lab: Lab, bound: Profile, prefix: str, indices: Sequence[str]) -> None:
    """Put a template for the indices of a base into the engine, in which the number of each event
    is one; and the user's own before it, where there is one.  `indices` are the names that
    are known beforehand; of the others only the prefix is."""
    given = None if bound.base is None else bound.base.kept.template
    patterns = [f"{prefix}{one}" for one in given.patterns] if given else []
    installed = installed_templates(lab.client)
    for name in (prefix, *indices, *(one.replace("*", "") for one in patterns)):
        _require_first(installed, name, _ABOVE_PRODUCTION)
    _put(lab, f"{prefix}own", [f"{prefix}*"], _ABOVE_PRODUCTION, {}, {})
    if given is not None:
        replicas = bound.measured.index.settings.number_of_replicas
        settings = {**given.settings, "index.number_of_replicas": replicas}
        _put(lab, f"{prefix}given", patterns, _ABOVE_PRODUCTION + 1, given.mappings, settings)


def _put(
    lab: Lab,
    name: str,
    patterns: list[str],
    priority: int,
    mappings: Mapping[str, object],
    settings: Mapping[str, object],
) -> None:
    """Put an index template with our marks into the engine, of whose indices sizes are known."""
    template = {
        "mappings": _numbered(mappings, lab.owner),
        "settings": {**settings, **_FRESH_SIZES},
    }
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


def install_index(lab: Lab, bound: Profile) -> None:
    """Put the index template of each output of `bound` into the engine and, where its name is
    always the same, the index."""
    installed = installed_templates(lab.client)
    for output in bound.indexed:
        template = index_template(bound, output, lab.templates)
        priority = _ABOVE_PRODUCTION + priority_of(output.index)
        _require_first(installed, output.index.target, priority)
        body = _marked(template, lab.owner, priority)
        put_template(lab.client, lab.owner, output.index.target, body)
        if not output.index.varies:
            create_index(lab.client, lab.owner, output.index.target)


def _require_first(installed: Sequence[InstalledTemplate], index: str, priority: int) -> None:
    """Raise Refused where a new index of that name would get another template than ours of that
    priority: something else would be measured, and the index stay behind, as it would not say that
    it is ours."""
    for other in stronger(installed, index, priority):
        raise Refused(
            f"the index template {other.name} of the cluster has priority {other.priority} and "
            f"matches {index}: indices of measurements would get its mapping and settings. Narrow "
            f"its index_patterns, or give it a priority below {priority} while you measure"
        )


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
    marked = _numbered(_section(inner, "mappings"), owner)
    settings = {**_section(inner, "settings"), **_FRESH_SIZES}
    body: JSON = {**inner, "mappings": marked, "settings": settings}
    return {**template, "priority": priority, "_meta": owner.meta, "template": body}


def _numbered(mappings: Mapping[str, object], owner: Owner) -> JSON:
    """Mappings with our `_meta`, and room for the number of each event."""
    properties = mappings.get("properties")
    known = properties if isinstance(properties, dict) else {}
    return {**mappings, "properties": {**known, FIELD: MAPPING}, "_meta": owner.meta}


def _section(body: JSON, name: str) -> JSON:
    """The object under `name`, empty when there is none."""
    section = body.get(name, {})
    return section if isinstance(section, dict) else {}


def refusal_of(pipe: Pipeline) -> str | None:
    """Why the engine refused events, in its own words, from the file that omelasticsearch or a
    ruleset of retries writes then; None where none is there."""
    for path in pipe.stats.parent.glob("*.json"):
        with contextlib.suppress(OSError), open_given(path) as file:
            said = _REASON.search(file.read(_MOST_BYTES).decode(errors="replace"))
            if said is not None:
                return " ".join(said[1].replace("\\n", " ").replace('\\"', '"').split())
    return None
