"""The example for Kubernetes: Dask's operator takes it, and its scheduler and workers take us."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.live.conftest import tune
from tuner.cluster.access import new_certificate
from tuner.host.process import wait_until
from tuner.lab.entrances import free_ports

pytestmark = pytest.mark.full

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "examples/kubernetes/daskcluster.yaml"
OPERATOR = ROOT / ".operator"
TLS = {"ca.crt": "certificate", "tls.crt": "certificate", "tls.key": "key"}


def strict(schema: Any) -> Any:
    """The schema, which refuses what it does not know."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: strict(value) for key, value in schema.items()}
    if isinstance(schema.get("properties"), dict) and "additionalProperties" not in schema:
        closed["additionalProperties"] = schema.get("x-kubernetes-preserve-unknown-fields", False)
    return closed


def test_the_operator_takes_it(tmp_path: Path) -> None:
    (definition,) = OPERATOR.rglob("crds/daskcluster.yaml")
    (version,) = yaml.safe_load(definition.read_text(encoding="utf-8"))["spec"]["versions"]
    schema = strict(version["schema"]["openAPIV3Schema"])
    known = {"apiVersion": {"const": f"kubernetes.dask.org/{version['name']}"},
             "kind": {"const": "DaskCluster"}, "metadata": {"type": "object"}}  # fmt: skip
    schema["properties"] |= known
    (tmp_path / "schema.json").write_text(json.dumps(schema), encoding="utf-8")
    assert not complaints(tmp_path, EXAMPLE)
    wrong = tmp_path / "wrong.yaml"
    text = EXAMPLE.read_text(encoding="utf-8")
    for before, after in (("replicas: 4", "replicas: four"), ("volumeMounts", "volumeMount")):
        wrong.write_text(text.replace(before, after), encoding="utf-8")
        assert complaints(tmp_path, wrong)


def complaints(folder: Path, manifest: Path) -> str:
    """What a validator says against a manifest."""
    check = [str(OPERATOR / "bin/check-jsonschema"), "--schemafile", str(folder / "schema.json")]
    done = subprocess.run([*check, str(manifest)], capture_output=True, text=True, check=False)
    return done.stdout if done.returncode else ""


@contextmanager
def as_written(part: str, folder: Path, *more: str, **values: str) -> Iterator[None]:
    """A container's program with its arguments, its files below `folder`."""
    manifest = yaml.safe_load(EXAMPLE.read_text(encoding="utf-8"))
    (container,) = manifest["spec"][part]["spec"]["containers"]
    arguments = [values.get(one, one).replace("/tls/", f"{folder}/") for one in container["args"]]
    command = [str(Path(sys.executable).with_name("dask")), *container["command"][1:]]
    environment = {one["name"]: one["value"] for one in container["env"]}
    with (folder / f"{part}.log").open("wb") as log:
        process = subprocess.Popen(
            [*command, *arguments, *more], env={"PATH": "/usr/sbin:/usr/bin:/bin", **environment},
            cwd=folder, stdout=log, stderr=log,
        )  # fmt: skip
        try:
            yield
        finally:
            process.terminate()
            process.wait(30)


def test_its_programs_make_a_cluster_that_takes_us(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    certificate, port = new_certificate(), str(free_ports(1))
    for name, part in TLS.items():
        (tmp_path / name).write_text(getattr(certificate, part), encoding="ascii")
    url = f"tls://127.0.0.1:{port}"
    join = ["cluster", "up", "--scheduler", url]
    given = ["--tls-ca", "ca.crt", "--tls-cert", "tls.crt", "--tls-key", "tls.key"]
    with ExitStack() as running:
        here = ["--host", "127.0.0.1", "--dashboard-address", "127.0.0.1:0"]
        running.enter_context(as_written("scheduler", tmp_path, *here, **{"8786": port}))
        names = {"$(DASK_WORKER_NAME)": "pod-1"}
        running.enter_context(as_written("worker", tmp_path, url, **names))
        log = tmp_path / "worker.log"
        assert wait_until(lambda: "Registered to" in log.read_text("utf-8"), 60)
        refused = tune(*join, folder=tmp_path)
        assert refused.code == 64
        assert "--tls-ca, --tls-cert and --tls-key go together" in refused.err
        joined = tune(*join, *given, folder=tmp_path)
        assert joined.code == 0, joined.err
        assert "lab        pod-1\n" in joined.out
        assert tune("cluster", "down", folder=tmp_path).code == 0
        assert tune(*join, *given, folder=tmp_path).code == 0, "it was not ours to end"
    gone = tune("cluster", "status", folder=tmp_path)
    assert gone.code == 4
    assert url in gone.err


def test_a_cluster_without_tls_is_refused(tmp_path: Path) -> None:
    refused = tune("cluster", "up", "--scheduler", "tcp://198.18.0.1:8786", folder=tmp_path)
    assert refused.code == 5
    assert "not encrypted" in refused.err
