"""The layer `rsyslogd -N1`: the real daemon reads the whole rendered configuration.

Necessary and not sufficient: it accepts nonsense queue sizes, and it crashes on some bad
configurations, which counts as rejecting them.

It starts nothing and runs as the user who asks, not as `nobody`: rsyslogd reads its configuration
as root, and what only root may read (secrets, keys, rulebases) would be reported as missing.
"""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tuner.host.process import describe_exit, own_environment, run
from tuner.host.programs import rsyslogd
from tuner.modules.registry import packages

_TIMEOUT_S = 20.0


@dataclass(frozen=True)
class Check:
    """What rsyslogd said: whether it accepts the configuration, and its complaints."""

    accepted: bool
    complaints: tuple[str, ...]


def check(config: str, inherits: Sequence[str] = ()) -> Check:
    """Let the installed rsyslogd read `config`, which may refer to the variables `inherits`; death
    by a signal is a rejection too."""
    with tempfile.TemporaryDirectory(prefix="rsyslog-tune-") as folder:
        path = Path(folder) / "rsyslog.conf"
        path.touch(mode=0o600)
        path.write_text(config, encoding="utf-8")
        environment = own_environment(*inherits)
        result = run([rsyslogd(), "-N1", "-f", str(path)], _TIMEOUT_S, environment=environment)
    lines = [line.replace(str(path), "rsyslog.conf") for line in result.stderr.splitlines()]
    said = [line for line in lines if "version 8." not in line and "End of config" not in line]
    if result.returncode < 0:
        said.append(f"rsyslogd crashed on it with {describe_exit(result.returncode)}")
    told = [line for line in said if line.strip()]
    return Check(result.returncode == 0, (*packages_to_install(told), *told))


def packages_to_install(complaints: Sequence[str]) -> tuple[str, ...]:
    """What to install for the modules that rsyslogd could not load, one sentence for each."""
    return tuple(
        f"{module} is not installed: apt-get install {package}"
        for module, package in packages().items()
        if any(f"could not load module '{module}'" in line for line in complaints)
    )
