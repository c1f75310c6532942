"""The pipeline of one trial: a fresh index, and rsyslogd with the rendered configuration, or with
that of a base, and what it makes of each message."""

from __future__ import annotations

import contextlib
import secrets
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.engine.counters import await_quiet
from tuner.engine.delivery import FIELD, MAPPING, Expectation
from tuner.engine.owned import Owner, create_index, put_template, remove
from tuner.errors import JobFailed, Refused, Unreachable
from tuner.flood.heads import NUMBER_DIGITS
from tuner.flood.messages import pool_size
from tuner.flood.schedule import fixed
from tuner.flood.spec import FloodSpec
from tuner.flood.spread import traffic
from tuner.flood.workload import flood_spec, format_for
from tuner.lab.base_script import BaseSite, lab_script
from tuner.lab.entrances import entrances, furnish
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd, impstats_section
from tuner.lab.scratch import subfolder
from tuner.lab.sink import Sink
from tuner.profile.model import BaseFiles, Profile
from tuner.rainerscript.script import printed
from tuner.render.artefacts import rsyslog_conf
from tuner.render.document import Identity
from tuner.render.engine_files import index_template, priority_of

# The size on disk is otherwise up to 10 s old (IndexStoreConfig, "stats_refresh_interval").
_FRESH_SIZES = {"index.store.stats_refresh_interval": "0s"}
# Above the built-in templates and above what we render for production.
_ABOVE_PRODUCTION = 500
# What a base makes of each message is learnt at such a pace, in messages per second.
# Slow enough that no queue fills.
_LEARNT_PER_SECOND = 4000.0
_SENT_S = 60.0
_QUIET_S = 1.0
_POLL_S = 0.1
_LEARNT_PREFIX = "rsyslog-tune-learnt-"


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


def expected(lab: Lab, profile: Profile) -> Expectation:
    """How many documents each message gives, learnt once for all candidates of a base: parameters
    change nothing of it.  Raises Refused where no message reaches an engine.

    Every message of the pool is sent once, slowly, into our sink: filters, parsing, several outputs
    and whatever else a base does need no model then.
    """
    base = profile.base
    if base is None:
        raise ValueError("a profile without a base says itself what it does")
    key = base.kept.written.text
    known = lab.learnt.get(key)
    if known is None:
        known = lab.learnt[key] = _learn(lab, profile, base)
    return known


def _learn(lab: Lab, profile: Profile, base: BaseFiles) -> Expectation:
    """Every message twice, in two rounds: of what differs nothing is expected."""
    arrived = _arrived(lab, profile, base)
    outputs = tuple(
        tuple(one if one == again else -1 for one, again in zip(*_halves(each), strict=True))
        for each in arrived
    )
    if not any(times > 0 for output in outputs for times in output):
        raise Refused(
            f"none of {len(outputs[0])} messages reaches an engine action of the base: its filters "
            "want others (workload.sample, replay and format say what is sent)"
        )
    return Expectation(outputs)


def _halves(numbers: list[int]) -> tuple[list[int], list[int]]:
    return numbers[: len(numbers) // 2], numbers[len(numbers) // 2 :]


def _arrived(lab: Lab, profile: Profile, base: BaseFiles) -> list[list[int]]:
    """How many documents of each output each message of two rounds of the pool gave."""
    name = f"learning-{secrets.token_hex(2)}"
    fitted = lab.bind(profile, name)
    folder = subfolder(lab.folder, lab.trial_folder(name).name)
    try:
        with Sink() as sink:
            furnish(fitted.profile)
            site = BaseSite((sink.url,), _LEARNT_PREFIX, str(folder))
            script = lab_script(base.kept, fitted.inputs, site)
            client = EngineClient(sink.url)
            rsyslogd = Rsyslogd(printed(script.block), folder, entrances(fitted.profile))
            try:
                spec = flood_spec(fitted.profile, secrets.token_hex(4))
                count = 2 * pool_size(spec)
                _flood(replace(spec, count=count), client, rsyslogd)
                return [
                    _numbers(client, spec.stamped_run, output, count)
                    for output in range(len(script.outputs))
                ]
            finally:
                rsyslogd.stop()
                client.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flood(spec: FloodSpec, client: EngineClient, rsyslogd: Rsyslogd) -> None:
    """Send every message of a flood, and wait until no more documents come."""
    count = spec.count or 0
    with traffic(spec, ()) as flood:
        flood.follow(fixed(_LEARNT_PER_SECOND), count)
        deadline_s = time.monotonic() + _SENT_S
        while flood.progress().sent < count and time.monotonic() < deadline_s:
            rsyslogd.check()
            time.sleep(_POLL_S)
        final = flood.finish()
    if final.error is not None or final.sent < count:
        raise JobFailed(f"the base took {final.sent} of {count} messages: {final.error}")
    await_quiet(client, rsyslogd.check, _QUIET_S)


def _numbers(client: EngineClient, run: str, output: int, count: int) -> list[int]:
    answer = client.get(f"/_sink/_all/arrived?run={run}&output={output}&count={count}")
    listed = answer["arrived"]
    return [int(times) for times in listed] if isinstance(listed, list) else []
