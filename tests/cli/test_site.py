"""What is refused before a measurement starts anything."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, prepare
from tuner.errors import Refused

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(os.geteuid() != 0, reason="only root starts daemons as another user"),
]

THERE = LabSpec(EngineChoice.NODE, "https://127.0.0.1:9200")


@pytest.mark.parametrize("key", ["auth.pwd.file", "tls.cacert"])
def test_what_only_root_can_read_is_named_before_anything_starts(key: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        Path(folder).chmod(0o755)
        path = Path(folder) / "secret"
        path.write_text("secret", "utf-8")
        login = {"auth.uid": "shipper", key: str(path)} if "auth" in key else {key: str(path)}
        profile = small({f"outputs[logs].{name}": value for name, value in login.items()})
        path.chmod(0o600)
        with pytest.raises(Refused, match=f"^{path} is needed to log in, .*setfacl .*:r {path}"):
            prepare(THERE, [profile], lambda _: None)
        path.chmod(0o644)
        assert prepare(THERE, [profile], lambda _: None) == 0.0
