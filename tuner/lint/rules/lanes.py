"""Lint for lanes: what would merge them again, or leave events without a lane."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.input import Listener
from tuner.profile.lanes import Spread
from tuner.profile.model import Profile
from tuner.profile.placement import action_queue, lane_queue, ports_of
from tuner.rule import Complaint, advice, error

_LAST_PORT = 65535
_LANES = {"lanes": {"count": 2}, "outputs[logs].queue": {"type": "Direct"}}


def _by_ports(profile: Profile) -> bool:
    return profile.lanes is not None and profile.lanes.spread is Spread.PORTS


@error(
    "RT130",
    why="Lanes by ports need one port for each lane, and one choice of parsers for all.",
    source="rsyslog's manual: an input's ruleset parses its messages",
    bad={
        "global": {"workDirectory": "/var/spool/rsyslog"},
        "inputs": [{"type": "imfile", "file": "/var/log/app.log", "tag": "app:"}],
        **_LANES,
    },
    good={"lanes.spread": "random"},
    at="inputs[0].type",
)
def _without_port(profile: Profile) -> Iterator[Complaint]:
    if not _by_ports(profile):
        return
    for number, source in enumerate(profile.inputs):
        if not isinstance(source, Listener):
            yield Complaint(
                ("inputs", number, "type"),
                f"{source.type} has no port to choose a lane by: set lanes.spread to hash or "
                "random",
            )
        elif source.parser not in {None, profile.parser}:
            yield Complaint(
                ("inputs", number, "parser"),
                "the inputs hand their events straight to the lanes, which share one choice of "
                "parsers: name it once, as the profile's parser",
            )


@error(
    "RT131",
    why=f"There are {_LAST_PORT} ports.",
    source="RFC 9293",
    bad={**_LANES, "inputs[0].port": 65_535},
    good={"inputs[0].port": 65_534},
)
def _past_the_last(profile: Profile) -> Iterator[Complaint]:
    for number, source in enumerate(profile.inputs):
        ports = ports_of(profile, source)
        if ports and ports[-1] > _LAST_PORT:
            yield Complaint(
                ("inputs", number, "port"),
                f"{len(ports)} lanes need the ports {ports[0]} to {ports[-1]}, and {_LAST_PORT} is "
                f"the last: use at most {_LAST_PORT + 1 - len(ports)}",
            )


@error(
    "RT132",
    why="A ruleset without a queue of its own runs in the main queue, so there would be no lanes.",
    source="rsyslog's manual, concepts/multi_ruleset",
    bad={**_LANES, "lanes.spread": "random", "lanes.queue": {"type": "Direct"}},
    good={"lanes.queue.type": "FixedArray"},
)
def _no_queue(profile: Profile) -> Iterator[Complaint]:
    queue = lane_queue(profile)
    if queue is not None and queue.is_direct:
        yield Complaint(
            (*queue.path, "type"),
            "a lane is a queue with its own workers, and Direct means no queue: use FixedArray, "
            "LinkedList or Disk, or remove lanes",
        )


@advice(
    "RT133",
    why="One queue has one lock and, on disk, one worker: lanes exist to avoid that.",
    source="Elastic consulting, 2019 (examples/experiments/p5-disk-queues.yaml)",
    bad={"lanes": {"count": 2}},
    good={"outputs[logs].queue": {"type": "Direct"}},
    at="outputs[logs].queue.type",
)
def _together_again(profile: Profile) -> Iterator[Complaint]:
    if profile.lanes is None or profile.lanes.count == 1:
        return
    for number in range(len(profile.outputs)):
        queue = action_queue(profile, number)
        if not queue.is_direct:
            yield Complaint(
                (*queue.path, "type"),
                f"all {profile.lanes.count} lanes share this one queue again: set its type to "
                "Direct, so that each lane's workers deliver themselves",
            )
