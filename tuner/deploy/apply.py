"""Apply a plan: the engine first, then the hosts in waves; what fails is as it was before."""

from __future__ import annotations

import secrets
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from enum import Enum

from tuner.deploy.host_profile import for_host
from tuner.deploy.journal import Intents, Touched, Waiting
from tuner.deploy.objects import bring_all_back, put
from tuner.deploy.plan import DeployPlan, HostChange, require_unchanged
from tuner.deploy.target import RemoteHost, Tell, Undone
from tuner.deploy.verify import block_of, last_round, movement_note, stranded_files
from tuner.engine.client import EngineClient, EngineRefused, number_at
from tuner.engines.index import MappingStyle
from tuner.errors import GuardrailBreached, TuneError
from tuner.host.process import wait_until
from tuner.modules.field import DocumentField, Use
from tuner.modules.input import EVERY_ADDRESS, LOOPBACK, Listener
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile

_POLL_S = 0.5
_ANY_ADDRESS = {"0.0.0.0", "::", EVERY_ADDRESS}  # noqa: S104


class HostState(Enum):
    """What became of a host."""

    UNCHANGED = "unchanged"
    APPLIED = "applied"
    WAITING = "waiting to be confirmed"
    RESTORED = "restored"
    UNKNOWN = "not restored"
    NOT_BEGUN = "not begun"


@dataclass(frozen=True)
class HostOutcome:
    """What became of a host, and why."""

    name: str
    state: HostState
    error: TuneError | None = None


@dataclass(frozen=True)
class ApplyOptions:
    """How to go about it: hosts at once, seconds to confirm (0: needless), the seconds in which
    an event must come to the engine (0: none is sent), whether one failure restores every host."""

    serial: int = 1
    confirm_within_s: int = 0
    event_within_s: float = 0.0
    all_or_none: bool = False


@dataclass(frozen=True)
class Apply:
    """One apply under way, and what became of each host so far by its name."""

    plan: DeployPlan
    client: EngineClient | None
    intents: Intents
    options: ApplyOptions
    tell: Tell
    outcomes: dict[str, HostOutcome] = field(init=False, default_factory=dict)

    def run(self) -> tuple[HostOutcome, ...]:
        """Do it, and say what became of each host."""
        for host in self.plan.hosts:
            begins = HostState.NOT_BEGUN if host.diff else HostState.UNCHANGED
            self._note(host.machine.name, begins)
        try:
            self._put_objects()
            for wave in self._waves():
                self._apply_wave(wave)
                if self._failed:
                    break
        except BaseException:
            self._undo()
            raise
        if self._failed:
            self._undo()
        else:
            self._finish()
        return tuple(self.outcomes.values())

    @property
    def _failed(self) -> bool:
        return any(outcome.error is not None for outcome in self.outcomes.values())

    def _waves(self) -> Iterator[Sequence[HostChange]]:
        changed = [host for host in self.plan.hosts if host.diff]
        for start in range(0, len(changed), self.options.serial):
            yield changed[start : start + self.options.serial]

    def _put_objects(self) -> None:
        if self.client is None:
            return
        for change in self.plan.objects:
            self.intents.note(change)
            put(self.client, change.path, change.body)
            self.tell(f"engine: {change.name}")

    def _apply_wave(self, wave: Sequence[HostChange]) -> None:
        """One host in this thread, so that a signal ends it in order; several side by side."""
        if len(wave) == 1:
            self._apply_host(wave[0])
            return
        with ThreadPoolExecutor(len(wave)) as threads:
            list(threads.map(self._apply_host, wave))

    def _apply_host(self, change: HostChange) -> None:
        name = change.machine.name
        target = RemoteHost(change.machine, change.paths)
        profile = None
        if not self.plan.undoes:
            profile = for_host(self.plan.profile.loaded, change.machine).profile
        try:
            facts = target.facts(())
            require_unchanged(change, facts)
        except TuneError as bad:
            self._note(name, HostState.NOT_BEGUN, bad)
            return
        self.intents.note(Touched(change.machine, change.paths))
        # Until more is known: an interrupt may come while it is restored, too.
        self._note(name, HostState.UNKNOWN)
        try:
            figures = () if profile is None else last_round(target, profile)
            target.apply(change.candidate, self.intents.run, self.options.confirm_within_s)
            version = "new" if profile is not None else "previous"
            self.tell(f"{name}: rsyslogd runs the {version} configuration")
            _require_queues_read(target, profile, change, facts.rsyslogd)
            if profile is not None:
                self._check_delivery(target, profile)
                self.tell(movement_note(target, profile, figures))
            if not self.options.all_or_none and not self.options.confirm_within_s:
                target.keep(self.intents.run)
        except TuneError as bad:
            self._restore_host(target, bad)
        except BaseException:
            self._restore_host(target, None)
            raise
        else:
            state = HostState.WAITING if self.options.confirm_within_s else HostState.APPLIED
            self._note(name, state)

    def _check_delivery(self, target: RemoteHost, profile: Profile) -> None:
        """One event, sent on the host by the way that others take, must come to the engine."""
        entrance = entrance_of(profile)
        if self.client is None or not self.options.event_within_s or entrance is None:
            return
        address = LOOPBACK if entrance.address in _ANY_ADDRESS else entrance.address
        mark = f"rsyslogtune{secrets.token_hex(6)}"
        target.send_event(address, entrance.port, str(entrance.transport), mark)
        within_s = self.options.event_within_s
        if not awaited(self.client, profile, mark, within_s):
            raise GuardrailBreached(
                f"{target.machine.name}: an event sent to port {entrance.port} is not in the "
                f"engine after {within_s:g} s: see what rsyslogd says there and the profile's "
                "errorfile; --event-within waits longer, --no-event is for filters that drop it"
            )
        self.tell(f"{target.machine.name}: an event came through to the engine")

    def _restore_host(self, target: RemoteHost, why: TuneError | None) -> None:
        name = target.machine.name
        try:
            undone = target.restore(self.tell, self.intents.run)
        except TuneError as bad:
            self.tell(f"{name} is not as before: {bad}; rsyslog-tune recover tries again")
            self._note(name, HostState.UNKNOWN, why or bad)
        else:
            # Where the way back was lost while the change was being kept.
            is_kept = undone is Undone.KEPT
            state = HostState.APPLIED if is_kept else HostState.RESTORED
            self._note(name, state, why)

    def _undo(self) -> None:
        """Every host where that was asked for; the engine, where no host has the new one.  The
        journal stays while something is left for recover, and where a host keeps it."""
        if self.options.all_or_none or self.options.confirm_within_s:
            for change in self.plan.hosts:
                if self._is_new(change.machine.name):
                    self._restore_host(RemoteHost(change.machine, change.paths), None)
        states = {outcome.state for outcome in self.outcomes.values()}
        is_whole = HostState.UNKNOWN not in states
        if not states & {HostState.APPLIED, HostState.WAITING}:
            is_whole &= self._is_engine_back()
        if is_whole and HostState.APPLIED in states:
            self.intents.finish()
        elif is_whole:
            self.intents.remove()

    def _is_engine_back(self) -> bool:
        """Bring its objects back; whether all are."""
        if self.client is None:
            return True
        failures = bring_all_back(self.client, self.intents.puts, self.tell)
        for failure in failures:
            self.tell(f"the engine is not as before: {failure}; rsyslog-tune recover tries again")
        return not failures

    def _finish(self) -> None:
        if self.options.confirm_within_s:
            self.intents.note(Waiting())
            return
        if self.options.all_or_none:
            # From the first host that keeps it there is no way back: confirm goes on.
            self.intents.note(Waiting())
            for change in self.plan.hosts:
                if self._is_new(change.machine.name):
                    self._keep(change)
        if not self._failed:
            self.intents.finish()

    def _keep(self, change: HostChange) -> None:
        name = change.machine.name
        try:
            RemoteHost(change.machine, change.paths).keep(self.intents.run)
        except TuneError as bad:
            self.tell(f"{name} is not confirmed: {bad}; rsyslog-tune confirm finishes it")
            self._note(name, HostState.WAITING, bad)

    def _note(self, name: str, state: HostState, error: TuneError | None = None) -> None:
        self.outcomes[name] = HostOutcome(name, state, error)

    def _is_new(self, name: str) -> bool:
        return self.outcomes[name].state in {HostState.APPLIED, HostState.WAITING}


