"""The labs of a cluster as the place where a command measures: one on each machine of a farm, or on
the collector of a span."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace

from tuner.cli.cluster import cluster_that_is_up
from tuner.cli.console import Verbosity
from tuner.cli.place import Wanted
from tuner.cluster.access import connected, require_comparable
from tuner.cluster.farm import dask_farm, span_of
from tuner.cluster.load import hosts_of
from tuner.cluster.loads import loads_of
from tuner.cluster.messages import Opened, OpenLab, SpanOver, profile_json
from tuner.deploy.inventory import Role
from tuner.errors import BadUsage, Refused
from tuner.flood.transport import Transport
from tuner.lab.lab import new_run_id
from tuner.lab.loads import LoadHost
from tuner.profile.model import Profile
from tuner.search.farm import AND, MeasuringPlace
from tuner.search.study import LabFacts

_LAB = "tuner.cli.cluster_lab"


@contextmanager
def labs_of_cluster(
    wanted: Wanted, profiles: Sequence[Profile], allow: Sequence[str], verbosity: Verbosity
) -> Iterator[MeasuringPlace]:
    """Labs for these profiles, gone afterwards; the first decides what they are.  Raises JobFailed
    without a cluster, Refused where its machines do not compare, BadUsage where each has an engine
    of its own and another one is wanted."""
    cluster = cluster_that_is_up()
    with connected(cluster.address, cluster.certificate) as client:
        require_comparable(client)
        span = span_of(client, cluster.certificate)
        if span is None and wanted.url is not None:
            raise BadUsage("each machine of the role lab has its own engine: no --elasticsearch")
        role = Role.LAB if span is None else Role.COLLECTOR
        with dask_farm(client, _LAB, role) as farm:
            first, *beside = map(profile_json, profiles)
            request = OpenLab(
                wanted.engine.value, first, tuple(allow), tuple(beside), span, wanted.url,
                {} if wanted.templates is None else wanted.templates.files,
            )  # fmt: skip
            names = ", ".join(farm.machines)
            where = f"each of {names}" if span is None else f"{names}, with {_loads(span)}"
            with verbosity.working(f"starting a lab on {where}"):
                opened = farm.open(request, verbosity.say)
            yield MeasuringPlace(
                _facts(opened, span),
                new_run_id(),
                lambda _: farm,
                lambda _: None,
                lambda machine, profile, _: farm.ceiling(machine, profile),
                max(lab.downloads_s for lab in opened.values()),
            )


def _loads(span: SpanOver) -> str:
    return f"load from {', '.join(span.loads)}"


def _facts(opened: Mapping[str, Opened], span: SpanOver | None) -> LabFacts:
    """What all labs are, on machines that may differ, or the one on the collector of a span."""
    labs = {name: lab.facts for name, lab in opened.items()}
    first, facts = next(iter(labs.items()))
    if span is not None:
        return replace(facts, machine=f"{first}, with {_loads(span)}: {facts.machine}")
    for name, other in labs.items():
        apart = facts.fingerprint.apart(other.fingerprint)
        wrong = [f"{part} {b}, {first} has {a}" for part, a, b in apart if part != "hardware"]
        if wrong or facts.turned != other.turned:
            difference = "; ".join(wrong) or f"memory for other heap sizes than {first}"
            raise Refused(
                f"the labs cannot be compared: {name} has {difference}; use equal machines, or "
                f"take {name} out of the inventory"
            )
    machines = AND.join(sorted({lab.machine for lab in labs.values()}))
    hardware = AND.join(sorted({lab.fingerprint.hardware for lab in labs.values()}))
    return replace(
        facts,
        machine=f"{len(labs)} machines ({', '.join(labs)}), each {machines}",
        fingerprint=replace(facts.fingerprint, hardware=hardware),
        cores=facts.cores if len({lab.cores for lab in labs.values()}) == 1 else None,
    )


@contextmanager
def loads_of_cluster(transport: Transport) -> Iterator[Sequence[LoadHost]]:
    """Those of the cluster that is up; raises JobFailed without any, and Refused where one of them
    does not allow a target, before anything is sent."""
    cluster = cluster_that_is_up()
    with connected(cluster.address, cluster.certificate) as client:
        require_comparable(client)
        with loads_of(client) as loads:
            loads.require_allowed(hosts_of(transport))
            yield loads.alive()
