"""What rsyslogd makes of an action that stands twice, with a draw for each event."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.live.outputs import daemon, lines, place, wait
from tests.script.test_in_place import base
from tuner.flood.marker import Marker
from tuner.lab.entrances import TcpPort
from tuner.script.in_place import halved

pytestmark = [
    pytest.mark.live,
    pytest.mark.each_rsyslogd("repairs"),
    pytest.mark.usefixtures("nothing_left_behind"),
]
CONFIG = """\
module(load="imtcp")
template(name="one" type="string" string="%msg%\\n")
{statement}
input(type="imtcp" port="{port}" address="127.0.0.1")
"""
ACTION = 'action(name="es" type="omfile" template="one" file="{file}" queue.type="LinkedList")'
EVENTS = 1000


@pytest.mark.parametrize(
    "statement",
    [
        "{action}",
        "user.* {action}",
        'if $msg contains "n=" then {action} else stop',
        'ruleset(name="all") {{ {action} }}\ncall all',
    ],
    ids=["statement", "selector", "branch", "ruleset"],
)
def test_each_event_is_once_in_one_of_both_and_about_half_in_each(
    statement: str, tmp_path: Path
) -> None:
    with place(tmp_path) as there:
        first, second = there.folder / "first", there.folder / "second"
        text = CONFIG.format(
            statement=statement.format(action=ACTION.format(file=first)), port=there.port
        )
        changes = {("action[es]", "file"): str(second)}
        (made,) = halved(base(tmp_path, text), "action[es]", changes, "duet-B").values()
        with daemon(made.decode(), there.folder, [TcpPort(there.port)]):
            marker = Marker("127.0.0.1", there.port)
            for number in range(EVENTS):
                assert marker.send(f"<14>Nov 30 12:00:00 web app: n={number}".encode())
            wait(lambda: len(lines(first)) + len(lines(second)) >= EVENTS)
            marker.close()
        both = lines(first) + lines(second)
        assert sorted(both) == sorted(f" n={number}" for number in range(EVENTS))
        # Of 1,000 draws fewer than 400 come once in more than a billion times.
        assert min(len(lines(first)), len(lines(second))) > 400
