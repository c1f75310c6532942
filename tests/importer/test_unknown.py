"""What becomes of actions with parameters that no key of a profile says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.importer.test_import import DOCUMENT, imported, listed

SENT = 'action(type="omelasticsearch" searchIndex="logs" template="d" bulkmode="on" %s)\n'


@pytest.mark.parametrize("parameter", ['parent="p"', 'action.copyMsg="on"', 'queue.future="1"'])
def test_an_output_into_the_engine_is_imported_without_them(parameter: str, tmp_path: Path) -> None:
    made = imported(DOCUMENT + SENT % parameter, tmp_path)
    (data,) = listed(made, "outputs")
    assert data["index"] == {"name": "logs", "mapping": "dynamic"}
    assert made.kept == ()
    (missing,) = made.missing
    name = parameter.partition("=")[0]
    assert missing.message == (
        f"output logs: a profile has no key for the parameter {name}: it is left out"
    )
    place = f"{DOCUMENT.count(chr(10)) + 1}:{SENT.index('%s') + 1}"
    assert str(missing).endswith(f"rsyslog.conf:{place}: {missing.message}")


@pytest.mark.parametrize(
    "parameter", ['action.execOnlyEveryNthTime="10"', 'queue.cry.provider="gcry"']
)
def test_what_it_must_not_be_without_keeps_it_whole(parameter: str, tmp_path: Path) -> None:
    made = imported(DOCUMENT + SENT % parameter, tmp_path)
    assert listed(made, "outputs") == []
    assert made.missing == ()
    assert parameter in made.snippets["site-outputs.conf"]


def test_other_outputs_are_kept_whole(tmp_path: Path) -> None:
    action = 'action(type="omfwd" target="a" port="514" networkNamespace="n")\n'
    made = imported(DOCUMENT + action, tmp_path)
    assert listed(made, "outputs") == []
    assert 'networkNamespace="n"' in made.snippets["site-outputs.conf"]
