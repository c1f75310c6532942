"""apply with a real engine: its objects, the event that must come, and all of it taken back."""

from __future__ import annotations

import contextlib
import json
import secrets
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.live.hosts import NEEDS_HOSTS, SshHost, hosts, passed
from tests.live.test_apply import DYING, RUNS, Site
from tests.safety.scorecard import row
from tuner.engine.client import JSON, EngineClient, EngineRefused
from tuner.lab.entrances import free_ports
from tuner.reading import asset_text

pytestmark = [pytest.mark.live, NEEDS_HOSTS]


class EngineSite(Site):
    """The same with an engine; `tuned` is what this test changes in the profile."""

    def __init__(self, client: EngineClient, folder: Path, **hosts: SshHost) -> None:
        self.client, self.index = client, f"apply-{secrets.token_hex(4)}"
        super().__init__(folder, **hosts)

    def write(self, changes: dict[str, object] | None = None) -> None:
        own: dict[str, object] = {
            "inputs[0].port": free_ports(1),
            "outputs[logs].servers": [self.client.url],
            "outputs[logs].index.name": self.index,
        }
        self.write_plain(own | (changes or {}))

    @property
    def words(self) -> list[str]:
        return [*super().words, "--elasticsearch", self.client.url]

    def objects(self) -> JSON:
        """What the engine has under the names of this test; no counters."""
        found: JSON = {}
        for path in (f"/_index_template/{self.index}", f"/{self.index}/_settings"):
            with contextlib.suppress(EngineRefused):
                found[path] = self.client.get(path)
        return found


@pytest.fixture
def site(
    tmp_path: Path, elasticsearch: EngineClient, nothing_left_behind: None
) -> Iterator[EngineSite]:
    with hosts(tmp_path / "hosts", "collector1") as (host,), host.sees(elasticsearch.url):
        one = EngineSite(elasticsearch, tmp_path, collector1=host)
        yield one
    for path in (f"/{one.index}?ignore_unavailable=true", f"/_index_template/{one.index}"):
        with contextlib.suppress(EngineRefused):
            elasticsearch.request("DELETE", path)


@pytest.mark.full
def test_templates_and_settings_of_open_indices_are_applied_with_the_host(site: EngineSite) -> None:
    site.write({"impstats": {"interval": 1, "log.file": "/var/log/figures"}})
    done = site.apply()
    assert done.code == 0, done.err
    assert "an event came through" in done.err
    assert "Nothing wrong in this one round: the inputs counted " in " ".join(done.err.split())
    again = site.apply()
    assert (again.code, "nothing to do" in again.err) == (0, True), again.err
    changes = {"outputs[logs].index.settings": {"refresh_interval": "7s"}}
    site.write({"inputs[0].port": free_ports(1), **changes})
    done = site.apply()
    assert done.code == 0, done.err
    settings = site.objects()[f"/{site.index}/_settings"]
    assert "'refresh_interval': '7s'" in str(settings)


@row("F22")
@pytest.mark.parametrize("run", RUNS)
def test_what_does_not_deliver_is_rolled_back_with_the_engine(site: EngineSite, run: int) -> None:
    """rsyslogd accepts the configuration and starts; its engine is one where nobody listens."""
    before, objects = site.host.tree(), site.objects()
    dead = {"outputs[logs].servers": ["http://127.0.0.1:9"]}
    site.write(dead | {"outputs[logs].queue.timeoutShutdown": 1})
    done = site.apply("--event-within", "2s")
    assert (done.code, "is not in the engine after 2 s" in done.err) == (6, True), done.err
    assert (site.host.tree(), site.objects()) == (before, objects)
    assert site.nothing_left()


def test_a_template_of_somebody_else_is_left_alone(site: EngineSite) -> None:
    path = f"/_index_template/{site.index}"
    site.client.request("PUT", path, {"index_patterns": [site.index], "priority": 300})
    before, objects = site.host.tree(), site.objects()
    done = site.tune(*(word for word in site.words if word != "--take-over"), "--fragment")
    assert (done.code, "was not made by rsyslog-tune" in done.err) == (5, True), done.err
    assert (site.host.tree(), site.objects()) == (before, objects)


