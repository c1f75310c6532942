"""Fitting inputs to a lab, which floods plain TCP and takes nothing from anywhere else."""

from __future__ import annotations

from typing import TypeGuard

from tuner.errors import Refused
from tuner.profile.inputs import (
    ImfileInput,
    ImptcpInput,
    ImtcpInput,
    ImuxsockInput,
    Input,
    TcpInput,
)
from tuner.profile.model import Profile
from tuner.profile.rules_parameters import inputs_too_new

_LOOPBACK = "127.0.0.1"
_LEFT_OUT = "left out"


def flooded(profile: Profile) -> TcpInput:
    """The input that measurements flood: the first.  Raises Refused when they cannot."""
    first = profile.inputs[0]
    if not _is_plain_tcp(first):
        raise Refused(
            f"inputs[0] is {_describe(first)}, and measurements flood the first input over plain "
            "TCP: put an imptcp input, or an imtcp input without TLS, first"
        )
    return first


def bind_inputs(profile: Profile, ports: tuple[int, ...]) -> tuple[TcpInput, ...]:
    """The plain TCP inputs on loopback, each on its port of `ports`, which has one for each input;
    the others are left out: what they bring would be measured as if it had been flooded.

    Raises Refused when the first is not one of them.
    """
    flooded(profile)
    return tuple(
        _on_loopback(source, port)
        for source, port in zip(profile.inputs, ports, strict=True)
        if _is_plain_tcp(source)
    )


def require_known(bound: Profile) -> None:
    """Raise Refused when the lab's rsyslog is older than a parameter of an input."""
    for complaint in inputs_too_new(bound):
        raise Refused(f"the lab cannot run this profile: {complaint.message}")


def input_rows(written: tuple[Input, ...], used: tuple[Input, ...]) -> list[tuple[str, str, str]]:
    """Path, value as written and value used of every input that differs."""
    rest = iter(used)
    rows = []
    for number, old in enumerate(written):
        new = next(rest) if _is_plain_tcp(old) else None
        path = f"inputs[{number}]"
        rows.append((path, _describe(old), _LEFT_OUT if new is None else _describe(new)))
        if isinstance(old, ImtcpInput) and old.allowed_sender and new is not None:
            rows.append((f"{path}.allowedSender", ", ".join(old.allowed_sender), "none"))
    return rows


def _is_plain_tcp(source: Input) -> TypeGuard[TcpInput]:
    plain = isinstance(source, ImtcpInput) and not source.is_encrypted
    return plain or isinstance(source, ImptcpInput)


def _on_loopback(source: TcpInput, port: int) -> TcpInput:
    changes: dict[str, object] = {"address": _LOOPBACK, "port": port}
    if isinstance(source, ImtcpInput):
        changes["allowed_sender"] = None
    return source.model_copy(update=changes)


def _describe(source: Input) -> str:
    """Where an input takes events from; plain TCP by its address alone."""
    if _is_plain_tcp(source):
        return f"{source.address}:{source.port}"
    if isinstance(source, ImfileInput):
        return f"imfile {source.file}"
    if isinstance(source, ImuxsockInput):
        return f"imuxsock {source.socket}"
    tls = " with TLS" if isinstance(source, ImtcpInput) else ""
    return f"{source.type} {source.address}:{source.port}{tls}"
