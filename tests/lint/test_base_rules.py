"""Every rule by its examples as what a profile keeps: a configuration of rsyslog, in each form that
says the same.

Of a rule about profiles the examples are rendered first.  A new rule is tried so by itself.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tests.lint.findings import with_changes
from tuner.errors import BadProfile, TuneError
from tuner.lint.explain import code_row
from tuner.lint.lint import BASE_RULES, RULES, BaseRule, ProfileRule
from tuner.lint.load import LoadedProfile, load_profile
from tuner.profile.model import Profile
from tuner.render.artefacts import rsyslog_conf

HEAD = """\
module(load="omelasticsearch")
module(load="imtcp")
input(type="imtcp" port="10514")
"""
Form = Callable[[str], Mapping[str, str]]
MAIN = "rsyslog.conf"
_INPUT = re.compile(r'^input\(type="imtcp"(?: address="[^"]*")? port="(\d+)"\)', re.MULTILINE)
_FOLDER = re.compile(r'^( *)workDirectory="([^"]+)"\n', re.MULTILINE)
_MODULE = re.compile(r'^module\(load="(\w+)"\)', re.MULTILINE)
_TEMPLATE = re.compile(r'^template\(name="(\w+)" type="string" string="(.*)"\)$', re.MULTILINE)


def as_it_is(text: str) -> Mapping[str, str]:
    return {MAIN: text}


def included(text: str) -> Mapping[str, str]:
    """All of it in files that are included, in both ways."""
    first, second = text.partition("\n")[::2]
    return {
        MAIN: f'{first}\n$IncludeConfig parts.d/*.conf\ninclude(file="last.inc")\n',
        "parts.d/10.conf": second,
        "last.inc": "# nothing\n",
    }


def in_the_old_form(text: str) -> Mapping[str, str]:
    """Modules, the folder, listeners and templates by directives."""
    text = _MODULE.sub(r"$ModLoad \1", text)
    text = _INPUT.sub(r"$InputTCPServerRun \1", text)
    text = _TEMPLATE.sub(r'$template \1,"\2"', text)
    found = _FOLDER.search(text)
    if found is not None:
        text = f"$WorkDirectory {found[2]}\n{_FOLDER.sub('', text)}"
    return {MAIN: text}


def by_global_and_modules(text: str) -> Mapping[str, str]:
    """The folder in a global() of its own, behind all that uses it; the module has parameters."""
    found = _FOLDER.search(text)
    if found is not None:
        text = f'{_FOLDER.sub("", text)}\nglobal(workDirectory="{found[2]}")\n'
    return {MAIN: text.replace('module(load="imtcp")', 'module(load="imtcp" maxSessions="400")')}


def everything(text: str) -> Mapping[str, str]:
    """The folder, modules and their parameters, in files that are included."""
    return included(by_global_and_modules(text)[MAIN])


FORMS = (as_it_is, included, in_the_old_form, by_global_and_modules)


def kept(folder: Path, files: Mapping[str, str], more: str = "") -> LoadedProfile:
    for name, text in files.items():
        (folder / name).parent.mkdir(exist_ok=True, parents=True)
        (folder / name).write_text(text, encoding="utf-8")
    path = folder / "prod.yaml"
    path.write_text(f"name: prod\nbase: {{rsyslog: {MAIN}}}\n{more}", encoding="utf-8")
    return load_profile(path)


def codes(loaded: LoadedProfile) -> set[str]:
    return {one.code for one in loaded.warnings}


EXAMPLES = [
    pytest.param(rule, form, id=f"{rule.code} {form.__name__}")
    for rule in BASE_RULES
    for form in FORMS
]


@pytest.mark.parametrize(("rule", "form"), EXAMPLES)
def test_each_example_of_a_rule_about_a_base(rule: BaseRule, form: Form, tmp_path: Path) -> None:
    row = code_row(rule.code)
    for number, (example, is_bad) in enumerate(
        [*((text, True) for text in row["bad"]), *((text, False) for text in row["good"])]
    ):
        found = kept(tmp_path / str(number), form(f"{HEAD}{example}\n"))
        assert (rule.code in codes(found)) is is_bad, example


@pytest.mark.parametrize(("interval", "codes_of_limits"), [(5, {"RT224", "RT236"}), (0, set())])
def test_limits_by_name_are_held_against_the_traffic_of_a_base(
    interval: int, codes_of_limits: set[str], tmp_path: Path
) -> None:
    text = (
        f'ratelimit(name="few" interval="{interval}" burst="1000")\n'
        'module(load="imtcp")\ninput(type="imtcp" port="10514" rateLimit.name="few")\n'
        'module(load="omelasticsearch")\naction(type="omelasticsearch" searchType="" '
        'bulkmode="on" action.ratelimit.name="few")\n'
    )
    found = kept(tmp_path, {MAIN: text}, 'release: {rsyslog: "8.2610", elasticsearch: "8.19"}\n')
    assert codes(found) & {"RT224", "RT235", "RT236"} == codes_of_limits
    (limit,) = [one for one in found.warnings if one.code == "RT420"]
    assert (limit.line, limit.message.startswith("input[1]: an action has")) == (3, True)


def test_a_limit_of_a_base_is_changed_where_it_stands(tmp_path: Path) -> None:
    text = f'{HEAD}ratelimit(name="few" interval="5" burst="1000")\n'
    action = 'action(type="omelasticsearch" searchType="" bulkmode="on")\n'
    changes = 'changes: {"ratelimit[few].burst": 5000}\n'
    base = kept(tmp_path, {MAIN: text + action}, changes).profile.base
    assert base is not None
    assert [file for _, file in base.kept.changed.text] == [(text + action).replace("1000", "5000")]


# What a profile says beside its base.
BESIDE_A_BASE = ("release", "guardrails", "workload", "node", "search")
RENDERED = [pytest.param(rule, id=rule.code) for rule in RULES]


@pytest.mark.parametrize("rule", RENDERED)
def test_what_a_profile_does_right_is_right_in_a_configuration(
    rule: ProfileRule, tmp_path: Path
) -> None:
    """None of the forms in which the good example can stand breaks the rule."""
    row = code_row(rule.code)
    try:
        data = with_changes({**row["bad"], **row["good"]})
        profile = Profile.model_validate(data, by_alias=True, by_name=False)
        text = rsyslog_conf(profile)
    except (ValueError, TuneError):
        pytest.skip("the example cannot be rendered")
    said = {key: data[key] for key in BESIDE_A_BASE if isinstance(data, dict) and key in data}
    more = "".join(f"{key}: {json.dumps(value)}\n" for key, value in said.items())
    for form in (in_the_old_form, everything):
        try:
            found = kept(tmp_path / form.__name__, form(text), more)
        except BadProfile as bad:
            raise AssertionError(f"{form.__name__}: {bad}") from None
        assert rule.code not in codes(found), form.__name__


def test_nothing_is_said_of_an_input_that_a_lab_adds(tmp_path: Path) -> None:
    """A host that receives nothing is told nothing of imtcp."""
    text = """
module(load="imuxsock")
module(load="omelasticsearch")
action(type="omelasticsearch" searchType="" bulkmode="on")
"""
    release = 'release: {rsyslog: "8.2504", elasticsearch: "8.19"}\n'
    assert "RT406" not in codes(kept(tmp_path / "none", {MAIN: text}, release))
    receiving = f'{text}module(load="imtcp")\ninput(type="imtcp" port="514")\n'
    assert "RT406" in codes(kept(tmp_path / "imtcp", {MAIN: receiving}, release))
