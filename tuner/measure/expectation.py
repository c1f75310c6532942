"""What a base makes of each message: learnt by sending every one of the pool once, slowly, into our
sink.  Filters, parsing, several outputs and whatever else it does need no model then."""

from __future__ import annotations

import secrets
import shutil
import time
from dataclasses import replace

from tuner.engine.client import EngineClient
from tuner.engine.counters import await_quiet
from tuner.engine.delivery import Expectation
from tuner.errors import JobFailed, Refused
from tuner.flood.messages import pool_size
from tuner.flood.schedule import fixed
from tuner.flood.spec import FloodSpec
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

# Slow enough that no queue fills, and 1,000 messages take half a second.
_PER_SECOND = 2000.0
_SENT_S = 60.0
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
    """Twice, the second time as the flood's second round: what differs is not expected of
    anything."""
    once, again = (_arrived(lab, profile, base, rounds) for rounds in (1, 2))
    outputs = tuple(
        tuple(one if one == other else -1 for one, other in zip(*both, strict=True))
        for both in zip(once, again, strict=True)
    )
    if not any(times > 0 for output in outputs for times in output):
        raise Refused(
            f"none of {len(outputs[0])} messages reaches an engine action of the base: its filters "
            "want others (workload.sample, replay and format say what is sent)"
        )
    return Expectation(outputs)


def _arrived(lab: Lab, profile: Profile, base: BaseFiles, rounds: int) -> list[list[int]]:
    """How many documents of each output each message of the pool gave in the last of so many
    rounds."""
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
                spec = flood_spec(fitted.profile, secrets.token_hex(4))
                pool = pool_size(spec)
                _flood(replace(spec, count=rounds * pool), client, rsyslogd)
                return [
                    _numbers(client, spec.stamped_run, output, rounds * pool)[-pool:]
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
        flood.follow(fixed(_PER_SECOND), count)
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
