"""Editing changes what was asked for and nothing else."""

from __future__ import annotations

from textwrap import dedent

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from tuner.errors import BadUsage, KeyPath
from tuner.profile.edit import changed, edit, plain, same, set_at
from tuner.profile.source import at, has, read

PROFILE = """\
# Our pipeline.
name: prod   # short
release: {rsyslog: "8.2302", elasticsearch: "8.19"}

inputs:
  # the public one
  - {type: imptcp, port: 10514, threads: 2}

main_queue:
  size: 100000       # from last year's peak
  dequeueBatchSize: 1024

# where it goes
outputs:
  - name: logs
    type: omelasticsearch
    servers: ['http://127.0.0.1:9200']
    queue: {type: LinkedList, size: 50000}  # keep
    filter_path:
      - errors   # always
      - items.*.status
    index:
      name: syslog
      settings:
        refresh_interval: '5s'
        translog.durability: request
"""


def test_a_value_is_replaced_and_its_comment_stays() -> None:
    edited = edit(PROFILE, {"main_queue.size": 65536})
    assert "  size: 65536       # from last year's peak\n" in edited
    assert differing_lines(PROFILE, edited) == 1


def test_a_replaced_text_keeps_its_quotes() -> None:
    edited = edit(PROFILE, {"outputs[logs].index.settings.refresh_interval": "30s"})
    assert "        refresh_interval: '30s'\n" in edited


def test_a_missing_key_is_added_to_a_block_after_its_last_line() -> None:
    edited = edit(PROFILE, {"main_queue.workerThreads": 2})
    assert "  dequeueBatchSize: 1024\n  workerThreads: 2\n\n# where it goes\n" in edited


def test_a_missing_key_is_added_inside_braces() -> None:
    edited = edit(PROFILE, {"outputs[logs].queue.workerThreads": 4})
    assert "queue: {type: LinkedList, size: 50000, workerThreads: 4}  # keep\n" in edited


def test_a_missing_section_is_added_with_its_key() -> None:
    edited = edit(PROFILE, {"node.heap": "4g"})
    assert edited == PROFILE + "node: {heap: 4g}\n"


def test_a_dotted_setting_is_one_key() -> None:
    path = "outputs[logs].index.settings.translog.flush_threshold_size"
    edited = edit(PROFILE, {path: "1gb"})
    assert "        translog.flush_threshold_size: 1gb\n" in edited
    path = "outputs[logs].index.settings.translog.durability"
    assert "        translog.durability: async\n" in edit(PROFILE, {path: "async"})


def test_an_input_is_named_by_its_number() -> None:
    assert "threads: 4}" in edit(PROFILE, {"inputs[0].threads": 4})
    assert "processOnPoller: false}" in edit(PROFILE, {"inputs[0].processOnPoller": False})


def test_a_list_in_lines_becomes_a_list_in_brackets() -> None:
    edited = edit(PROFILE, {"outputs[logs].filter_path": ("errors", "items.*.status")})
    assert edited == PROFILE
    edited = edit(PROFILE, {"outputs[logs].filter_path": ("errors",)})
    assert "    filter_path: [errors]\n    index:\n" in edited


def test_none_removes_the_key_with_its_line() -> None:
    edited = edit(PROFILE, {"main_queue.size": None, "inputs[0].threads": None})
    assert "main_queue:\n  dequeueBatchSize: 1024\n" in edited
    assert "{type: imptcp, port: 10514}\n" in edited


def test_removing_what_is_not_there_changes_nothing() -> None:
    assert edit(PROFILE, {"main_queue.workerThreads": None, "node.heap": None}) == PROFILE


def test_the_last_key_leaves_an_empty_section() -> None:
    edited = edit("name: a\nmain_queue:\n  size: 1 # x\n", {"main_queue.size": None})
    assert edited == "name: a\nmain_queue:\n  {} # x\n"