@pytest.mark.full
def test_a_plan_with_a_sites_templates_is_applied_unless_the_engine_changed(
    site: EngineSite,
) -> None:
    own = site.folder / "templates"
    own.mkdir()
    shipped = asset_text("templates", "index-template.json.j2")
    written = shipped.replace("{{ index.priority | tojson }}", "333")
    (own / "index-template.json.j2").write_text(written)
    assert site.apply("--templates", own).code == 0
    plan, path = site.folder / "plan.json", f"/_index_template/{site.index}"
    site.write({"inputs[0].port": free_ports(1)})
    assert site.apply("--templates", own, "--plan-out", plan).code == 0
    done = site.tune("apply", plan, "--yes")
    assert done.code == 0, done.err
    site.write({"outputs[logs].index.settings": {"refresh_interval": "7s"}})
    by_others: dict[str, tuple[str, JSON]] = {
        f"index {site.index}": (f"/{site.index}/_settings", {"refresh_interval": "8s"}),
        f"index template {site.index}": (path, {"index_patterns": [site.index], "priority": 444}),
    }
    for name, (there, body) in by_others.items():
        assert site.apply("--templates", own, "--plan-out", plan).code == 0
        site.client.request("PUT", there, body)
        done = site.tune("apply", plan, "--yes")
        assert (done.code, f"since the plan: {name}:" in done.err) == (5, True), done.err


@pytest.mark.full
@pytest.mark.parametrize("line", [2, 3, 4], ids=["template", "settings", "host"])
def test_recover_brings_back_the_engines_objects(site: EngineSite, line: int) -> None:
    assert site.apply().code == 0
    site.write({"outputs[logs].index.settings": {"refresh_interval": "7s"}})
    before, objects = site.host.tree(), site.objects()
    command = (sys.executable, "-c", DYING, str(line))
    assert site.killed(command=command) == -signal.SIGKILL
    assert site.tune("recover").code == 0
    assert str(site.objects()).replace("'version'", "") == str(objects).replace("'version'", "")
    assert site.host.tree() == before
    assert site.tune("recover").out == "no unfinished apply was started from this machine\n"


_CONF = """\
module(load="imtcp")
module(load="omelasticsearch")
input(type="imtcp" port="{port}" address="127.0.0.1")
action(type="omelasticsearch" name="es" serverport="{engine}" server="127.0.0.1" bulkmode="on"
       searchType="" searchIndex="{index}" template="line" queue.type="LinkedList")
"""
_LINE = 'template(name="line" type="string" string="{\\"message\\":\\"%msg:::json%\\"}")\n'


def based(site: EngineSite, kind: str, changes: str) -> None:
    """The host runs its own configuration; the profile changes the template beside that."""
    port = site.client.url.rpartition(":")[2]
    conf = _LINE + _CONF.format(port=free_ports(1), engine=port, index=site.index)
    site.host.write("/etc/rsyslog.conf", conf)
    passed(site.host.run("systemctl", "restart", "rsyslog"))
    (site.folder / "rsyslog.conf").write_text(conf)
    inner: JSON = {"settings": {"number_of_shards": 1, "index.refresh_interval": "5s"}}
    body: JSON = {"index_patterns": [site.index], **(
        inner | {"order": 300} if kind == "_template" else {"template": inner, "priority": 300}
    )}  # fmt: skip
    site.client.request("PUT", f"/{kind}/{site.index}", body)
    (site.folder / "t.json").write_text(json.dumps(site.client.get(f"/{kind}/{site.index}")))
    base = "base: {rsyslog: rsyslog.conf, template: t.json}"
    site.profile.write_text(f"name: prod\n{base}\nchanges:\n  {changes}\n")


@pytest.mark.parametrize(
    "kind", ["_index_template", pytest.param("_template", marks=pytest.mark.full)]
)
def test_the_template_of_a_base_is_given_compared_and_taken_back(
    site: EngineSite, kind: str
) -> None:
    path = f"/{kind}/{site.index}"
    based(site, kind, "template.index.refresh_interval: 7s")
    before, engine = str(site.client.get(path)), ("--elasticsearch", site.client.url)
    words = ("--inventory", site.inventory, *engine)
    assert "'5s'" in before
    try:
        different = site.tune("diff", site.profile, *engine)
        assert (different.code, '+    "index.refresh_interval": "7s"' in different.out) == (2, True)
        command = (sys.executable, "-c", DYING, "2")
        assert site.killed(command=command) == -signal.SIGKILL
        assert site.tune("recover").code == 0
        assert str(site.client.get(path)) == before
        done = site.tune("apply", site.profile, *words, "--yes")
        assert (done.code, "managed_by" in str(site.client.get(path))) == (0, True), done.err
        assert site.tune("diff", site.profile, *engine).code == 0
        assert (verified := site.tune("verify", site.profile, *words)).code == 0, verified
        theirs = {"index_patterns": [site.index], "version": 7}
        site.client.request("PUT", path, theirs)
        drifted = site.tune("verify", site.profile, *words)
        assert (drifted.code, f"template {site.index} differs" in drifted.out) == (2, True)
        foreign = site.tune("apply", site.profile, *words, "--yes")
        assert (foreign.code, "not made by rsyslog-tune" in foreign.err) == (5, True), foreign.err
    finally:
        site.client.request("DELETE", path)
