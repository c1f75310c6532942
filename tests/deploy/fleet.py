"""Hosts and an engine that only remember: the order of an apply, and what each failure leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

from tests.profile.examples import SMALL
from tuner.deploy.host_profile import PlannedProfile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.objects import EngineChange
from tuner.deploy.plan import DeployPlan, HostChange, digest_of
from tuner.deploy.target import Candidate, Facts, Tell, Undone
from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.errors import JobFailed

OLD, NEW = b"old", b"new"
CONF = "/etc/rsyslog.conf"
TEMPLATE = "/_index_template/syslog"
BEFORE: JSON = {"index_patterns": ["syslog"], "priority": 1}
AFTER: JSON = {"index_patterns": ["syslog"], "priority": 2}


@dataclass
class Fleet:
    """What hosts hold, what is under way on them and was kept last (by run), and every step in
    order, with those that fail: (host, step) to what is raised.  `confirmed_within_s` is what each
    was given to be confirmed, `events` are where one was sent: address, port and transport."""

    live: dict[str, bytes] = field(default_factory=dict)
    under_way: dict[str, str] = field(default_factory=dict)
    kept: dict[str, str] = field(default_factory=dict)
    steps: list[tuple[str, str]] = field(default_factory=list)
    fails: dict[tuple[str, str], BaseException] = field(default_factory=dict)
    spool: tuple[str, ...] = ()
    confirmed_within_s: dict[str, int] = field(default_factory=dict)
    events: list[tuple[str, int, str]] = field(default_factory=list)
    hear: Callable[[str, str], None] = lambda _host, _step: None

    def connect(self, machine: InventoryHost, paths: Sequence[str] = ()) -> FakeHost:
        """In the place of `RemoteHost`."""
        self.live.setdefault(machine.name, OLD)
        return FakeHost(machine, self, tuple(paths))

    def step(self, host: str, step: str) -> None:
        """It is taken, or fails."""
        self.steps.append((host, step))
        self.hear(host, step)
        if (host, step) in self.fails:
            raise self.fails[host, step]

    def taken(self, host: str) -> list[str]:
        """The steps on a host."""
        return [step for name, step in self.steps if name == host]


@dataclass
class FakeHost:
    """One of them, by the promises of host.sh: what is applied can be restored until it is kept."""

    machine: InventoryHost
    fleet: Fleet
    paths: tuple[str, ...]

    @property
    def host(self) -> Any:
        names = "".join(f"f{name}\0" for name in self.fleet.spool).encode()
        return SimpleNamespace(run=lambda *_: SimpleNamespace(code=0, out=names, err=""))

    def facts(self, sockets: Sequence[str]) -> Facts:
        assert (self.paths, sockets) == ((CONF,), ())
        self.fleet.step(self.machine.name, "facts")
        live = {CONF: self.fleet.live[self.machine.name]}
        return Facts("8.2302.0", live, None, 1, frozenset(), frozenset())

    def apply(self, candidate: Candidate, run: str, confirm_within_s: int) -> None:
        name = self.machine.name
        self.fleet.confirmed_within_s[name] = confirm_within_s
        self.fleet.under_way[name] = run
        self.fleet.live[name] = (candidate.files[0][1] or "").encode()
        self.fleet.step(name, "apply")

    def restore(self, tell: Tell, run: str = "") -> Undone:
        name = self.machine.name
        assert self.paths == ((CONF,) if run else ())
        self.fleet.step(name, "restore")
        if self.fleet.under_way.get(name) not in (
            {run} if run else {*self.fleet.under_way.values()}
        ):
            return Undone.KEPT if run and self.fleet.live[name] == NEW else Undone.NONE
        del self.fleet.under_way[name]
        if self.fleet.live[name] not in (OLD, NEW):
            tell(f"{name}: what somebody else put there is kept")
        self.fleet.live[name] = OLD
        return Undone.RESTORED

    def keep(self, run: str) -> None:
        name = self.machine.name
        assert (self.paths, self.fleet.under_way.get(name, run)) == ((CONF,), run)
        self.fleet.step(name, "keep")
        if self.fleet.under_way.pop(name, None) is None and self.fleet.kept.get(name) != run:
            raise JobFailed(f"{name}: nothing is under way: it was restored")
        self.fleet.kept[name] = run

    def send_event(self, address: str, port: int, transport: str, _mark: str) -> None:
        self.fleet.events.append((address, port, transport))
        self.fleet.step(self.machine.name, "event")


class Holding(EngineClient):
    """An engine that holds these objects by path, and finds an event or does not."""

    def __init__(self, fleet: Fleet, objects: dict[str, JSON], *, finds: bool = True) -> None:
        super().__init__("http://engine.invalid")
        self.fleet, self.objects, self.finds = fleet, objects, finds

    def request(
        self, method: str, path: str, body: JSON | None = None, *, timeout_s: float | None = None
    ) -> object:
        place = path.partition("?")[0]
        if place.endswith("/_search"):
            return {"hits": {"total": {"value": int(self.finds)}}}
        if place.endswith("/_refresh"):
            return {}
        if method == "GET":
            return self._there(place)
        self.fleet.step("engine", f"{method} {place}")
        if method == "PUT":
            self.objects[place] = body or {}
        else:
            del self.objects[place]
        return {}

    def _there(self, place: str) -> object:
        """What it answers with."""
        if place == "/_index_template":
            named = {
                path.rpartition("/")[2]: body
                for path, body in self.objects.items()
                if path.startswith(place)
            }
            return {
                "index_templates": [
                    {"name": name, "index_template": body} for name, body in named.items()
                ]
            }
        if place not in self.objects:
            raise EngineRefused("it is not there", 404, "it is not there")
        if place.endswith("/_settings"):
            return {place.split("/")[1]: {"settings": self.objects[place]}}
        return self.objects[place]


def plan_of(*names: str) -> DeployPlan:
    """New files for these hosts, and a template that was there before and another that was not."""
    changes = (
        EngineChange(TEMPLATE, BEFORE, AFTER, "template syslog", "-1\n+2\n"),
        EngineChange("/_index_template/logs", None, AFTER, "template logs", "+2\n"),
    )
    hosts = (
        HostChange(
            InventoryHost(name, f"ssh://{name}"), Candidate(((CONF, "new"),), "644", ()),
            (digest_of(OLD),), "-old\n+new\n",
        )
        for name in names
    )  # fmt: skip
    return DeployPlan(PlannedProfile("small.yaml", SMALL), tuple(hosts), None, changes)
