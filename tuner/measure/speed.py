"""How fast the machine was during a run, by the probe beside it: a covariate, never a score."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tuner.lab.probe import Pieces

Logs = tuple[float, float]
"""The covariates of a run: logarithms of the CPU time of the probe's pieces, zlib before socket."""


@dataclass(frozen=True)
class Speed:
    """What one piece of the probe's fixed work took in the mean over a window: microseconds of CPU
    time and, with the waiting for a core, of time by the clock; over so many pieces of each kind.

    Time by the clock depends on how much the pipeline leaves of the cores, and so on its settings:
    it explains, and is no covariate.
    """

    zlib_us: float
    socket_us: float
    zlib_wall_us: float
    socket_wall_us: float
    pieces: int

    @property
    def logs(self) -> Logs:
        """The covariates."""
        return math.log(self.zlib_us), math.log(self.socket_us)


def speed_of(pieces: Pieces | None) -> Speed | None:
    """The speed that the probe's work of a window shows; None without a probe."""
    if pieces is None or pieces.count < 1:
        return None
    each_us = 1e6 / pieces.count
    return Speed(
        zlib_us=pieces.zlib_cpu_s * each_us,
        socket_us=pieces.socket_cpu_s * each_us,
        zlib_wall_us=pieces.zlib_wall_s * each_us,
        socket_wall_us=pieces.socket_wall_s * each_us,
        pieces=pieces.count,
    )
