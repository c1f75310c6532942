"""Fitting inputs to a lab, which floods the first and takes nothing from anywhere else."""

from __future__ import annotations

from tuner.errors import Refused
from tuner.modules.inputs import (
    ImfileInput,
    ImptcpInput,
    ImrelpInput,
    ImtcpInput,
    ImudpInput,
    ImuxsockInput,
    Input,
)
from tuner.profile.certificates import SENDER_NAME, Certificates
from tuner.profile.model import Profile

_LOOPBACK = "127.0.0.1"
_WILDCARDS = frozenset("*?[")


def flooded(profile: Profile) -> Input:
    """The input that measurements flood: the first.  Raises Refused when they cannot."""
    first = profile.inputs[0]
    if isinstance(first, ImfileInput):
        joins = {
            "readMode": first.read_mode,
            "startmsg.regex": first.startmsg_regex,
            "endmsg.regex": first.endmsg_regex,
        }
        for key, value in joins.items():
            if value:
                raise Refused(
                    f"inputs[0].{key} makes one event of several lines, and measurements write one "
                    "line for each event: measure without it"
                )
    return first


def bind_inputs(profile: Profile, ports: tuple[int, ...], spool: str) -> tuple[Input | None, ...]:
    """The first input, and those others that take plain TCP, on loopback or in the folder `spool`,
    each on its port of `ports`, which has one for each input.

    The others are left out, None here: what they bring would be measured as if it had been flooded.
    """
    first, *others = profile.inputs
    flooded(profile)
    rest = zip(others, ports[1:], strict=True)
    return (
        _in_lab(first, ports[0], spool),
        *(_in_lab(one, port, spool) if _is_plain_tcp(one) else None for one, port in rest),
    )


def files_of(bound: ImfileInput, connections: int) -> tuple[str, ...]:
    """The files of a bound input that a flood writes: one for each connection where a wildcard
    takes them all."""
    if "*" not in bound.file:
        return (bound.file,)
    return tuple(bound.file.replace("*", str(number)) for number in range(1, connections + 1))


def work_directory(profile: Profile, spool: str) -> str | None:
    """Where rsyslogd keeps its state in the lab, if the profile names a place for it."""
    return None if profile.global_.work_directory is None else spool


def _is_plain_tcp(source: Input) -> bool:
    plain = isinstance(source, ImtcpInput) and not source.is_encrypted
    return plain or isinstance(source, ImptcpInput)


def _in_lab(source: Input, port: int, spool: str) -> Input:
    """The input where our flood, and nobody else, reaches it and is let in."""
    changes: dict[str, object] = {"address": _LOOPBACK, "port": port}
    certificates = Certificates(f"{spool}/tls")
    match source:
        case ImptcpInput():
            pass
        case ImtcpInput():
            changes["allowed_sender"] = None
            if source.is_encrypted:
                changes |= _imtcp_tls(source, certificates)
        case ImudpInput():
            changes |= {"allowed_sender": None, "device": None}
        case ImrelpInput():
            if source.tls:
                changes |= _imrelp_tls(source, certificates)
        case ImuxsockInput():
            changes = {"socket": f"{spool}/input.sock"}
        case ImfileInput():
            several = not _WILDCARDS.isdisjoint(source.file)
            name = "input-*.log" if several else "input.log"
            changes = {"file": f"{spool}/{name}", "fresh_start_tail": None}
    return source.model_copy(update=changes)


def _imtcp_tls(source: ImtcpInput, certificates: Certificates) -> dict[str, object]:
    mode = source.stream_driver_auth_mode
    return {
        "stream_driver_ca_file": certificates.authority,
        "stream_driver_cert_file": certificates.collector,
        "stream_driver_key_file": certificates.collector_key,
        "stream_driver_crl_file": None,
        "stream_driver_auth_mode": "x509/name" if mode == "x509/fingerprint" else mode,
        "permitted_peer": source.permitted_peer and (SENDER_NAME,),
    }


def _imrelp_tls(source: ImrelpInput, certificates: Certificates) -> dict[str, object]:
    mode = source.tls_auth_mode
    return {
        "tls_ca_cert": certificates.authority,
        "tls_my_cert": certificates.collector,
        "tls_my_priv_key": certificates.collector_key,
        "tls_auth_mode": "name" if mode == "fingerprint" else mode,
        "tls_permitted_peer": source.tls_permitted_peer and (SENDER_NAME,),
    }
