"""What stands behind each code that a message ends with, for `rsyslog-tune explain RT112`, and
behind each finding about rsyslog that messages name, such as F11."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tuner.errors import BadUsage
from tuner.lint.kept_rule import BaseRule
from tuner.lint.lint import BASE_RULES, RULES
from tuner.modules.findings import FINDINGS
from tuner.rule import About, Changes

_CODE = re.compile(r"RT[0-9]{3}|F[0-9]{1,2}", re.IGNORECASE)


@dataclass(frozen=True)
class CodeExplanation:
    """One code: which layer of validation reports it, how severe it is, why, and the source. A rule
    of the linter also has an example that breaks it and the change that fixes it, each with one
    setting a line.
    """

    code: str
    layer: str
    severity: str
    why: str
    source: str
    bad: tuple[str, ...] = ()
    good: tuple[str, ...] = ()


_SOURCE = "rsyslog's source, and tests of 8.2302"

_OURS = "rsyslog-tune's own: docs/profiles.md"
# Errors that are no rule's: of the schema, and of the engine that was asked.
_OF_SCHEMA: dict[str, tuple[str, str]] = {
    "RT001": (
        "Nothing reads an unknown key, so the setting has no effect: a typo would look like a "
        "change.",
        _OURS,
    ),
    "RT002": (
        "rsyslog or the engine does not accept this value: it would refuse it, or read it as "
        "something else.",
        "the documentation of the key: rsyslog-tune explain KEY",
    ),
    "RT003": (
        "Without this key nothing can be rendered, and no default is right for everybody.",
        _OURS,
    ),
    "RT004": (
        "YAML 1.1 reads some unquoted words as numbers, dates or booleans: 8.10 becomes 8.1. In "
        "quotes they stay text.",
        "YAML 1.1, type repository",
    ),
    "RT010": (
        "The file cannot be opened, or is not UTF-8 text.",
        "the operating system",
    ),
    "RT011": (
        "The text is not valid YAML, so nothing in it can be read reliably.",
        "YAML 1.1",
    ),
    "RT012": (
        "A profile may have at most 128 KiB and 32 levels of nesting: real ones are far smaller, "
        "and larger ones could exhaust memory.",
        _OURS,
    ),
    "RT013": (
        "If a key appears twice, most programs silently use the last one, while people read the "
        "first.",
        "YAML 1.1, 3.2.1.1: keys are unique",
    ),
    "RT014": (
        "Tags make a YAML reader build objects; a profile is plain data.",
        _OURS,
    ),
    "RT015": (
        "With anchors and aliases a small file can expand without limit; use `extends` instead.",
        _OURS,
    ),
    "RT016": (
        "YAML 1.1 reads 010 as eight, 1:30 as ninety and 2026-11-21 as a date: write what is "
        "meant.",
        "YAML 1.1, type repository",
    ),
    "RT017": (
        "A layer that the profile extends cannot be read, so the profile is incomplete.",
        _OURS,
    ),
    "RT018": (
        "A variant of the experiment cannot be measured, or published figures name a variant "
        "that does not exist.",
        _OURS,
    ),
    "RT019": (
        "The configuration that the profile is on top of cannot be read, or is said to have what "
        "it has not: nothing of it would be measured as it runs.",
        _OURS,
    ),
    "RT020": (
        "The sample that the workload names cannot be read, or has no messages: nothing would be "
        "sent.",
        _OURS,
    ),
    "RT021": (
        "A case of `rsyslog-tune test` names an input, an output or a sender that is not there, or "
        "expects what its own `outputs` rules out: it could only fail.",
        _OURS,
    ),
}
_OF_ENGINE: dict[str, tuple[str, str]] = {
    "RT501": (
        "The files are rendered for the release that the profile names, but the engine runs "
        "another one.",
        "the engine's own answer",
    ),
    "RT502": (
        "The engine was asked to try the rendered files and refused them.",
        "the engine's own answer",
    ),
    "RT503": (
        "If several index templates match a name, only the one with the highest priority applies.",
        "Elasticsearch, index templates",
    ),
    "RT504": (
        "The engine has no lifecycle policies, so retention and rollover would not happen.",
        "the engine's own answer",
    ),
    "RT505": (
        "The engine refuses every document that names a pipeline which does not exist.",
        "Elasticsearch, ingest pipelines",
    ),
    "RT506": (
        "F1: the node answers 413 to larger requests, and rsyslog silently drops the batch; "
        "errorfile does not get it.",
        "the node's own http.max_content_length",
    ),
    "RT507": (
        "F1: the node answers 429 above this, and rsyslog before 8.2606 silently drops the batch.",
        "the node's own indexing_pressure.memory.limit",
    ),
}
_OTHER_WARNINGS = (
    CodeExplanation(
        "RT023",
        "lint",
        "warning",
        "A warning that is accepted and does not come would be hidden when it comes later: take it "
        "out of lint.accept, or correct its code.",
        _OURS,
    ),
    CodeExplanation(
        "RT508",
        "lint",
        "warning",
        "A message takes about 700 bytes in addition to its text. In an outage, full queues "
        "would use up this machine's memory.",
        "seen on 8.2302: 680 to 720 bytes for messages of 244 to 4000",
    ),
    CodeExplanation(
        "RT509",
        "lint",
        "warning",
        "Measurements send the lines of that file, and stop where it is missing.",
        "rsyslog-tune's own: docs/profiles.md",
    ),
    CodeExplanation(
        "RT510",
        "rsyslogd -N1",
        "error",
        "rsyslogd does not start with this configuration, or starts without a part of it.",
        "rsyslogd's own answer",
    ),
    CodeExplanation(
        "RT511",
        "documents",
        "warning",
        "Messages were sent through a real rsyslogd into a test sink, and no document of this "
        "action is one that an engine takes: it is no JSON object, or its index has a name that "
        "no engine makes an index of.",
        "seen on Elasticsearch 8.19; MetadataCreateIndexService.validateIndexOrAliasName",
    ),
    CodeExplanation(
        "RT512",
        "documents",
        "warning",
        "The same of some documents: what an event holds makes them so, such as a quote that the "
        "template does not escape, or a capital in the name of an index.",
        "seen on Elasticsearch 8.19; MetadataCreateIndexService.validateIndexOrAliasName",
    ),
)
_OF_TESTS = CodeExplanation(
    "RT022",
    "test",
    "error",
    "What came of a message on a real rsyslogd is not what its case expects: either the "
    "configuration or the case is wrong.",
    "rsyslog-tune's own: docs/test.md",
)


def is_code(asked: str) -> bool:
    """Whether `asked` is a code rather than a key."""
    return _CODE.fullmatch(asked) is not None


def explain_code(asked: str) -> CodeExplanation:
    """What is known about a rule's code or a finding; raises BadUsage if there is no such one."""
    code = asked.upper()
    for explanation in (*explained_codes(), *_findings()):
        if explanation.code == code:
            return explanation
    raise BadUsage(
        f"there is no rule or finding {code}: a message ends with the code of its rule, RT112; "
        f"findings are F1 to F{len(FINDINGS)}"
    )


