"""An original configuration fitted to a lab: only what leads to the engine stays, on loopback."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal

from tuner.importer.script import (
    Block,
    BsdBlock,
    Directive,
    Foreach,
    If,
    Include,
    LegacyAction,
    Parameter,
    PropertyFilter,
    SelectorFilter,
    Statement,
    Thing,
    Word,
)

# Inputs that a lab can send to, and the directives that start them.
LISTENERS: dict[str, Literal["tcp", "udp"]] = {"imtcp": "tcp", "imptcp": "tcp", "imudp": "udp"}
_STARTERS = {
    "inputtcpserverrun": "imtcp", "inputptcpserverrun": "imptcp", "udpserverrun": "imudp",
}  # fmt: skip
# What takes events of the host itself, or needs what a lab has not.
_LEFT_OUT = frozenset({"imuxsock", "imklog", "imkmsg", "imjournal", "immark", "imfile", "impstats"})
_OF_THE_HOST = (
    "privdrop", "inputfile", "inputrunfile", "fileowner", "filegroup", "dirowner", "dirgroup",
    "umask", "actionqueuefilename", "mainmsgqueuefilename", "includeconfig", "udpserveraddress",
    "defaultnetstreamdriver",
)  # fmt: skip
_QUEUE_FILES = frozenset({"queue.filename", "queue.spooldirectory", "queue.maxdiskspace"})
_TOWARDS_ENGINE = frozenset(
    {
        "server", "serverport", "usehttps", "uid", "pwd", "apikey", "tls.cacert", "tls.mycert",
        "tls.myprivkey", "allowunsignedcerts", "skipverifyhost", "errorfile", "bulkmode",
        "searchtype", "esversion.major", *_QUEUE_FILES,
    }
)  # fmt: skip
_TLS_OF_INPUT = ("streamdriver", "permittedpeer", "gnutls")
_OF_INPUT = frozenset({"address", "port", "device", "listenportfilename", "namespace"})


@dataclass(frozen=True)
class Door:
    """A place of an original configuration where events enter: the kind of input, and its port in
    the lab."""

    kind: str
    port: int


@dataclass(frozen=True)
class LabSite:
    """What a lab has for an original configuration; `free_port` gives another port each time."""

    sink_url: str
    folder: str
    free_port: Callable[[], int]


def substituted(block: Block, site: LabSite) -> tuple[Block, tuple[Door, ...]]:
    """The configuration with the lab's sink, ports and folder, and where events enter."""
    changing = _Substitution(site, [])
    made = changing.block(block)
    return made, tuple(changing.doors)


@dataclass(frozen=True)
class _Substitution:
    site: LabSite
    doors: list[Door]

    def block(self, block: Block) -> Block:
        """A block with what stays of it."""
        return tuple(made for one in block if (made := self.statement(one)) is not None)

    def statement(self, one: Statement) -> Statement | None:
        """What stands for a statement in the lab; None for what is left out."""
        made: Statement | None = one
        match one:
            case Thing():
                made = self.thing(one)
            case Directive():
                made = self.directive(one)
            case LegacyAction() if one.text != "~":
                made = Word("continue", one.origin)
            case If():
                then, otherwise = self.block(one.then), self.block(one.otherwise)
                made = replace(one, then=then, otherwise=otherwise)
            case SelectorFilter() | PropertyFilter() | Foreach():
                made = replace(one, body=self.block(one.body))
            case Include():
                made = replace(one, files=tuple(map(self.block, one.files)))
            case BsdBlock():
                made = None
            case _:
                pass
        return made

    def thing(self, one: Thing) -> Statement | None:
        """An object in the lab."""
        kind = (one.text("type") or one.text("load") or "").lower()
        made: Statement | None = one
        match one.kind:
            case "module" if kind in _LEFT_OUT:
                made = None
            case "input":
                made = self.input(one, kind)
            case "action":
                made = self.action(one, kind)
            case "global":
                made = self.globals(one)
            case "ruleset":
                made = replace(_without(one, _QUEUE_FILES), body=self.block(one.body or ()))
            case "main_queue":
                made = _without(one, _QUEUE_FILES)
            case _:
                pass
        return made

    def input(self, one: Thing, kind: str) -> Thing | None:
        """A listener on loopback; what a lab cannot send to is left out."""
        if kind not in LISTENERS:
            return None
        port = self.site.free_port()
        self.doors.append(Door(kind, port))
        here = {"address": "127.0.0.1", "port": str(port)}
        kept = tuple(p for p in one.parameters if not p.key.startswith(_TLS_OF_INPUT))
        return _with(_without(replace(one, parameters=kept), _OF_INPUT), here)

    def action(self, one: Thing, kind: str) -> Statement:
        """Into the sink, by bulks; what goes elsewhere does nothing."""
        if kind == "omelasticsearch":
            sink = {"server": self.site.sink_url, "bulkmode": "on", "searchType": ""}
            return _with(_without(one, _TOWARDS_ENGINE), sink)
        return one if kind.startswith("mm") else Word("continue", one.origin)

    def globals(self, one: Thing) -> Thing | None:
        """Nothing of the host's."""
        kept = tuple(
            parameter
            for parameter in one.parameters
            if not parameter.key.startswith(("privdrop", "debug", "workdirectory", "umask"))
        )
        return replace(one, parameters=kept) if kept else None

    def directive(self, one: Directive) -> Directive | None:
        """A directive in the lab."""
        if one.key in _STARTERS:
            port = self.site.free_port()
            self.doors.append(Door(_STARTERS[one.key], port))
            return replace(one, text=str(port))
        if one.key == "workdirectory":
            return replace(one, text=self.site.folder)
        is_left_out = one.key == "modload" and any(name in one.text for name in _LEFT_OUT)
        return None if is_left_out or one.key.startswith(_OF_THE_HOST) else one


def _without(one: Thing, names: frozenset[str]) -> Thing:
    return replace(one, parameters=tuple(p for p in one.parameters if p.key not in names))


def _with(one: Thing, values: dict[str, str]) -> Thing:
    more = tuple(Parameter.of(k, v, one.origin) for k, v in values.items())
    return replace(one, parameters=(*one.parameters, *more))