def _require_queues_read(
    target: RemoteHost, profile: Profile | None, change: HostChange, rsyslogd: str
) -> None:
    """Raise GuardrailBreached where files that the rsyslogd before left to a queue are not read by
    the one that runs now, of that release; what was empty it removed when it stopped."""
    text = "\n".join(text or "" for _, text in change.candidate.files)
    unread = list(stranded_files(target, block_of(profile, text), rsyslogd))
    if unread:
        raise GuardrailBreached(f"{target.machine.name}: {'; '.join(unread)}")


def entrance_of(profile: Profile) -> Listener | None:
    """Where an event can be sent without a key that the engine then finds; None where there is no
    such way, and nothing is checked."""
    if not findable(profile):
        return None
    plain = (
        source
        for source in profile.host_inputs
        if isinstance(source, Listener)
        and source.transport in {"tcp", "udp"}
        and source.stream == profile.measured_stream
    )
    return next(plain, None)


def findable(profile: Profile) -> tuple[str, ...]:
    """The fields in which a search finds a word that is both the program and the message; what a
    base writes may be any."""
    if profile.base is not None:
        return ("*",)
    return tuple(
        field.name
        for output in profile.indexed
        for field in fields_of(output)
        if output.index.mapping is not MappingStyle.NONE
        and (output.index.mapping is MappingStyle.DYNAMIC or _finds(field))
    )


def _finds(field: DocumentField) -> bool:
    """A keyword holds all of a value: with the message comes a blank, with the tag a colon."""
    if field.property == "programname" and Use.TERM in field.uses:
        return True
    is_text = bool({Use.FULL_TEXT, Use.PHRASE} & set(field.uses))
    return is_text and field.property in {"programname", "syslogtag", "msg", "rawmsg"}


def awaited(client: EngineClient, profile: Profile, mark: str, patience_s: float) -> bool:
    """Whether the event marked so is found in an index of the profile's within so many seconds."""
    return wait_until(lambda: _found(client, profile, mark), patience_s, _POLL_S)


def _found(client: EngineClient, profile: Profile, mark: str) -> bool:
    query = {"multi_match": {"query": mark, "fields": findable(profile), "lenient": True}}
    pattern = ",".join(output.index.pattern for output in profile.indexed)
    options = "ignore_unavailable=true&allow_no_indices=true"
    try:
        client.request("POST", f"/{pattern}/_refresh?{options}")
        answer = client.request(
            "POST", f"/{pattern}/_search?{options}", {"query": query, "size": 1}
        )
    except EngineRefused as refused:
        # An index that is being made answers 503.
        if refused.status not in {404, 503}:
            raise
        return False
    return number_at(answer, "hits", "total", "value") > 0
