"""Layers: the leaf wins key by key, problems name their own file, a search edits the leaf only."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.profile.examples import SMALL
from tuner.errors import BadProfile
from tuner.lint.candidate import candidate
from tuner.lint.load import LoadedProfile, load_profile, parse_profile
from tuner.profile.edit import moved
from tuner.profile.source import read
from tuner.render.artefacts import render

LEAF = """\
extends: base.yaml   # what all sites share
name: site
main_queue: {workerThreads: 2, workerThreadMinimumMessages: 1024}
outputs:
  - name: logs
    servers: ["http://127.0.0.2:9200"]
    queue: {timeoutShutdown: null}
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "base.yaml").write_text(SMALL, encoding="utf-8")
    return tmp_path


def layered(folder: Path, text: str = LEAF) -> LoadedProfile:
    path = folder / "site.yaml"
    path.write_text(text, encoding="utf-8")
    return load_profile(path)


def problems(folder: Path, text: str) -> list[str]:
    with pytest.raises(BadProfile) as caught:
        layered(folder, text)
    return [str(problem).replace(f"{folder}/", "") for problem in caught.value.problems]


def test_the_leaf_wins_key_by_key_and_named_items_merge(folder: Path) -> None:
    profile = layered(folder).profile
    below = parse_profile(SMALL, "base.yaml").profile
    assert profile.name == "site"
    assert profile.main_queue is not None
    assert (profile.main_queue.worker_threads, profile.main_queue.size) == (2, 100_000)
    assert profile.inputs == below.inputs
    (output,), (old,) = profile.indexed, below.indexed
    assert output.servers == ("http://127.0.0.2:9200",)
    assert old.queue is not None
    assert output.queue == old.queue.model_copy(update={"timeout_shutdown": None})


def test_what_layers_say_together_renders_like_one_file(folder: Path) -> None:
    (folder / "middle.yaml").write_text("extends: base.yaml\nname: middle\n", encoding="utf-8")
    together = layered(folder, "extends: middle.yaml\nname: small\n").profile
    assert render(together) == render(parse_profile(SMALL, "small.yaml").profile)


def test_a_list_without_names_is_replaced(folder: Path) -> None:
    text = "extends: base.yaml\ninputs: [{type: imtcp, port: 10515}]\n"
    profile = layered(folder, text).profile
    (source,) = profile.inputs
    assert source.type == "imtcp"
    assert source.port == 10515


def test_a_document_is_replaced_although_its_fields_have_names(folder: Path) -> None:
    fields = "[{property: msg, name: message}, {property: hostname, name: host}]"
    middle = f"extends: base.yaml\noutputs: [{{name: logs, document: {fields}}}]\n"
    (folder / "middle.yaml").write_text(middle, encoding="utf-8")
    leaf = "outputs: [{name: logs, document: [{property: rawmsg, name: message}]}]\n"
    (output,) = layered(folder, "extends: middle.yaml\n" + leaf).profile.indexed
    assert isinstance(output.document, tuple)
    assert [one.name for one in output.document] == ["message"]


def test_a_problem_names_the_file_of_its_layer(folder: Path) -> None:
    text = SMALL.replace("workerThreads: 1", "workerThreads: 0").replace("size: 100000", "size: x")
    (folder / "base.yaml").write_text(text, encoding="utf-8")
    assert problems(folder, "extends: base.yaml\nmain_queue: {sise: 1}\n") == [
        "site.yaml:2:14: error: there is no key sise in main_queue: did you mean size? [RT001]",
        "base.yaml:5:20: error: main_queue.size must be a whole number, without quotes or unit, "
        "not 'x' [RT002]",
        "base.yaml:5:62: error: main_queue.workerThreads must be at least 1, not 0 [RT002]",
    ]


def test_a_warning_names_the_file_of_its_layer(folder: Path) -> None:
    (folder / "base.yaml").write_text(SMALL.replace("size: 50000", "size: 7999"), encoding="utf-8")
    (warning,) = layered(folder, "extends: base.yaml\n").warnings
    assert (Path(warning.file).name, warning.line) == ("base.yaml", 12)


def test_a_layer_below_is_read_as_strictly_as_the_leaf(folder: Path) -> None:
    for bad, said in (
        ("main_queue: &q {size: 1}\n", "base.yaml:1:13: error: anchors and aliases"),
        ("name: a\nname: b\n", "base.yaml:2:1: error: name is set twice"),
        ("name: !!python/name:x.y a\n", "base.yaml:1:7: error: the tag"),
        ("a: " + "[" * 40 + "]" * 40, "nested more than 32 levels"),
        ("# " + "x" * (1 << 17), "base.yaml:1:1: error: is larger than 131072 bytes"),
        ("[1, 2]\n", "base.yaml:1:1: error: a layer must be a profile"),
    ):
        (folder / "base.yaml").write_text(bad, encoding="utf-8")
        assert any(said in problem for problem in problems(folder, LEAF))


