"""For the tests of a configuration-management repository: do its hosts run what a profile says?

    from tuner.testing import differences

    def test_collector(host):
        assert differences(host, "profiles/prod.yaml") == []

`host` is testinfra's fixture: `pytest --hosts=ssh://collector1,ssh://collector2`.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from testinfra.host import Host

from tuner.cli.options import Rendering
from tuner.cli.profiles import form_of
from tuner.deploy.host_profile import host_profile
from tuner.deploy.inventory import InventoryHost
from tuner.deploy.target import RemoteHost
from tuner.deploy.verify import host_drift
from tuner.host.remote import address_of
from tuner.lint.load import load_profile
from tuner.render.templates import Templates


def differences(
    host: Host | InventoryHost,
    profile: str | Path,
    *,
    fragment: bool = False,
    loaded: Sequence[str] = (),
    templates: str | Path | None = None,
) -> list[str]:
    """What a host does not run as the profile says, one thing an item; what `rsyslog-tune verify
    --skip-engine` lists.

    `host` is testinfra's, by ssh or local, with rsyslog as systemd's unit; or one of
    `tuner.deploy.inventory.load_inventory`, with its own service and paths.  Raises TuneError where
    the host cannot be asked or the profile is wrong.
    """
    if isinstance(host, InventoryHost):
        machine = host
    else:
        address = address_of(host)
        machine = InventoryHost(address.partition("?")[0], address)
    given = load_profile(Path(profile))
    site = None if templates is None else Templates(Path(templates))
    form = form_of(given, Rendering(fragment=fragment, loaded_modules=list(loaded)))
    wanted = host_profile(given, machine, site, form)
    drifts = host_drift(RemoteHost(machine, wanted.files), wanted)
    return [
        f"{drift.where}: {drift.what}" + (f"\n{drift.diff}" if drift.diff else "")
        for drift in drifts
    ]
