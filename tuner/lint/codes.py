"""What stands behind each code that a message ends with, for `rsyslog-tune explain RT112`, and
behind each finding about rsyslog that messages name, such as F11."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from tuner.errors import BadUsage
from tuner.lint.lint import BASE_RULES, RULES
from tuner.modules.findings import FINDINGS
from tuner.profile.source import read

_CODE = re.compile(r"RT[0-9]{3}|F[0-9]{1,2}", re.IGNORECASE)
_SOURCE = "rsyslog's source, and tests of 8.2302"
_SEVERITIES = {
    **{rule.code: rule.severity.value for rule in RULES},
    **{rule.code: rule.severity.value for rule in BASE_RULES},
}


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


def is_code(asked: str) -> bool:
    """Whether `asked` is a code rather than a key."""
    return _CODE.fullmatch(asked) is not None


def explain_code(asked: str) -> CodeExplanation:
    """What is known about a rule's code or a finding; raises BadUsage if there is no such one."""
    code = asked.upper()
    if code in FINDINGS:
        return CodeExplanation(code, "rsyslog", "", FINDINGS[code].partition(": ")[2], _SOURCE)
    if code not in _texts():
        raise BadUsage(
            f"there is no rule or finding {code}: a message ends with the code of its rule, RT112; "
            f"findings are F1 to F{len(FINDINGS)}"
        )
    row = code_row(code)
    bad, good = _lines(row.get("bad")), _lines(row.get("good"))
    layer, severity = row.get("layer", "lint"), row.get("severity") or _SEVERITIES[code]
    return CodeExplanation(code, layer, severity, row["why"], row["source"], bad, bad and good)


def explained_codes() -> Iterator[CodeExplanation]:
    """Every code that a message can end with."""
    return map(explain_code, _texts())


def code_row(code: str) -> Mapping[str, Any]:
    """The row of codes.yaml about a code."""
    data = read(_texts()[code], "codes.yaml").data
    return data[code] if isinstance(data, dict) else {}


@cache
def _texts() -> Mapping[str, str]:
    """The text of each row: a row is read alone, as reading all takes a tenth of a second."""
    text = (files("tuner.lint") / "codes.yaml").read_text(encoding="utf-8")
    return {row[:5]: row for row in re.split(r"\n(?=RT[0-9]{3}:)", text)[1:]}


def _lines(example: Mapping[str, object] | list[str] | None) -> tuple[str, ...]:
    """Settings as lines of YAML; of a rule about a base the first of several texts."""
    if isinstance(example, list):
        return tuple(example[0].split("\n")) if example else ()
    return tuple(
        f"{path}: (left out)" if value is None else f"{path}: {json.dumps(value)}"
        for path, value in (example or {}).items()
    )
