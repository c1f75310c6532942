"""The report of a search for programs; a pure function of the study."""

from __future__ import annotations

import json

from pydantic import TypeAdapter

from tuner.search.explain import Explained, explain
from tuner.search.study import SCHEMA, Study
from tuner.search.times import Times, times
from tuner.search.verdict import Verdict, judge

_STUDY = TypeAdapter(Study)
_VERDICT = TypeAdapter(Verdict)
_EXPLAINED = TypeAdapter(Explained)
_TIMES = TypeAdapter(Times)


def report(study: Study) -> dict[str, object]:
    """The verdict with what explains it, the time and every trial, under a schema number that grows
    when the shape changes."""
    verdict = judge(study)
    return {
        "schema": SCHEMA,
        "kind": "search",
        "verdict": _VERDICT.dump_python(verdict, mode="json"),
        "explained": _EXPLAINED.dump_python(explain(study, verdict), mode="json"),
        "times": _TIMES.dump_python(times(study), mode="json"),
        "study": _STUDY.dump_python(study, mode="json"),
    }


def report_text(study: Study) -> str:
    """The report as indented JSON text."""
    return json.dumps(report(study), indent=2) + "\n"
