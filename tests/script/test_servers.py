"""The servers of an action, as omelasticsearch works them out: measured on rsyslog 8.2302 with a
server on each port."""

from __future__ import annotations

import pytest

from tuner.script.parser import parse
from tuner.script.script import ScriptObject
from tuner.script.view import servers_of


@pytest.mark.parametrize(
    ("parameters", "wanted"),
    [
        ("", ["http://localhost:9200"]),
        ('server="es" serverport="9999" usehttps="on"', ["https://es:9999"]),
        ('server=["es1", "es2:9201"]', ["http://es1:9200", "http://es2:9201"]),
        ('server="http://es/" serverport="9999" usehttps="on"', ["http://es:9999"]),
        ('server="http://es/x" serverport="9999" usehttps="on"', ["http://es:80/x:9999"]),
        ('server="https://u:p@es"', ["https://u:p@es:443"]),
        ('server="[2001:db8::1]"', ["http://[2001:db8::1]:80"]),
        ('server="es:many"', [None]),
        ("server=`echo $ES`", []),
    ],
)
def test_servers_have_the_port_that_requests_go_to(
    parameters: str, wanted: list[str | None]
) -> None:
    (action,), _ = parse(f'action(type="omelasticsearch" {parameters})\n', "x.conf")
    assert isinstance(action, ScriptObject)
    found = servers_of(action)
    assert [None if one is None else one.geturl() for one in found] == wanted
