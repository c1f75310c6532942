"""Fitting a profile to a lab: a pure step that says what it replaced.

What runs there is text: what is rendered of a profile is read again, so that it is fitted as a
configuration of the user's own is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from tuner.errors import Refused
from tuner.lab.copy import LabCopy, copied
from tuner.lab.text import LabText, Replaced, Site, lab_text
from tuner.modules.input import LOOPBACK, Input, Listener
from tuner.profile.model import Profile
from tuner.profile.placement import ports_of
from tuner.profile.sample import SampleFile
from tuner.profile.workload import Workload
from tuner.render.templates import Templates
from tuner.schema.section import too_new
from tuner.script.objects import Base
from tuner.script.script import HERE
from tuner.traffic.wanted import wanted_by

# Ports of a lab that is not started.
_ON_PAPER = 10_000


@dataclass(frozen=True)
class Bound:
    """A profile with the inputs and the messages of its flood at a site, and the `text` of its
    configuration; `elsewhere` is what is replaced of the profile's releases and nodes."""

    profile: Profile
    text: LabText
    site: Site
    elsewhere: tuple[Replaced, ...]

    @cached_property
    def copy(self) -> LabCopy:
        """What rsyslogd runs, with numbers in its documents."""
        return copied(self.text, self.site)

    @property
    def substitutions(self) -> tuple[Replaced, ...]:
        """Everything that differs from what was written."""
        return (*self.elsewhere, *self.copy.replaced)


def bind(
    profile: Profile, site: Site, ports: tuple[int, ...], templates: Templates | None = None
) -> Bound:
    """Fit a profile to a site; `ports` gives the first port of each input, and `templates` write
    the configuration.

    Raises Refused for what a lab cannot measure.
    """
    inputs = bind_inputs(profile, ports, site.folder, site.address)
    flooded = tuple(source for source in inputs if source is not None)
    bound = profile.model_copy(update={"release": site.release, "inputs": flooded})
    _require_known(bound)
    text = lab_text(profile.model_copy(update={"release": site.release}), inputs, templates)
    load = wanted(profile.workload, text.written)
    return Bound(
        profile=bound.model_copy(update={"workload": load}),
        text=text,
        site=site,
        elsewhere=tuple(_elsewhere(profile, site)),
    )


def bind_inputs(
    profile: Profile, ports: tuple[int, ...], spool: str, address: str
) -> tuple[Input | None, ...]:
    """The inputs that are flooded, at `address`, each on its port of `ports`, which has one for
    each input, or in the folder `spool`.

    The others are left out, None here: what they bring would be measured as if it had been flooded.
    Raises Refused where none can be flooded, or not from other machines as `address` asks for.
    """
    flooded = dict(zip(profile.flooded_numbers, profile.flooded, strict=True))
    return tuple(
        _bound_input(number, source.in_lab(port, spool), address) if number in flooded else None
        for number, (source, port) in enumerate(zip(profile.inputs, ports, strict=True))
    )


def _bound_input(number: int, source: Input, address: str) -> Input:
    if address == LOOPBACK:
        return source
    if not isinstance(source, Listener):
        raise Refused(f"inputs[{number}] takes no events from other machines: measure it on one")
    return source.model_copy(update={"address": address})


def _elsewhere(profile: Profile, site: Site) -> Iterator[Replaced]:
    """What is not as the profile says it at a site, whatever its configuration."""
    engine, here = profile.release.engine, site.release.engine_text
    if site.release.engine is not engine:
        here = f"{site.release.engine.value} {here}"
    for path, said, used in (
        ("release.rsyslog", profile.release.rsyslog, site.release.rsyslog),
        (f"release.{engine.value}", profile.release.engine_text, site.stand_in or here),
        ("node.heap", profile.node.heap, site.heap or profile.node.heap),
    ):
        if said != used:
            yield Replaced(HERE, said, used, path, is_routine=True)


def wanted(load: Workload, text: Base) -> Workload:
    """The workload with messages that take every way of a configuration, where it tells some apart
    and nothing says what messages are like."""
    if load.learnt is not None or load.replay is not None:
        return load
    sample = wanted_by(text, load.message_bytes.mean)
    if sample is None:
        return load
    made = load.model_copy()
    made.hold(SampleFile("", "", sample))
    return made


def require_bindable(profile: Profile, rsyslog: str) -> Bound:
    """The profile as a lab with this rsyslog would run it, before one is started.  Raises Refused
    for what no lab can measure."""
    on_paper = Site(
        engine_urls=("http://127.0.0.1:9200",),
        release=profile.release.model_copy(update={"rsyslog": rsyslog}),
        # Which engine will take what is sent is not known yet.
        stand_in="a lab",
        data_nodes=1,
        heap=None,
        index_prefix="rsyslog-tune-",
        folder="/spool",
        keeps_authentication=False,
        receiver_port=_ON_PAPER,
    )
    bound = bind(profile, on_paper, first_ports(profile, _ON_PAPER))
    # Refused where nothing of it goes into an engine.
    _ = bound.copy
    return bound


def port_counts(profile: Profile) -> list[int]:
    """How many ports each input of a profile takes in a lab."""
    return [max(1, len(ports_of(profile, source))) for source in profile.inputs]


def first_ports(profile: Profile, first: int) -> tuple[int, ...]:
    """The first port of each input, where they take those from `first` on."""
    return tuple(accumulate(port_counts(profile)[:-1], initial=first))


def _require_known(bound: Profile) -> None:
    """Raise Refused when the lab's rsyslog is older than a parameter of an input."""
    for source in bound.inputs:
        for path, since in too_new(source, bound.release.rsyslog_number):
            raise Refused(
                f"the lab cannot run this profile: {source.type} has {'.'.join(path)} since "
                f"rsyslog 8.{since}, and the rsyslogd here is {bound.release.rsyslog}"
            )