def explained_codes() -> Iterator[CodeExplanation]:
    """Every code that a message can end with."""
    for layer, reasons in (("schema", _OF_SCHEMA), ("engine", _OF_ENGINE)):
        for code, (why, source) in reasons.items():
            yield CodeExplanation(code, layer, "error", why, source)
    yield from _OTHER_WARNINGS
    yield _OF_TESTS
    yield from map(_of_base, BASE_RULES)
    yield from (_of_rule(rule.about) for rule in RULES)


def _findings() -> Iterator[CodeExplanation]:
    for code, text in FINDINGS.items():
        yield CodeExplanation(code, "rsyslog", "", text.partition(": ")[2], _SOURCE)


def _of_rule(about: About) -> CodeExplanation:
    return CodeExplanation(
        about.code, "lint", about.severity.value, about.why, about.source,
        _settings(about.bad), _settings(about.good),
    )  # fmt: skip


def _of_base(rule: BaseRule) -> CodeExplanation:
    bad, good = (tuple(one.split("\n")) for one in ((*rule.bad, "")[0], (*rule.good, "")[0]))
    return CodeExplanation(
        rule.code, "lint", rule.severity.value, rule.why, rule.source, bad if rule.bad else (),
        good if rule.bad else (),
    )  # fmt: skip


def _settings(changes: Changes) -> tuple[str, ...]:
    """Settings as lines of YAML."""
    return tuple(
        f"{path}: (left out)" if value is None else f"{path}: {json.dumps(value)}"
        for path, value in changes.items()
    )
