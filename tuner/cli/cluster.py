"""`rsyslog-tune cluster`: several machines, a worker of Dask's on each."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from tuner.cli.console import OutputFormat, print_result, result, result_json, say
from tuner.cluster import member as member_process
from tuner.cluster import standing
from tuner.cluster.access import versions_here
from tuner.cluster.certificate import ClusterCertificate, pem_text
from tuner.deploy.inventory import Role, load_inventory
from tuner.errors import BadUsage, JobFailed
from tuner.host.lock import measuring


def up(
    inventory: Path | None,
    listen: str | None,
    scheduler: str | None,
    tls_ca: Path | None,
    tls_cert: Path | None,
    tls_key: Path | None,
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune cluster up`."""
    if (inventory is None) == (scheduler is None):
        raise BadUsage(
            "use --inventory hosts.yaml, or --scheduler URL for an existing Dask cluster"
        )
    certificate = _certificate(scheduler, tls_ca, tls_cert, tls_key)
    hosts = () if inventory is None else load_inventory(inventory)
    machines = [host for host in hosts if host.role is not Role.ENGINE]
    with measuring("rsyslog-tune cluster up"):
        found = standing.read()
        if found is not None and (not found.is_ours or found.scheduler.is_alive()):
            if not standing.bring_back(found, machines, say):
                raise JobFailed(
                    f"a cluster is already up at {found.address}; end it with: rsyslog-tune "
                    "cluster down"
                )
            started = found
        else:
            if found is not None:
                # What still runs where nobody reaches it ends with its scheduler.
                with suppress(JobFailed):
                    standing.down(found, say)
            if scheduler is None:
                started = standing.up(machines, listen, say)
            else:
                started = standing.attach(scheduler, certificate)
    _show(started, output)


def status(
    output: OutputFormat,
) -> None:
    """Carry out `rsyslog-tune cluster status`."""
    _show(cluster_that_is_up(), output)


def down() -> None:
    """Carry out `rsyslog-tune cluster down`."""
    with measuring("rsyslog-tune cluster down"):
        found = standing.read()
        if found is not None:
            standing.down(found, say)
    if found is None or found.is_ours:
        result("the cluster is down")
    else:
        result(f"{found.address} is no longer used")


def versions() -> None:
    """Carry out `rsyslog-tune cluster versions`."""
    result_json(versions_here())


def member(
    folder: Path,
    listen: str,
    scheduler: str,
    name: str,
    role: str,
) -> None:
    """Carry out `rsyslog-tune cluster member`."""
    if listen:
        member_process.schedule(folder, listen)
    else:
        member_process.work(folder, scheduler, name, role)


def cluster_that_is_up() -> standing.StandingCluster:
    """The cluster that `cluster up` left; raises JobFailed without one."""
    found = standing.read()
    # Without an address it was killed before its scheduler answered.
    if found is None or not found.address:
        raise JobFailed(
            "no cluster is up; start one with: rsyslog-tune cluster up --inventory hosts.yaml"
        )
    return found


def _show(cluster: standing.StandingCluster, output: OutputFormat) -> None:
    present = standing.taking_part(cluster)
    absent = [one for one in cluster.hosts if one.name not in present]
    hosts = [{"name": name, "role": role, "present": True} for name, role in present.items()]
    hosts += [{"name": one.name, "role": one.role.value, "present": False} for one in absent]
    lines = [f"scheduler  {cluster.address}"]
    for one in hosts:
        lines.append(f"{one['role']:<9}  {one['name']}")
        lines[-1] += "" if one["present"] else ": does not take part"
    print_result(
        output, "cluster", {"scheduler": cluster.address, "hosts": hosts}, "\n".join(lines)
    )


def _certificate(
    scheduler: str | None, ca: Path | None, cert: Path | None, key: Path | None
) -> ClusterCertificate | None:
    """What is given beside --scheduler, for good: the files may move."""
    given = [one for one in (ca, cert, key) if one is not None]
    if scheduler is None:
        if given:
            raise BadUsage("--tls-ca, --tls-cert and --tls-key belong to --scheduler")
        return None
    if not given and not scheduler.startswith("tls:"):
        return None
    if ca is None or cert is None or key is None:
        raise BadUsage("--tls-ca, --tls-cert and --tls-key go together")
    return ClusterCertificate(*(pem_text(one) for one in (ca, cert, key)))
