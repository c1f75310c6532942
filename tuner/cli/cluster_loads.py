"""The load hosts of a cluster, to flood from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

from tuner.cli.cluster import cluster_that_is_up
from tuner.cluster.access import connected, require_comparable
from tuner.cluster.load import hosts_of
from tuner.cluster.loads import loads_of
from tuner.flood.transport import Transport
from tuner.lab.loads import LoadHost


@contextmanager
def loads_of_cluster(transport: Transport) -> Iterator[Sequence[LoadHost]]:
    """Those of the cluster that is up; raises JobFailed without any, and Refused where one of them
    does not allow a target, before anything is sent."""
    cluster = cluster_that_is_up()
    with connected(cluster.address, cluster.certificate) as client:
        require_comparable(client)
        with loads_of(client) as loads:
            loads.require_allowed(hosts_of(transport))
            yield loads.here()
