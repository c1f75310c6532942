"""Changes of parameters in the user's own files: where they land, and what stays."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.render import tokens
from tuner.errors import NotReadable
from tuner.script.configuration import LocalFiles, configuration
from tuner.script.in_place import Changes, edited, mismatch
from tuner.script.objects import Base, base_of
from tuner.script.view import view_of

BATCH = "queue.dequeueBatchSize"


def base(folder: Path, text: str, **others: str) -> Base:
    for name, content in {"rsyslog.conf": text, **others}.items():
        (folder / name).write_bytes(content.encode("utf-8"))
    return base_of(configuration(folder / "rsyslog.conf"))


def changed(folder: Path, text: str, changes: Changes) -> str:
    """The text of the one file after the changes."""
    (made,) = edited(base(folder, text), changes).values()
    return made.decode("utf-8")


ES = 'action(type="omelasticsearch" name="es"'

PLACES = {
    "a value is replaced where it stands": (
        f'{ES} queue.dequeueBatchSize="100"  # tuned in 2019\n queue.size="5")\n',
        "action[es]",
        f'{ES} queue.dequeueBatchSize="500"  # tuned in 2019\n queue.size="5")\n',
    ),
    "names are the same in any case": (
        f'{ES} QUEUE.DequeueBatchsize="100")\n',
        "action[es]",
        f'{ES} QUEUE.DequeueBatchsize="500")\n',
    ),
    "of two the last counts": (
        f'{ES} {BATCH}="1" {BATCH}="2")\n',
        "action[es]",
        f'{ES} {BATCH}="1" {BATCH}="500")\n',
    ),
    "on the line of the others": (f"{ES})\n", "action[es]", f'{ES} {BATCH}="500")\n'),
    "on a line of its own where the others are": (
        f'*.* {ES}\n\tserver="a" # here\n\tserverport="9200")\n',
        "action[es]",
        f'*.* {ES}\n\tserver="a" # here\n\tserverport="9200"\n\t{BATCH}="500")\n',
    ),
    "after the comment of the last": (
        f'{ES}\n  server="a" # the only (old) one\n)\n',
        "action[es]",
        f'{ES}\n  server="a" # the only (old) one\n  {BATCH}="500"\n)\n',
    ),
    "before a comment that goes on": (
        f'{ES}\n  server="a" /* was\n  server="b" */\n)\n',
        "action[es]",
        f'{ES}\n  server="a"\n  {BATCH}="500" /* was\n  server="b" */\n)\n',
    ),
    "after a comment on the line of the last, before one that goes on": (
        f'{ES}\r\n  server="a" /* (1) */ /* was\r\n\r\n) */)\r\n',
        "action[es]",
        f'{ES}\r\n  server="a"\r\n  {BATCH}="500" /* (1) */ /* was\r\n\r\n) */)\r\n',
    ),
    "parentheses in texts and comments end nothing": (
        f'{ES} server=["a)", "b"] /* ) */ uid="c\\")")\n',
        "action[es]",
        f'{ES} server=["a)", "b"] /* ) */ uid="c\\")" {BATCH}="500")\n',
    ),
    "on the same line where a backslash joins it to others": (
        f'{ES} \\\n  server="a" \\\n  serverport="9200")\n',
        "action[es]",
        f'{ES} \\\n  server="a" \\\n  serverport="9200" {BATCH}="500")\n',
    ),
    "before the backslash that joins the end": (
        f'{ES} \\\n  server="a" \\\n)\n',
        "action[es]",
        f'{ES} \\\n  server="a" {BATCH}="500" \\\n)\n',
    ),
    "on the same line where a backslash joins lines inside of a text": (
        f'{ES} uid="a\\\n  b")\n',
        "action[es]",
        f'{ES} uid="a\\\n  b" {BATCH}="500")\n',
    ),
    "on the same line where one joins lines inside of a comment": (
        f'{ES} /* a \\\n  b */ server="a")\n',
        "action[es]",
        f'{ES} /* a \\\n  b */ server="a" {BATCH}="500")\n',
    ),
    "as its own lines end, whatever the first ends in": (
        f'# ours\r\n{ES}\n  server="a"\n)\n',
        "action[es]",
        f'# ours\r\n{ES}\n  server="a"\r\n  {BATCH}="500"\n)\n',
    ),
    "as the file ends its lines": (
        f'{ES}\r\n  server="a"\r\n)\r\n',
        "action[es]",
        f'{ES}\r\n  server="a"\r\n  {BATCH}="500"\r\n)\r\n',
    ),
    "an action without a name by its number": (
        '*.* /var/log/all\n*.* action(type="omelasticsearch")\n',
        "action[2]",
        f'*.* /var/log/all\n*.* action(type="omelasticsearch" {BATCH}="500")\n',
    ),
    "a ruleset": (
        'ruleset(name="remote") { stop }\n',
        "ruleset[remote]",
        f'ruleset(name="remote" {BATCH}="500") {{ stop }}\n',
    ),
    "a main queue": (
        f'main_queue({BATCH}="64")\n*.* /f\n',
        "main_queue",
        f'main_queue({BATCH}="500")\n*.* /f\n',
    ),
    "a main queue that is not there": (
        '# ours\n\nmodule(load="imtcp")\n',
        "main_queue",
        f'# ours\n\nmain_queue({BATCH}="500")\nmodule(load="imtcp")\n',
    ),
    "a directive": (
        "$MainMsgQueueSize 10\n$MainMsgQueueDequeueBatchSize 64 # small\n*.* /f\n",
        "main_queue",
        "$MainMsgQueueSize 10\n$MainMsgQueueDequeueBatchSize 500 # small\n*.* /f\n",
    ),
    "a directive beside others of its queue": (
        "$MainMsgQueueSize 10\n*.* /f\n",
        "main_queue",
        "$MainMsgQueuedequeueBatchSize 500\n$MainMsgQueueSize 10\n*.* /f\n",
    ),
    "a directive before the line of its action": (
        "*.* /a\n$ActionQueueType LinkedList\nmail.* \\\n  @@b:514\n*.* /c\n",
        "action[2]",
        "*.* /a\n$ActionQueueType LinkedList\n$ActionQueuedequeueBatchSize 500\nmail.* \\\n"
        "  @@b:514\n*.* /c\n",
    ),
}


@pytest.mark.parametrize("case", PLACES)
def test_a_parameter_changes_where_it_stands(case: str, tmp_path: Path) -> None:
    before, address, after = PLACES[case]
    written = base(tmp_path, before)
    assert changed(tmp_path, before, {(address, BATCH): "500"}) == after
    again = base(tmp_path, after)
    assert again.objects[address].text(BATCH) == "500"
    assert mismatch(written, again, {(address, BATCH): "500"}) == ""
    if "\\\n  " in before and before.startswith(ES):
        # As rsyslogd reads it, with the number that it puts after lines that are joined.
        (seen,) = tokens.parse(after)
        assert seen.parameters[BATCH] == "500"


def test_a_change_that_has_no_effect_is_said(tmp_path: Path) -> None:
    read = base(tmp_path, f'{ES} {BATCH}="9")\n')
    made = {
        ("action[es]", BATCH): "9",
        ("action[es]", "queue.size"): None,
        ("action[x]", "a"): None,
    }
    assert mismatch(read, read, made) == ""
    for value in ("5", None):
        said = mismatch(read, read, {("action[es]", BATCH): value, ("action[x]", "a"): value})
        assert said.startswith(f"action[es].{BATCH}: the change has no effect where it stands")
        assert ("action[x].a" in said) is (value is not None)


ARRAY = 'action(type="omelasticsearch" name="es" server=["http://a:9200", "http://b:9200"])\n'


@pytest.mark.parametrize(
    ("value", "after"),
    [
        (None, 'action(type="omelasticsearch" name="es")\n'),
        ("c", 'action(type="omelasticsearch" name="es" server="c")\n'),
    ],
)
def test_a_list_goes_whole(value: str | None, after: str, tmp_path: Path) -> None:
    changes = {("action[es]", "server"): value}
    for before in (ARRAY, ARRAY.replace(', "http://b:9200"', " ")):
        read = base(tmp_path, before)
        assert changed(tmp_path, before, changes) == after
        assert mismatch(read, base(tmp_path, after), changes) == ""


@pytest.mark.parametrize("inside", ['"a", "b"', '/* [old] */ "a", "b"', '"a", /* ] [ */ "b"'])
def test_brackets_in_comments_around_a_list_stay(inside: str, tmp_path: Path) -> None:
    text = f"{ES} server=/* [two] */ [{inside}] /* [of them] */)\n"
    changes = {("action[es]", "server"): "c"}
    made = changed(tmp_path, text, changes)
    assert made == f'{ES} server=/* [two] */ "c" /* [of them] */)\n'
    assert mismatch(base(tmp_path, text), base(tmp_path, made), changes) == ""


LASTS = "action.execOnlyWhenPreviousIsSuspended"


@pytest.mark.parametrize(
    ("text", "place", "too"),
    [
        ("*.* /a\n*.* /b\n*.* @@h\n", ("action[2]", LASTS), f"action[3].{LASTS}"),
        (
            "$ModLoad imtcp\n$InputTCPServerRun 514\n$InputTCPServerRun 515\n",
            ("input[1]", "ruleset"),
            "input[2].ruleset",
        ),
    ],
)
def test_a_directive_that_would_change_others_too_is_said(
    text: str, place: tuple[str, str], too: str, tmp_path: Path
) -> None:
    made = changed(tmp_path, text, {place: "on"})
    said = mismatch(base(tmp_path, text), base(tmp_path, made), {place: "on"})
    assert said == f"{too} would change too: make it in the configuration itself"


def test_whatever_else_an_edit_would_change_is_said(tmp_path: Path) -> None:
    text = f'if $msg contains "a" then stop\n{ES})\n'
    written, wanted = base(tmp_path, text), {("action[es]", BATCH): "5"}
    heeded = text.replace('"es"', f'"es" {BATCH}="5"')
    assert mismatch(written, base(tmp_path, heeded), wanted) == ""
    for also in (heeded.replace('"a"', '"b"'), f"{heeded}*.* /more\n"):
        assert "make it in the configuration itself" in mismatch(
            written, base(tmp_path, also), wanted
        )


def test_a_queue_of_the_old_form_has_its_defaults_beside_the_change(tmp_path: Path) -> None:
    text = "$ActionName es\n*.* @@h\n"
    wanted = {("action[es]", "queue.type"): "LinkedList"}
    made = base(tmp_path, changed(tmp_path, text, wanted))
    assert made.objects["action[es]"].text("queue.timeoutEnqueue") == "50"
    assert mismatch(base(tmp_path, text), made, wanted) == ""


def test_a_value_in_the_line_after_its_directive_is_not_edited(tmp_path: Path) -> None:
    text = "$ActionQueueType \\\n  LinkedList\n*.* @@h\n"
    wanted = {("action[1]", "queue.type"): "FixedArray"}
    made = changed(tmp_path, text, wanted)
    assert "  LinkedList\n" in made
    assert mismatch(base(tmp_path, text), base(tmp_path, made), wanted) == ""


def test_what_a_text_inside_of_the_file_says_is_not_edited(tmp_path: Path) -> None:
    text = 'include(text=`echo $MORE`)\ninclude(text="action(type=\\"omfile\\" file=\\"/f\\")")\n'
    read = base(tmp_path, text)
    with pytest.raises(LookupError, match=r"action\[1\] stands in the text that .*conf:2:14 inclu"):
        edited(read, {("action[1]", BATCH): "5"})


def test_a_parameter_of_global_is_taken_out_wherever_it_stands(tmp_path: Path) -> None:
    text = 'global(maxMessageSize="64k")\nglobal(workDirectory="/x")\n'
    wanted = {("global", "maxMessageSize"): None}
    made = changed(tmp_path, text, wanted)
    assert made == 'global()\nglobal(workDirectory="/x")\n'
    assert mismatch(base(tmp_path, text), base(tmp_path, made), wanted) == ""
    assert changed(tmp_path, text, {("global", "maxMessageSize"): "8k"}) == text.replace("64", "8")
    assert "no effect" in mismatch(base(tmp_path, text), base(tmp_path, text), wanted)


@pytest.mark.parametrize(
    "text",
    [
        'global(workDirectory="/a")\nglobal(maxMessageSize="8k")\n',
        "$WorkDirectory /a\n$MaxMessageSize 8k\n",
    ],
)
def test_a_parameter_of_global_changes_wherever_it_stands(text: str, tmp_path: Path) -> None:
    wanted = {("global", "workDirectory"): "/b"}
    made = changed(tmp_path, text, wanted)
    assert made == text.replace("/a", "/b")
    assert mismatch(base(tmp_path, text), base(tmp_path, made), wanted) == ""
    also = base(tmp_path, made.replace("8k", "9k"))
    assert "global.maxMessageSize would change too" in mismatch(base(tmp_path, text), also, wanted)


def test_what_nothing_changes_is_no_file_to_write(tmp_path: Path) -> None:
    assert edited(base(tmp_path, f"{ES})\n"), {}) == {}


def test_a_file_that_is_no_utf_8_keeps_its_bytes(tmp_path: Path) -> None:
    (tmp_path / "rsyslog.conf").write_bytes(b"# gr\xfc\xdfe\n" + f"{ES})\n".encode())
    read = base_of(configuration(tmp_path / "rsyslog.conf"))
    (made,) = edited(read, {("action[es]", BATCH): "500"}).values()
    assert made == b"# gr\xfc\xdfe\n" + f'{ES} {BATCH}="500")\n'.encode()


def test_only_the_included_file_with_the_object_changes(tmp_path: Path) -> None:
    text = f'include(file="{tmp_path}/es.conf")\n'
    read = base(tmp_path, text, **{"es.conf": f"{ES})\n"})
    assert list(edited(read, {("action[es]", BATCH): "500"})) == [str(tmp_path / "es.conf")]


def test_a_directive_that_lasts_changes_for_one_action_alone(tmp_path: Path) -> None:
    text = "$ActionResumeInterval 3\n*.* @@a\n*.* @@b\n"
    assert changed(tmp_path, text, {("action[1]", "action.resumeInterval"): "9"}) == (
        "$ActionResumeInterval 3\n$actionresumeinterval 9\n*.* @@a\n"
        "$actionresumeinterval 3\n*.* @@b\n"
    )


def test_a_directive_for_the_next_action_changes_where_it_stands(tmp_path: Path) -> None:
    text = "$ActionResumeRetryCount 3\n*.* @@a\n*.* @@b\n"
    retries = "action.resumeRetryCount"
    assert base(tmp_path, text).parameter("action[2]", retries) is None
    assert changed(tmp_path, text, {("action[1]", retries): "-1"}) == (
        "$ActionResumeRetryCount -1\n*.* @@a\n*.* @@b\n"
    )
    assert changed(tmp_path, text, {("action[2]", retries): "-1"}) == (
        "$ActionResumeRetryCount 3\n*.* @@a\n$actionresumeretrycount -1\n*.* @@b\n"
    )


@pytest.mark.parametrize("value", ["/srv/a b", "/srv/a;b", "/srv/a#b"])
def test_a_directive_gets_quotes_where_its_new_value_would_end_before(
    value: str, tmp_path: Path
) -> None:
    text = "$WorkDirectory /var/spool/rsyslog\n*.* /f\n"
    changes = {("global", "workDirectory"): value}
    assert changed(tmp_path, text, changes) == f'$WorkDirectory "{value}"\n*.* /f\n'


def test_several_changes_of_one_object_come_in_their_order(tmp_path: Path) -> None:
    changes = {("action[es]", BATCH): "500", ("action[es]", "queue.size"): "9"}
    assert changed(tmp_path, f"{ES})\n", changes) == f'{ES} {BATCH}="500" queue.size="9")\n'


def test_names_that_two_objects_share_are_no_addresses(tmp_path: Path) -> None:
    read = base(tmp_path, f"{ES})\n{ES})\n")
    assert [one for one in read.objects if one.startswith("action")] == ["action[1]", "action[2]"]
    with pytest.raises(LookupError):
        edited(read, {("action[es]", BATCH): "500"})


def test_rsyslogd_keeps_the_first_main_queue_and_ruleset_of_a_name(tmp_path: Path) -> None:
    text = (
        'main_queue(queue.size="10")\nmain_queue(queue.size="20")\n'
        'ruleset(name="r") { stop }\nruleset(name="R" queue.size="30") { stop }\n'
    )
    read = base(tmp_path, text)
    assert list(read.objects) == ["main_queue", "ruleset[r]"]
    assert read.objects["main_queue"].text("queue.size") == "10"
    assert read.objects["ruleset[r]"].queue == ()


def test_nothing_inside_of_a_refused_ruleset_is_an_object_of_a_base(tmp_path: Path) -> None:
    inner = 'action(name="{0}" type="omfile" file="/{0}")'
    text = "".join(f'ruleset(name="r") {{ {inner.format(name)} }}\n' for name in "ab")
    read = base(tmp_path, text)
    assert read.addresses == ("main_queue", "ruleset[r]", "action[a]")


def test_the_view_of_a_base_has_what_directives_say_of_a_module(tmp_path: Path) -> None:
    text = "$ModLoad imudp\n$UDPServerRun 514\n$UDPServerTimeRequery 7\n"
    view = view_of(base(tmp_path, f"{text}{ES})\n"), None)
    assert view.section(("inputs", 0))["timeRequery"] == 7
    assert view.place(("inputs", 0, "timeRequery")) is None


GOLDEN = Path(__file__).with_name("golden")


@pytest.mark.parametrize("name", ["modern.conf", "old.conf"])
def test_one_parameter_changes_and_no_other(name: str) -> None:
    read = base_of(configuration(GOLDEN / name))
    assert len(read.objects) > 5
    for address in read.objects:
        if address.startswith(("input", "global")):
            continue
        key = "queue.size"
        (path, made), *others = edited(read, {(address, key): "4711"}).items()
        assert not others
        again = base_of(configuration(GOLDEN / name, Replaced(path, made)))
        assert again.objects[address].text(key) == "4711"
        assert list(again.objects) == list(read.objects)
        for other, one in again.objects.items():
            kept = {each.key: each.texts for each in one.parameters if each.key != key}
            was = read.objects[other].parameters
            assert {each.key: each.texts for each in was if each.key != key} == kept
            assert other == address or one.text(key) == read.objects[other].text(key)


class Replaced(LocalFiles):
    """The files of this machine, one of them another."""

    def __init__(self, path: str, content: bytes) -> None:
        self.path, self.content = path, content

    def read(self, path: str) -> bytes:
        return self.content if path == self.path else super().read(path)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f'{ES} {BATCH}="9" queue.size="5")\n', f'{ES} queue.size="5")\n'),
        (f'{ES}\n  {BATCH}="9"\n  queue.size="5")\n', f'{ES}\n  queue.size="5")\n'),
        (f'{ES} {BATCH}="9" {BATCH}="8" queue.size="5")\n', f'{ES} queue.size="5")\n'),
        (f'{ES}\n  {BATCH}="9" {BATCH}="8"\n  {BATCH}="7" )\n', f"{ES}\n  \n  )\n"),
        (f"{ES})\n", f"{ES})\n"),
    ],
)
def test_a_parameter_is_taken_out(before: str, after: str, tmp_path: Path) -> None:
    made = edited(base(tmp_path, before), {("action[es]", BATCH): None})
    assert [text.decode() for text in made.values()] == ([after] if before != after else [])


def test_all_that_the_old_form_cannot_say_comes_at_once(tmp_path: Path) -> None:
    found = base(tmp_path, "*.* @@one\n*.* @@two\n")
    wanted = {(f"action[{number}]", "no.such"): "1" for number in (1, 2)}
    with pytest.raises(LookupError, match=r"no\.such; .*no\.such"):
        edited(found, wanted)


def test_every_file_that_only_root_may_read_is_named(tmp_path: Path) -> None:
    class Denying(LocalFiles):
        def read(self, path: str) -> bytes:
            if path.endswith(".secret"):
                raise PermissionError(13, "Permission denied", path)
            return super().read(path)

        def listed(self, folder: str) -> Mapping[str, bool]:
            if folder.endswith("secrets"):
                raise PermissionError(13, "Permission denied", folder)
            return super().listed(folder)

    for name in ("one.secret", "two.secret"):
        (tmp_path / name).touch()
    path = tmp_path / "rsyslog.conf"
    path.write_text(
        '$IncludeConfig one.secret\ninclude(file="two.secret")\n$IncludeConfig secrets/*\n', "utf-8"
    )
    with pytest.raises(NotReadable) as refused:
        configuration(path, Denying())
    assert str(refused.value) == (
        f"{path}:1:1: {tmp_path}/one.secret cannot be read: Permission denied; "
        f"{path}:2:14: {tmp_path}/two.secret cannot be read: Permission denied; "
        f"{path}:3:1: {tmp_path}/secrets cannot be read: Permission denied: "
        "run this as root, or as a user who may read it"
    )
