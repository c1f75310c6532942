"""What to install where something is missing, in the words of this machine's distribution."""

from __future__ import annotations

import re
import shutil

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
"""What the RHEL family calls packages that have another name in Debian, or are cut otherwise."""

# Java versions with long-term support, which distributions have packages of.
_LONG_TERM = (11, 17, 21, 25)


def to_install(package: str) -> str:
    """The command that installs what Debian and Ubuntu call `package`; its name alone where the
    distribution is neither one of theirs nor of the RHEL family."""
    if shutil.which("apt-get") is not None:
        return f"apt-get install {package}"
    if shutil.which("dnf") is not None:
        return f"dnf install {RHEL.get(package, package)}"
    return f"install what Debian calls {package}"


def java_to_install(lowest: int, highest: int) -> str:
    """How to get a Java of a range of major versions here: the package that the distribution
    offers; where apt offers none, where to put one."""
    versions = [one for one in _LONG_TERM if lowest <= one <= highest]
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
    """Whether apt knows a version of it that it can install."""
    asked = run(["apt-cache", "policy", package], 20)
    return re.search(r"^ *Candidate: \d", asked.stdout, re.MULTILINE) is not None
