"""What the machines of a cluster are for a measurement, by their roles: a farm, or a span; and the
load hosts alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

from distributed import Client

from tuner.cluster.access import roles, workers_of
from tuner.cluster.channels import Channels
from tuner.cluster.loads import LOAD, RemoteLoads
from tuner.cluster.messages import SpanOver
from tuner.cluster.session import processes
from tuner.deploy.inventory import Role
from tuner.errors import JobFailed
from tuner.modules.input import LOOPBACK

_ENDING_S = 60.0


def span_of(client: Client) -> SpanOver | None:
    """The span that the machines make, None where they are a farm; raises JobFailed where their
    roles make neither, or both."""
    found = roles(client)
    labs, collectors, loads, engines = (
        tuple(name for name, role in found.items() if role == wanted.value)
        for wanted in (Role.LAB, Role.COLLECTOR, Role.LOAD, Role.ENGINE)
    )
    if labs and not (collectors or loads or engines):
        return None
    if labs or len(collectors) != 1 or not loads:
        have = ", ".join(f"{name} ({role})" for name, role in found.items()) or "no machine"
        raise JobFailed(
            f"the cluster has {have}: to measure it needs either machines of the role lab (a farm) "
            "or one collector and at least one load (a span), with hosts of the role engine or not"
        )
    addresses = _addresses(client, Role.COLLECTOR)
    return SpanOver(
        loads, addresses[collectors[0]], _addresses(client, Role.ENGINE) if engines else {}
    )


def _addresses(client: Client, role: Role) -> dict[str, str]:
    """Where the machines of a role are reached."""
    workers = workers_of(client, role.value)
    return {name: urlsplit(one).hostname or LOOPBACK for name, one in workers.items()}


@contextmanager
def loads_of(client: Client) -> Iterator[RemoteLoads]:
    """The load hosts, which send as they are told from here; their processes are gone afterwards.
    Raises JobFailed without one, Unreachable where one does not answer."""
    found = processes(client, workers_of(client, Role.LOAD.value), LOAD)

    def say(name: str, line: bytes) -> None:
        channels.tell(name, line)

    loads = RemoteLoads(say)
    channels = Channels(client, found, loads.hear, lambda name, why: loads.lose(name, str(why)))
    try:
        with loads.answering(tuple(found)):
            yield loads
    finally:
        with suppress(TimeoutError):
            channels.end(_ENDING_S).result(_ENDING_S)
