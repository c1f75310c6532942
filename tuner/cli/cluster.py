"""`rsyslog-tune cluster`: several machines with a Dask worker on each."""

from __future__ import annotations

from contextlib import suppress

from tuner.cli.console import OutputFormat, print_result, result, result_json, say
from tuner.cli.usage import hosts as usage
from tuner.cluster import standing
from tuner.cluster.access import pem_text, versions_here
from tuner.cluster.messages import ClusterCertificate
from tuner.deploy.inventory import Role, load_inventory
from tuner.errors import BadUsage, JobFailed
from tuner.host.lock import measuring


def up(options: usage.ClusterArguments.Up) -> None:
    """Carry out `rsyslog-tune cluster up`."""
    inventory, scheduler = options.inventory, options.scheduler
    if (inventory is None) == (scheduler is None):
        raise BadUsage(
            "use --inventory hosts.yaml, or --scheduler URL for an existing Dask cluster"
        )
    certificate = _certificate(options)
    hosts = () if inventory is None else load_inventory(inventory)
    machines = [host for host in hosts if host.role is not Role.ENGINE]
    with measuring("rsyslog-tune cluster up"):
        recorded = standing.read()
        if recorded is not None and (not recorded.is_ours or recorded.scheduler.is_alive()):
            if not standing.restart_workers(recorded, machines, say):
                raise JobFailed(
                    f"a cluster is already up at {recorded.address}; end it with: rsyslog-tune "
                    "cluster down"
                )
            started = recorded
        else:
            if recorded is not None:
                # A worker on a host that cannot be reached ends with its scheduler.
                with suppress(JobFailed):
                    standing.down(recorded, say)
            if scheduler is None:
                started = standing.up(machines, options.listen, say)
            else:
                started = standing.attach(scheduler, certificate)
    _show(started, options.output)


def status(options: usage.ClusterArguments.Status) -> None:
    """Carry out `rsyslog-tune cluster status`."""
    _show(cluster_that_is_up(), options.output)


def down(_: usage.ClusterArguments.Down) -> None:
    """Carry out `rsyslog-tune cluster down`."""
    with measuring("rsyslog-tune cluster down"):
        cluster = standing.read()
        if cluster is not None:
            standing.down(cluster, say)
    if cluster is None or cluster.is_ours:
        result("the cluster is down")
    else:
        result(f"{cluster.address} is no longer used")


def versions(_: usage.ClusterArguments.Versions) -> None:
    """Carry out `rsyslog-tune cluster versions`."""
    result_json(versions_here())


def member(options: usage.ClusterArguments.Member) -> None:
    """Carry out `rsyslog-tune cluster member`."""
    if options.listen:
        standing.run_scheduler(options.folder, options.listen)
    else:
        standing.run_worker(options.folder, options.scheduler, options.name, options.role)


def cluster_that_is_up() -> standing.StandingCluster:
    """The cluster that `cluster up` started; raises JobFailed if there is none."""
    cluster = standing.read()
    # A record without an address is of a `cluster up` killed before its scheduler answered.
    if cluster is None or not cluster.address:
        raise JobFailed(
            "no cluster is up; start one with: rsyslog-tune cluster up --inventory hosts.yaml"
        )
    return cluster


def _show(cluster: standing.StandingCluster, output: OutputFormat) -> None:
    present = standing.taking_part(cluster)
    absent = [host for host in cluster.hosts if host.name not in present]
    hosts = [{"name": name, "role": role, "present": True} for name, role in present.items()]
    hosts += [{"name": host.name, "role": host.role.value, "present": False} for host in absent]
    lines = [f"scheduler  {cluster.address}"]
    for host in hosts:
        note = "" if host["present"] else ": does not take part"
        lines.append(f"{host['role']:<9}  {host['name']}{note}")
    print_result(
        output, "cluster", {"scheduler": cluster.address, "hosts": hosts}, "\n".join(lines)
    )


def _certificate(options: usage.ClusterArguments.Up) -> ClusterCertificate | None:
    """The contents of the TLS files given with --scheduler, which may be moved later."""
    files = [options.tls_ca, options.tls_cert, options.tls_key]
    texts = [pem_text(file) for file in files if file is not None]
    if options.scheduler is None:
        if texts:
            raise BadUsage("--tls-ca, --tls-cert and --tls-key belong to --scheduler")
        return None
    if not texts and not options.scheduler.startswith("tls:"):
        return None
    if len(texts) < len(files):
        raise BadUsage("--tls-ca, --tls-cert and --tls-key go together")
    return ClusterCertificate(*texts)
