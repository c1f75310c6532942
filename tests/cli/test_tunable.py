"""What of a configuration can be tuned, and what a lab does not run of it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from tuner.cli.first_profile import TunableObject, tunable_objects, tunable_page
from tuner.lab.bind import require_bindable
from tuner.lint.load import parse_profile
from tuner.profile.starter import on_top_of

CONFIGURATION = """\
module(load="imuxsock")
module(load="imtcp") module(load="imudp")
module(load="omelasticsearch") module(load="omkafka")
input(type="imtcp" port="514" name="tcp" ruleset="remote")
input(type="imudp" port="514")
ruleset(name="remote" queue.type="LinkedList") {
  action(type="omelasticsearch" name="es" bulkmode="on" searchType="" queue.type="LinkedList")
  action(type="omelasticsearch" name="piped" pipelineName="x" searchType="")
  action(type="omfwd" target="up" port="514" protocol="tcp")
  action(type="omkafka" topic="t" broker="k")
}
"""


def described(folder: Path, text: str) -> tuple[list[str], Sequence[TunableObject]]:
    (folder / "rsyslog.conf").write_text(text, encoding="utf-8")
    conf = folder / "rsyslog.conf"
    profile = parse_profile(on_top_of(str(conf), "p", "8.2302"), "p.yaml").profile
    assert profile.base is not None
    copy = require_bindable(profile, "8.2302").copy
    lines = tunable_page(profile, profile.base.kept, copy.replaced)
    here = f"{conf}:"
    return [one.replace(here, "") for one in lines], tunable_objects(profile, profile.base.kept)


def test_what_can_be_tuned_is_named_by_its_address_where_it_stands(tmp_path: Path) -> None:
    lines, objects = described(tmp_path, CONFIGURATION)
    assert [one.address for one in objects] == ["ruleset[remote]", "action[es]", "action[piped]"]
    assert {"queue.type", "queue.size", "filter_path"} <= set(objects[1].parameters)
    assert lines[1].startswith("  6:1: ruleset[remote]: queue.")
    assert lines[2].startswith("  7:3: action[es]: queue.")
    assert "It sends traffic to input[tcp] (4:1)." in lines


def test_what_a_lab_leaves_out_or_replaces_is_listed_with_its_place(tmp_path: Path) -> None:
    lines, _ = described(tmp_path, CONFIGURATION)
    gone = next(n for n, one in enumerate(lines) if one.startswith("Its lab leaves out"))
    replaced = lines.index("Its lab replaces:")
    assert lines[gone + 1 : replaced] == [
        "  1:1: module imuxsock",
        "  3:32: module omkafka",
        "  5:1: input imudp",
        "  8:3: pipelineName, of which a lab has none",
        "  10:3: action omkafka",
    ]
    assert lines[replaced + 1 : -1] == ["  9:3: action omfwd -> to a receiver of the lab"]


def test_the_main_queue_of_a_configuration_that_does_not_write_it_can_be_tuned(
    tmp_path: Path,
) -> None:
    action = 'action(type="omelasticsearch" name="es" bulkmode="on" searchType="")\n'
    modules = 'module(load="imtcp") module(load="omelasticsearch")\n'
    text = f'{modules}input(type="imtcp" port="514" name="tcp")\n{action}'
    lines, objects = described(tmp_path, text)
    assert objects[0].address == "main_queue"
    assert lines[1].startswith("  not written: main_queue: ")
    assert "Its lab replaces:" not in lines


def test_no_more_than_a_page_is_listed(tmp_path: Path) -> None:
    lines, _ = described(tmp_path, CONFIGURATION + 'action(type="ommail")\n' * 30)
    assert "  and 20 more, which --output json lists" in lines
    assert len(lines) < 30