def test_windows_line_ends_stay() -> None:
    text = "name: a\r\nmain_queue:\r\n  size: 5000\r\n"
    edited = edit(text, {"main_queue.workerThreads": 2, "node.heap": "1g"})
    assert edited == (
        "name: a\r\nmain_queue:\r\n  size: 5000\r\n  workerThreads: 2\r\nnode: {heap: 1g}\r\n"
    )


def test_a_file_without_a_final_newline_can_grow() -> None:
    assert edit("name: a", {"node.heap": "1g"}) == "name: a\nnode: {heap: 1g}"


def test_an_empty_section_is_filled() -> None:
    assert edit("main_queue:\nname: a\n", {"main_queue.size": 5000}) == (
        "main_queue: {size: 5000}\nname: a\n"
    )
    assert edit("main_queue: {}  # x\n", {"main_queue.size": 5000}) == (
        "main_queue: {size: 5000}  # x\n"
    )


def test_the_first_key_of_a_list_item_can_go() -> None:
    text = "outputs:\n  - type: omelasticsearch # x\n    name: a\n"
    edited = edit(text, {"outputs[0].type": None})
    assert read(edited, "").data == {"outputs": [{"name": "a"}]}


def test_braces_over_several_lines_keep_their_comments() -> None:
    text = dedent("""\
        main_queue: {
          size: 50000,  # a
          # about batches
          dequeueBatchSize: 1000,  # b
        }
        """)
    edited = edit(text, {"main_queue.size": None})
    assert edited == text.replace("  size: 50000,  # a\n", "")
    edited = edit(text, {"main_queue.dequeueBatchSize": None})
    assert edited == text.replace("  dequeueBatchSize: 1000,  # b\n", "")


def test_a_setting_that_no_profile_has_is_refused_with_a_hint() -> None:
    with pytest.raises(BadUsage, match="did you mean workerThreads"):
        edit(PROFILE, {"main_queue.workerThread": 2})


def test_an_item_that_is_not_there_is_refused() -> None:
    with pytest.raises(BadUsage, match=r"no \[metrics\]"):
        edit(PROFILE, {"outputs[metrics].type": "x"})


def test_a_value_has_no_settings() -> None:
    with pytest.raises(BadUsage, match="not a section"):
        edit("main_queue: 5\n", {"main_queue.size": 5})


def differing_lines(before: str, after: str) -> int:
    pairs = zip(before.splitlines(), after.splitlines(), strict=True)
    return sum(one != other for one, other in pairs)


# Any YAML of the kind that profiles are written in, not only profiles.

WORDS = st.sampled_from(["a", "b", "size", "translog.durability", "x-y", "name", "deep"])
SCALARS = st.one_of(
    st.integers(-5, 200000),
    st.booleans(),
    st.floats(allow_nan=False, allow_infinity=False, width=32),
    st.sampled_from(["on", "5s", "8.2302", "30%", "-1", "~", "", "a: b", "#x", "it's", 'say "x"']),
    st.text(st.characters(codec="utf-8"), max_size=8),
)
VALUES = st.one_of(SCALARS, st.lists(SCALARS, max_size=3))
TREES = st.recursive(
    VALUES,
    lambda inner: st.one_of(
        st.dictionaries(WORDS, inner, max_size=4), st.lists(inner, min_size=1, max_size=3)
    ),
    max_leaves=12,
)
SECTIONS = st.dictionaries(WORDS, TREES, min_size=1, max_size=4)


@st.composite
def yaml_texts(draw: st.DrawFn) -> str:
    """A mapping in a mix of block and flow style, with comments and blank lines."""
    tree = draw(SECTIONS)
    return "".join(_lines(draw, tree, 0))


