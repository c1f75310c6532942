"""What the kernel of a host adds: datagrams that it dropped, and the limit of open files."""

from __future__ import annotations

from dataclasses import replace

from tests.diagnose.logged import course_of, text_of
from tests.diagnose.worlds import CALM, USAGE, World
from tuner.diagnose.course import courses
from tuner.diagnose.diagnosis import Diagnosed, diagnose
from tuner.diagnose.finding import Cause, Certainty, EventEffect
from tuner.diagnose.inputs import KernelCounts
from tuner.diagnose.settings import Settings
from tuner.modules.stats_rounds import StatsObject, StatsRound


def known(kernel: KernelCounts, world: World = CALM) -> Diagnosed:
    rounds = (
        StatsRound(n * 10.0, tuple(StatsObject(*key, dict(of(n))) for key, of in world.items()))
        for n in range(40)
    )
    (one,) = diagnose(courses(rounds), Settings(), kernel)
    return one


def test_dropped_datagrams_are_lost_events() -> None:
    made = known(KernelCounts(0.0, 400.0, {514: 9000, 1514: 0}))
    (found,) = made.findings
    assert (found.cause, found.effect) == (Cause.UDP_BUFFER, EventEffect.LOST)
    assert (found.events.least, found.events.most) == (9000, 9000)
    assert found.where == "UDP port 514"
    assert known(KernelCounts(0.0, 400.0, {514: 0})).findings == ()


def test_what_was_dropped_before_is_not_of_this_time() -> None:
    first = KernelCounts(0.0, 100.0, {514: 50, 601: 9})
    later = KernelCounts(0.0, 400.0, {514: 80, 601: 4}, 1024)
    assert later.since(first) == KernelCounts(100.0, 400.0, {514: 30, 601: 4}, 1024)


def test_a_limit_that_is_known_is_not_guessed() -> None:
    world: World = {**CALM, USAGE: lambda n: {"utime": n, "openfiles": 1023}}
    assert known(KernelCounts(0.0, 400.0, file_limit=65_536), world).findings == ()
    (found,) = known(KernelCounts(0.0, 400.0, file_limit=1025), world).findings
    assert (found.cause, found.certainty) == (Cause.OPEN_FILES, Certainty.CERTAIN)


def test_what_the_kernel_dropped_is_untold_without_it() -> None:
    text = text_of("healthy").replace("imptcp", "imudp")
    course = course_of(text)
    for kernel, is_untold in ((None, True), (KernelCounts(0.0, 1.0), False)):
        (made,) = diagnose([course], Settings(), kernel)
        assert any("kernel" in one for one in made.untold) is is_untold


def test_what_the_kernel_dropped_is_of_no_rsyslogd_where_several_are_told() -> None:
    """Its counters are the host's: each of them would be told to have lost the same events."""
    several = [replace(course_of(text_of("healthy")), host=name) for name in ("one", "two")]
    for made in diagnose(several, Settings(), KernelCounts(0.0, 1.0, {514: 9000})):
        assert Cause.UDP_BUFFER not in {one.cause for one in made.findings}
