"""Objects that `config.enabled` switches off: the view of a base lacks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tuner.script.configuration import configuration
from tuner.script.in_place import edited
from tuner.script.objects import Base, base_of
from tuner.script.view import view_of

OFF = 'config.enabled="off"'
ENGINE = 'action(type="omelasticsearch" template="d" bulkmode="on"'


def base(folder: Path, text: str) -> Base:
    (folder / "rsyslog.conf").write_text(text, encoding="utf-8")
    return base_of(configuration(folder / "rsyslog.conf"))


def test_a_template_that_is_switched_off_leaves_its_name_to_the_next(tmp_path: Path) -> None:
    first = f'template(name="d" {OFF} type="string" string="none")\n'
    found = base(tmp_path, f'{first}template(name="d" type="string" string="one")\n').template("d")
    assert found is not None
    assert found.text("string") == "one"


@pytest.mark.parametrize(("word", "count"), [("on", 1), ("ON", 0), ("once", 0), ("yes", 0)])
def test_nothing_but_on_is_on(tmp_path: Path, word: str, count: int) -> None:
    made = base(tmp_path, f'{ENGINE})\n{ENGINE} config.enabled="{word}")\n')
    assert len(made.engine_actions) == 1 + count


def test_what_only_rsyslogd_knows_is_said(tmp_path: Path) -> None:
    text = (
        f"{ENGINE} config.enabled=`echo $SHIP-`)\n"
        'include(file="/etc/x.conf" config.enabled=`echo ${MORE}`)\n'
    )
    unknown = "is known only when rsyslogd starts: write on or off"
    refused = configuration(_written(tmp_path, text)).refused
    assert [f"{one.origin.line}: {one.message}" for one in refused] == [
        f"1: config.enabled of action() {unknown}",
        f"2: config.enabled of include() {unknown}",
    ]


def test_the_view_of_a_base_has_what_is_live(tmp_path: Path) -> None:
    text = (
        f'input(type="imudp" port="514" {OFF})\ninput(type="imtcp" port="515")\n'
        f'{ENGINE} name="dead" {OFF})\n{ENGINE} name="live")\nmain_queue(queue.size="7" {OFF})\n'
    )
    read = base(tmp_path, text)
    view = view_of(read, None)
    assert [view.sections["inputs", 0], view.sections["outputs", 0]] == ["input[1]", "action[live]"]
    assert ("outputs", 1) not in view.sections
    assert "main_queue" not in view.data
    (made,) = edited(read, {("action[live]", "queue.size"): "9"}).values()
    live = f'{ENGINE} name="live"'
    assert made.decode() == text.replace(live, f'{live} queue.size="9"')


def of_environment(
    folder: Path, monkeypatch: pytest.MonkeyPatch, text: str, **variables: str | None
) -> Base:
    for name, value in variables.items():
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    return base(folder, text)


@pytest.mark.parametrize(
    ("value", "is_on"),
    [("on", True), ("off", False), ("yes", False), ("on ", False), (None, False)],
)
@pytest.mark.parametrize("form", ["include", "action", "a file"])
def test_what_a_variable_switches_is_what_the_environment_says(
    form: str, value: str | None, is_on: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "es.conf").write_text(f'{ENGINE} name="es")\n', encoding="utf-8")
    if value is not None:
        (tmp_path / "switch").write_text(value, encoding="utf-8")
    text = {
        "include": 'include(file="es.conf" config.enabled=`echo $WITH_ES`)\n',
        "action": f'{ENGINE} name="es" config.enabled=`echo $WITH_ES`)\n',
        "a file": f'include(file="es.conf" config.enabled=`cat {tmp_path}/switch`)\n',
    }[form]
    read = of_environment(tmp_path, monkeypatch, text, WITH_ES=value)
    assert ("action[es]" in read.objects) is is_on


def _written(folder: Path, text: str) -> Path:
    (folder / "rsyslog.conf").write_text(text, encoding="utf-8")
    return folder / "rsyslog.conf"


def test_a_variable_that_is_not_set_is_said_with_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("WITH_ES", raising=False)
    path = _written(tmp_path, f'{ENGINE} name="es" config.enabled=`echo $WITH_ES`)\n')
    (unset,) = configuration(path).unset
    assert (unset.origin.file, unset.origin.line) == (str(path), 1)
    assert unset.message.startswith("$WITH_ES is not set here, and so empty in config.enabled")


def test_values_of_variables_are_read_but_secrets_and_what_releases_read_otherwise(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        f'{ENGINE} name="es" searchIndex=`echo $INDEX` server=`echo $HOST` pwd=`echo $WORD` '
        "errorFile=`echo /var/log/$INDEX` uid=`echo ${INDEX}`)\n"
    )
    read = of_environment(tmp_path, monkeypatch, text, INDEX="logs", HOST="es9", WORD="geheim")
    action = read.objects["action[es]"]
    names = ("searchIndex", "server", "errorFile", "pwd", "uid")
    assert [action.text(name) for name in names] == ["logs", "es9", "/var/log/logs", None, None]
    assert "geheim" not in str(read.block)
    (made,) = edited(read, {("action[es]", "queue.size"): "9"}).values()
    assert made.startswith(text[:60].encode())


def test_variables_of_another_host_are_not_those_of_this_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WITH_ES", "on")
    path = _written(tmp_path, f"{ENGINE} config.enabled=`echo $WITH_ES`)\n")
    (gap,) = configuration(path, root=str(tmp_path)).refused
    assert "known only when rsyslogd starts" in gap.message
