"""Finds installed programs, and says what to install if one is missing."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass
from pathlib import Path

from tuner.errors import BadUsage, ProgramMissing
from tuner.host.process import run

RHEL = {
    "rsyslog": "rsyslog rsyslog-mmjsonparse rsyslog-mmnormalize",
    "rsyslog-kubernetes": "rsyslog-mmkubernetes",
    "python3-venv": "python3",
    "libc6-dev": "glibc-devel",
    "chromium-driver": "chromedriver",
    "openssh-client": "openssh-clients",
    "iproute2": "iproute",
}
"""Debian packages by the names of those that replace them in the RHEL family, if these differ."""

# Java versions with long-term support, which distributions package.
_LONG_TERM = (11, 17, 21, 25)


def to_install(package: str) -> str:
    """The command that installs the Debian package `package`, or what replaces it in the RHEL
    family; for other distributions only its name."""
    if shutil.which("apt-get") is not None:
        return f"apt-get install {package}"
    if shutil.which("dnf") is not None:
        return f"dnf install {RHEL.get(package, package)}"
    return f"install what Debian calls {package}"


def java_to_install(lowest: int, highest: int) -> str:
    """How to install a Java in a range of major versions: the distribution's package, or where to
    put one if there is no package."""
    versions = [version for version in _LONG_TERM if lowest <= version <= highest]
    if shutil.which("apt-get") is not None:
        for version in versions:
            package = f"openjdk-{version}-jre-headless"
            if _is_offered(package):
                return to_install(package)
        return (
            "apt offers none (after apt-get update); install one of another vendor below "
            "/usr/lib/jvm or on PATH"
        )
    if shutil.which("dnf") is not None:
        return to_install(f"java-{versions[-1]}-openjdk-headless")
    return "install one below /usr/lib/jvm or on PATH"


def _is_offered(package: str) -> bool:
    """Whether apt has a version of the package to install."""
    policy = run(["apt-cache", "policy", package], 20)
    return re.search(r"^ *Candidate: \d", policy.stdout, re.MULTILINE) is not None


_SBIN = "/usr/sbin:/usr/local/sbin:/sbin"
CHOSEN_RSYSLOGD = "RSYSLOG_TUNE_RSYSLOGD"
"""The environment variable that names the rsyslogd to run, if not the one on PATH."""


@dataclass(frozen=True)
class Java:
    """A Java runtime: its home folder and major version."""

    home: Path
    major: int


def find(program: str) -> str | None:
    """The path of a program on PATH or in the sbin folders; None if it is not installed."""
    return shutil.which(program) or shutil.which(program, path=_SBIN)


def choose_rsyslogd(path: Path | None) -> None:
    """Use the rsyslogd at `path` from now on, in child processes too; None changes nothing.  Raises
    BadUsage if it is not an executable file."""
    if path is not None:
        require_program(path, "--rsyslogd")
        os.environ[CHOSEN_RSYSLOGD] = str(path.absolute())


def require_program(path: Path, option: str) -> None:
    """Raise BadUsage, which names the option, if this is not an executable file."""
    if not path.is_file() or not os.access(path, os.X_OK):
        raise BadUsage(f"{option} {path}: this is no program; name the file of an rsyslogd")


def rsyslogd() -> str:
    """The path of rsyslogd: the chosen one, else the installed one; raises ProgramMissing, which
    says what to install."""
    chosen = chosen_rsyslogd()
    if chosen is not None:
        return chosen
    path = find("rsyslogd")
    if path is None:
        raise ProgramMissing(f"rsyslogd is not installed: {to_install('rsyslog')}")
    return path


def rsyslog_version() -> str:
    """The release of `rsyslogd()`, such as `8.2302`; raises ProgramMissing."""
    output = run([rsyslogd(), "-v"], timeout_s=10).stdout
    version = version_in(output)
    if version is None:
        printed = next(iter(output.splitlines()), "nothing")
        raise ProgramMissing(f"{rsyslogd()} is not rsyslogd 8; with -v it prints: {printed}")
    return version


def version_in(printed: str) -> str | None:
    """The release in the output of `rsyslogd -v`, such as `8.2302`; None if that is not one."""
    match = re.search(r"rsyslogd\s+(8\.\d+)", printed)
    return None if match is None else match.group(1)


def chosen_rsyslogd() -> str | None:
    """The path of the rsyslogd that was chosen, None if none was."""
    return os.environ.get(CHOSEN_RSYSLOGD) or None


def openssl() -> str:
    """The path of openssl; raises ProgramMissing, which says what to install."""
    return _program("openssl", "openssl", "openssl makes the lab's certificates")


def javas() -> tuple[Java, ...]:
    """Every Java runtime found on PATH and under /usr/lib/jvm, lowest version first."""
    homes = {path.parents[1].resolve() for path in Path("/usr/lib/jvm").glob("*/bin/java")}
    on_path = shutil.which("java")
    if on_path is not None:
        homes.add(Path(on_path).resolve().parent.parent)
    runtimes = [Java(home, major) for home in homes if (major := _major(home)) is not None]
    return tuple(sorted(runtimes, key=lambda java: (java.major, str(java.home))))


def java_for(lowest: int, highest: int) -> Java:
    """The installed Java with the lowest major version in a range; raises ProgramMissing."""
    for java in javas():
        if lowest <= java.major <= highest:
            return java
    raise ProgramMissing(
        f"no Java from {lowest} to {highest} is installed: {java_to_install(lowest, highest)}"
    )


def ssh() -> str:
    """The path of ssh; raises ProgramMissing, which says what to install."""
    return _program("ssh", "openssh-client", "ssh reaches other hosts")


def setpriv() -> str:
    """The path of setpriv; raises ProgramMissing, which says what to install."""
    return _program("setpriv", "util-linux", "setpriv takes root's rights from what is started")


def maven() -> str:
    """The path of mvn; raises ProgramMissing, which says what to install."""
    return _program("mvn", "maven", "Maven fetches the engine")


def _program(name: str, package: str, why: str) -> str:
    path = find(name)
    if path is None:
        raise ProgramMissing(f"{why} and is not installed: {to_install(package)}")
    return path


def _major(home: Path) -> int | None:
    """The major version of the Java in `home`, from its `release` file or by asking it."""
    release = home / "release"
    text = release.read_text(encoding="utf-8") if release.exists() else ""
    match = re.search(r'JAVA_VERSION="(?:1\.)?(\d+)', text)
    if match is None:
        output = run([str(home / "bin" / "java"), "-version"], timeout_s=20).stderr
        match = re.search(r'version "(?:1\.)?(\d+)', output)
    return int(match.group(1)) if match else None
