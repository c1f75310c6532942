"""What a base makes of each message: learnt by sending every one of the pool once, slowly, into our
sink.  Filters, parsing, several outputs and whatever else it does need no model then."""

from __future__ import annotations

import secrets
import shutil
import time

from tuner.engine.client import EngineClient
from tuner.engine.counters import await_quiet
from tuner.engine.delivery import Expectation
from tuner.errors import JobFailed, Refused
from tuner.flood.messages import POOL
from tuner.flood.schedule import fixed
from tuner.flood.spread import traffic
from tuner.flood.workload import flood_spec
from tuner.lab.base_script import BaseSite, lab_script
from tuner.lab.entrances import entrances, furnish
from tuner.lab.lab import Lab
from tuner.lab.rsyslogd import Rsyslogd
from tuner.lab.scratch import subfolder
from tuner.lab.sink import Sink
from tuner.profile.model import BaseFiles, Profile
from tuner.rainerscript.script import printed

_PER_SECOND = 1000.0
_SENT_S = 30.0
_QUIET_S = 1.0
_POLL_S = 0.1
_PREFIX = "rsyslog-tune-learnt-"


def expected(lab: Lab, profile: Profile) -> Expectation:
    """How many documents each message gives, learnt once for all candidates of a base: parameters
    change nothing of it.  Raises Refused where no message reaches an engine."""
    base = profile.base
    if base is None:
        raise ValueError("a profile without a base says itself what it does")
    key = base.kept.written.text
    known = lab.learnt.get(key)
    if known is None:
        known = lab.learnt[key] = _learn(lab, profile, base)
    return known


def _learn(lab: Lab, profile: Profile, base: BaseFiles) -> Expectation:
    """Twice: what differs is not expected of anything."""
    once, again = _arrived(lab, profile, base), _arrived(lab, profile, base)
    outputs = tuple(
        tuple(one if one == other else -1 for one, other in zip(*both, strict=True))
        for both in zip(once, again, strict=True)
    )
    if not any(times > 0 for output in outputs for times in output):
        raise Refused(
            f"none of {POOL} messages reaches an engine action of the base: filters want others "
            "(workload.format and workload.replay say what is sent)"
        )
    return Expectation(outputs)


def _arrived(lab: Lab, profile: Profile, base: BaseFiles) -> list[list[int]]:
    """How many documents of each output each message gave."""
    name = f"learning-{secrets.token_hex(2)}"
    fitted = lab.bind(profile, name)
    folder = subfolder(lab.folder, lab.trial_folder(name).name)
    try:
        with Sink() as sink:
            furnish(fitted.profile)
            site = BaseSite((sink.url,), _PREFIX, str(folder))
            script = lab_script(base.kept, fitted.inputs, site)
            client = EngineClient(sink.url)
            rsyslogd = Rsyslogd(printed(script.block), folder, entrances(fitted.profile))
            try:
                run = _flooded(fitted.profile, client, rsyslogd)
                return [_numbers(client, run, output) for output in range(len(script.outputs))]
            finally:
                rsyslogd.stop()
                client.close()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _flooded(bound: Profile, client: EngineClient, rsyslogd: Rsyslogd) -> str:
    """Send every message of the pool once, and wait until no more documents come; the run."""
    spec = flood_spec(bound, secrets.token_hex(4))
    with traffic(spec, ()) as flood:
        flood.follow(fixed(_PER_SECOND), POOL)
        deadline_s = time.monotonic() + _SENT_S
        while flood.progress().sent < POOL and time.monotonic() < deadline_s:
            rsyslogd.check()
            time.sleep(_POLL_S)
        final = flood.finish()
    if final.error is not None or final.sent < POOL:
        raise JobFailed(f"the base took {final.sent} of {POOL} messages: {final.error}")
    await_quiet(client, rsyslogd.check, _QUIET_S)
    return spec.stamped_run


def _numbers(client: EngineClient, run: str, output: int) -> list[int]:
    answer = client.get(f"/_sink/_all/arrived?run={run}&output={output}&count={POOL}")
    listed = answer["arrived"]
    return [int(times) for times in listed] if isinstance(listed, list) else []
