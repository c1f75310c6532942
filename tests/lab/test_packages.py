"""A module that is not installed is told with the package that has it."""

from __future__ import annotations

from tuner.lab.check import packages_to_install
from tuner.modules.registry import UNPACKAGED

COULD_NOT = (
    "rsyslogd: could not load module '{0}', errors: trying to load module "
    "/usr/lib/x86_64-linux-gnu/rsyslog/{0}.so: cannot open shared object file: No such file or "
    "directory [v8.2302.0 try https://www.rsyslog.com/e/2066 ]"
)


def test_the_package_of_a_missing_module_is_named() -> None:
    assert packages_to_install([COULD_NOT.format("imrelp")]) == (
        "imrelp is not installed: apt-get install rsyslog-relp",
    )


def test_a_package_that_came_late_is_named_with_the_release_that_has_it() -> None:
    assert packages_to_install([COULD_NOT.format("omhttp")]) == (
        "omhttp is not installed: apt-get install rsyslog-http, which Debian has since rsyslog "
        "8.2512",
    )


def test_modules_that_only_a_configuration_of_the_users_names_are_known() -> None:
    kubernetes, *unpackaged = packages_to_install(
        [COULD_NOT.format(one) for one in ("mmkubernetes", *UNPACKAGED)]
    )
    assert kubernetes == "mmkubernetes is not installed: apt-get install rsyslog-kubernetes"
    assert len(unpackaged) == len(UNPACKAGED)
    for module, said in zip(UNPACKAGED, unpackaged, strict=True):
        assert said.startswith(f"{module} is not installed: Debian has no package of it")


def test_other_complaints_name_no_package() -> None:
    assert packages_to_install([]) == ()
    assert packages_to_install(["rsyslogd: imrelp: port must be specified"]) == ()
    assert packages_to_install([COULD_NOT.format("imown")]) == ()