def test_a_circle_is_refused_with_the_chain(folder: Path) -> None:
    (folder / "base.yaml").write_text("extends: site.yaml\n", encoding="utf-8")
    (found,) = problems(folder, LEAF)
    assert found == (
        "base.yaml:1:10: error: circular extends: site.yaml -> base.yaml -> site.yaml: "
        "remove one of them [RT017]"
    )


def test_five_layers_are_the_most(folder: Path) -> None:
    for number in range(1, 4):
        text = f"extends: {f'l{number + 1}' if number < 3 else 'base'}.yaml\nname: l{number}\n"
        (folder / f"l{number}.yaml").write_text(text, encoding="utf-8")
    assert layered(folder, "extends: l1.yaml\n").profile.name == "l1"
    (folder / "base.yaml").write_text("extends: deep.yaml\n" + SMALL, encoding="utf-8")
    (folder / "deep.yaml").write_text("node: {heap: 1g}\n", encoding="utf-8")
    (found,) = problems(folder, "extends: l1.yaml\n")
    assert found.startswith("base.yaml:1:10: error: more than 5 layers: site.yaml -> l1.yaml")


def test_a_layer_that_is_not_there_is_located_at_extends(folder: Path) -> None:
    assert problems(folder, "name: a\nextends: ../none.yaml\n") == [
        "site.yaml:2:10: error: extends: there is no file ../none.yaml [RT017]"
    ]
    (found,) = problems(folder, "extends: [a, b]\n")
    assert "must be the path of another profile" in found


def test_nothing_is_interpolated(folder: Path) -> None:
    (found,) = problems(folder, "extends: ${BASE}.yaml\n")
    assert "there is no file ${BASE}.yaml" in found


def test_a_value_from_below_is_written_into_the_leaf(folder: Path) -> None:
    written = layered(folder)
    best = candidate(written, [("outputs[logs].queue.workerThreads", 4),
                               ("main_queue.dequeueBatchSize", 2048),
                               ("inputs[0].threads", 4)])  # fmt: skip
    assert best.profile.measured.queue is not None
    assert best.profile.measured.queue.worker_threads == 4
    assert best.profile.inputs[0].model_dump(by_alias=True)["threads"] == 4
    assert best.text == LEAF.replace(
        "Messages: 1024}", "Messages: 1024, dequeueBatchSize: 2048}"
    ).replace("{timeoutShutdown: null}", "{timeoutShutdown: null, workerThreads: 4}") + (
        "inputs: [{type: imptcp, port: 10514, threads: 4}]\n"
    )
    assert (folder / "base.yaml").read_text(encoding="utf-8") == SMALL


def test_a_value_below_is_taken_away_by_an_empty_one(folder: Path) -> None:
    direct = candidate(
        layered(folder, "extends: base.yaml\n"), [("outputs[logs].queue.type", "Direct")]
    )
    queue = direct.profile.measured.queue
    assert queue is not None
    assert queue.model_dump(exclude_none=True, mode="json") == {"type": "Direct"}
    assert "size: null" in direct.text


def test_an_output_that_only_the_layer_below_has_is_added_by_its_name(folder: Path) -> None:
    (folder / "base.yaml").write_text(SMALL.replace("outputs:", "outputs: #"), encoding="utf-8")
    best = candidate(layered(folder, "extends: base.yaml\n"),
                     [("outputs[logs].index.settings.refresh_interval", "10s")])  # fmt: skip
    assert best.text == (
        "extends: base.yaml\noutputs: [{name: logs, index: {settings: {refresh_interval: 10s}}}]\n"
    )
    assert best.profile.measured.index.settings.refresh_interval == "10s"


def test_a_moved_profile_extends_the_same_file(folder: Path) -> None:
    written = layered(folder)
    run = folder / "runs" / "one"
    run.mkdir(parents=True)
    text = moved(read(written.text, str(written.path)), run)
    assert text == LEAF.replace("extends: base.yaml ", 'extends: "../../base.yaml" ')
    (run / "best.yaml").write_text(text, encoding="utf-8")
    moved_profile = load_profile(run / "best.yaml").profile
    assert moved_profile.model_copy(update={"extends": "base.yaml"}) == written.profile


def test_an_absolute_path_stays_as_it_is_written(folder: Path) -> None:
    written = layered(folder, f"extends: {folder}/base.yaml\n")
    assert moved(read(written.text, str(written.path)), folder / "runs") == written.text


def test_a_journal_holds_what_a_layered_profile_was(folder: Path) -> None:
    written = layered(folder)
    (folder / "base.yaml").unlink()
    again = parse_profile(written.text, str(written.path), written.layers)
    assert again.profile == written.profile
    assert candidate(written, [("main_queue.workerThreads", 4)]).profile.name == "site"


def test_an_empty_value_brings_the_default_back(folder: Path) -> None:
    (folder / "base.yaml").write_text(SMALL + "node: {heap: 1g}\n", encoding="utf-8")
    assert layered(folder, "extends: base.yaml\n").profile.node.heap == "1g"
    assert layered(folder, "extends: base.yaml\nnode: {heap: null}\n").profile.node.heap == "2g"
