"""`rsyslog-tune flood`: send syslog messages to a port, a socket or a file."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from tuner.cli import flood_options as option
from tuner.cli.console import result, result_json, working
from tuner.cli.options import OutputFormat, OutputOption
from tuner.errors import BadUsage, JobFailed
from tuner.flood.schedule import Timeline
from tuner.flood.spec import FloodProgress, FloodSpec
from tuner.flood.spread import traffic
from tuner.flood.transport import Credentials
from tuner.lab.loads import LoadHost

_POLL_S = 0.1
_FINISH_S = 10.0
_WORTH_SAYING = 0.01
# Below this the CPU time of starting and ending outweighs that of sending.
_LONG_ENOUGH_S = 0.1


def flood(
    port: option.Port = None,
    target: option.Targets = None,
    transport: option.Kind = "tcp",
    ca: option.Authority = None,
    certificate: option.Certificate = None,
    key: option.Key = None,
    count: option.Count = None,
    rate: option.Rate = "max",
    connections: option.Connections = 5,
    message_bytes: option.Mean = 244,
    distribution: option.Spread = "uniform",
    min_bytes: option.Least = None,
    max_bytes: option.Most = None,
    message_format: option.Format = None,
    framing: option.Framing = None,
    replay: option.Replay = None,
    seed: option.Seed = 1,
    ramp: option.Ramp = None,
    burst: option.Burst = None,
    runs: option.Repeat = None,
    cluster: option.OnCluster = False,
    output: OutputOption = OutputFormat.TEXT,
) -> None:
    """Flood a syslog receiver with messages, and print the rate and the CPU time used.

    The receiver must be on this machine or in allow-targets; others are refused (exit code 5).
    With --cluster it is flooded from all load hosts, and must be in allow-targets there.
    """
    plan = option.plan_pace(count, rate, ramp, burst, runs)
    files = (None if path is None else str(path) for path in (ca, certificate, key))
    route = option.plan_transport(transport, port, target, Credentials(*files), cluster)
    spec = FloodSpec(
        transport=route,
        connections=connections,
        message_bytes_mean=message_bytes,
        seed=seed,
        run_id=secrets.token_hex(4),
        count=plan.total,
        format=message_format or route.facts.format,
        framing=framing or route.facts.framings[0],
        distribution=distribution,
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        replay=_replay(replay, min_bytes, max_bytes, cluster),
    )
    if not cluster:
        _run(spec, (), plan, output)
        return
    # Needs more than a flood from here.
    from tuner.cli.cluster_loads import loads_of_cluster

    with loads_of_cluster(route) as hosts:
        _run(spec, hosts, plan, output)


def _replay(
    replay: Path | None, min_bytes: int | None, max_bytes: int | None, on_cluster: bool
) -> str | None:
    if replay is None:
        return None
    if on_cluster and not replay.is_absolute():
        raise BadUsage(f"--replay {replay}: with --cluster an absolute path, of each load host")
    if not on_cluster and (replay.is_dir() or not replay.exists()):
        raise BadUsage(f"--replay {replay}: there is no such file")
    if min_bytes is not None or max_bytes is not None:
        raise BadUsage("--replay takes its sizes from the file: remove --min-bytes and --max-bytes")
    return str(replay)


def _run(
    spec: FloodSpec, hosts: Sequence[LoadHost], plan: option.PacePlan, output: OutputFormat
) -> None:
    said = f"sending {plan.total:,} messages to {spec.transport}"
    with working(said) as tell, traffic(spec, hosts) as sender:
        if plan.schedule is not None:
            sender.follow(plan.schedule, plan.total)
        elif plan.runs is not None:
            sender.run(plan.runs)
        else:
            sender.steer(plan.total, None)
        while (now := sender.wait_until_idle(_POLL_S)).sent < plan.total and now.error is None:
            tell(f"{now.sent:,} of {plan.total:,} sent")
        timeline = sender.timeline()
        final = sender.finish(_FINISH_S)
    if final.error is not None:
        raise JobFailed(f"{final.sent} of {plan.total} messages sent: {final.error}")
    sent = dict(zip([one.name for one in hosts], final.counts, strict=True))
    show(final, timeline, spec.run_id, sent, output)


def show(
    final: FloodProgress,
    timeline: Timeline | None,
    run_id: str,
    sent: Mapping[str, int],
    output: OutputFormat,
) -> None:
    """Print the result of a flood that sent everything, and how much of it each load host."""
    if output is OutputFormat.TEXT:
        for line in _lines(final, timeline):
            result(line)
        if sent:
            result(", ".join(f"{name} sent {count:,}" for name, count in sent.items()))
        return
    seen = final.punctuality
    seconds = _seconds(final)
    result_json(
        {
            "schema": 1,
            "kind": "flood",
            "run_id": run_id,
            "sent": final.sent,
            "load_hosts": dict(sent),
            "seconds": seconds,
            "achieved_per_second": _achieved(final, timeline),
            "cpu_seconds": final.cpu_seconds,
            "cpu_share": _cpu_share(final),
            "blocked_seconds": final.blocked_seconds,
            # Only a pace that waits for nobody can be missed.
            "offered": seen and seen.offered,
            "late": seen and seen.late,
            "max_late_s": seen and seen.max_late_s,
            "kept_pace": seen and seen.kept,
        }
    )


def _lines(final: FloodProgress, timeline: Timeline | None) -> Iterator[str]:
    seconds = _seconds(final)
    achieved = _achieved(final, timeline)
    brief = achieved is None or seconds < _LONG_ENOUGH_S
    rate = "too short for a rate" if brief else f"{achieved:,.0f} per second"
    cpu_us = final.cpu_seconds * 1e6 / max(1, final.sent)
    share = _cpu_share(final)
    used = "" if share is None else f", {share:.1%} of a core"
    yield f"{final.sent:,} messages in {seconds:.2f} s ({rate}), {cpu_us:.2f} us CPU each{used}"
    if final.blocked_seconds > _WORTH_SAYING * seconds:
        yield (
            f"The sender was blocked for {final.blocked_seconds:.2f} s: "
            "the receiver could not keep up."
        )
    seen = final.punctuality
    if seen is not None and seen.late:
        verdict = "" if seen.kept else "The rate was not kept: "
        yield (
            f"{verdict}{seen.late:,} of {seen.offered:,} messages were more than 50 ms late, "
            f"by up to {seen.max_late_s:.2f} s."
        )


def _seconds(final: FloodProgress) -> float:
    """From the first message to the last."""
    return (final.last_send_s or 0.0) - (final.first_send_s or 0.0)


def _cpu_share(final: FloodProgress) -> float | None:
    """The share of one core that the sender used; None when it sent too briefly to say."""
    seconds = _seconds(final)
    return final.cpu_seconds / seconds if seconds >= _LONG_ENOUGH_S else None


def _achieved(final: FloodProgress, timeline: Timeline | None) -> float | None:
    """Messages per second.  By a schedule, the last message counts for the time up to the one
    that would follow, so that a pace that is kept comes out as its rate."""
    seconds = _seconds(final)
    if timeline is not None and final.last_send_s is not None:
        due_s = timeline.schedule.intended_s
        following_s = due_s(final.sent) - due_s(final.sent - 1)
        seconds = final.last_send_s - timeline.start_s + following_s
    return final.sent / seconds if seconds > 0 else None