def _lines(draw: st.DrawFn, tree: dict[str, object], depth: int) -> list[str]:
    indent = "  " * depth
    lines = []
    for key, value in tree.items():
        if draw(st.booleans()):
            lines.append(draw(st.sampled_from(["\n", f"{indent}# about {key}\n", "# far out\n"])))
        tail = draw(st.sampled_from(["", " # why"])) + "\n"
        if isinstance(value, dict) and value and draw(st.booleans()):
            lines.append(f"{indent}{key}:{tail}")
            lines += _lines(draw, value, depth + 1)
        elif isinstance(value, list) and value and draw(st.booleans()):
            lines.append(f"{indent}{key}:{tail}")
            dash = draw(st.sampled_from([indent, indent + "  "]))
            lines += [f"{dash}- {_flow(draw, item)}{tail}" for item in value]
        else:
            lines.append(f"{indent}{key}: {_flow(draw, value)}{tail}")
    return lines


def _flow(draw: st.DrawFn, value: object) -> str:
    """A second writer of flow style, to not test the one in the house with itself."""
    if isinstance(value, dict):
        pad, comma = draw(st.sampled_from(["", " "])), draw(st.sampled_from(["", ","]))
        pairs = ", ".join(f"{key}: {_flow(draw, item)}" for key, item in value.items())
        return f"{{{pad}{pairs}{comma if pairs else ''}{pad}}}"
    if isinstance(value, list):
        return "[" + ", ".join(_flow(draw, item) for item in value) + "]"
    if isinstance(value, str):
        escaped = "".join(
            c if c.isascii() and c.isprintable() and c not in '"\\' else f"\\U{ord(c):08x}"
            for c in value
        )
        return f'"{escaped}"'
    if isinstance(value, bool):
        return draw(st.sampled_from(["on", "true"] if value else ["off", "false"]))
    return f"{value:.9f}" if isinstance(value, float) else str(value)


@given(yaml_texts(), st.data())
@settings(max_examples=200)
def test_any_edit_changes_the_data_as_asked_and_keeps_all_other_lines(
    text: str, data: st.DataObject
) -> None:
    source = read(text, "x")
    path = data.draw(paths(source.data))
    value = data.draw(st.one_of(st.none(), VALUES, st.dictionaries(WORDS, SCALARS, max_size=2)))
    edited = set_at(source, path, value)
    if value is None and not exists(source.data, path):
        assert edited.text == text
        return
    assert not edited.problems
    assert same(edited.data, changed(source.data, path, plain(value)))


@given(yaml_texts(), st.data())
@settings(max_examples=100)
def test_a_plain_value_replaced_or_a_key_added_touches_one_line(
    text: str, data: st.DataObject
) -> None:
    source = read(text, "x")
    path = data.draw(paths(source.data))
    assume(not isinstance(at(source.data, path), (dict, list)))
    edited = set_at(source, path, data.draw(SCALARS)).text
    before, after = text.splitlines(), edited.splitlines()
    added = len(after) - len(before)
    assert added in {0, 1}
    line = next((i for i, (x, y) in enumerate(zip(before, after, strict=False)) if x != y), None)
    if line is not None:
        assert after[line + 1 :] == before[line + 1 - added :]


def exists(data: object, path: KeyPath) -> bool:
    return has(at(data, path[:-1]), path[-1])


def _keys(data: object) -> list[str] | list[int]:
    if isinstance(data, dict):
        return list(data)
    return list(range(len(data))) if isinstance(data, list) else []


@st.composite
def paths(draw: st.DrawFn, data: object) -> KeyPath:
    """A path that ends at a key, existing or new, in a mapping."""
    path: KeyPath = ()
    while True:
        keys: list[str | int] = [*_keys(data)]
        new = isinstance(data, dict) and draw(st.integers(0, 3)) == 0
        if new or not keys:
            assume(isinstance(data, dict))
            return (*path, draw(WORDS))
        step = draw(st.sampled_from(keys))
        path = (*path, step)
        inner = at(data, (step,))
        if isinstance(step, str) and (not isinstance(inner, (dict, list)) or draw(st.booleans())):
            return path
        data = inner
