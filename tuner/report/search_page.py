"""The report of a search as one page of HTML that opens anywhere; a pure function of the study.

It has no scripts and asks for nothing; every text in it that is not our own is escaped by Jinja.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import jinja2

from tuner.lint.load import LoadedProfile, parse_profile
from tuner.measure.measurement import Measurement
from tuner.render.assets import asset_text
from tuner.report.bottleneck import bottleneck_text
from tuner.report.drawing import Plot
from tuner.report.effective import EFFECTIVE_HEADER, effective_lines, effective_rows
from tuner.report.plot_course import cost, course
from tuner.report.plot_effects import effects
from tuner.report.plot_freshness import freshness
from tuner.report.plot_pairs import pairs
from tuner.report.plot_stages import utilisation
from tuner.report.plot_time import time_budget
from tuner.report.search_course import (
    FIXED_HEADER,
    OPEN_LOOP,
    cut_short,
    fixed_rows,
    is_sink,
    opened_guarantees,
)
from tuner.report.search_diff import diffs
from tuner.report.search_explained import EFFECTS_MEANT, OTHERS_MEANT, effect_rows, others
from tuner.report.search_markdown import (
    CHANGES_HEADER,
    PAIRS_HEADER,
    change_rows,
    comparisons,
    kept,
    last_confirmed,
    method,
    not_tested,
    pair_rows,
)
from tuner.report.search_summary import numbers, sentence
from tuner.report.search_time import time_notes
from tuner.report.search_trials import (
    SETTINGS_HEADER,
    TRIALS_HEADER,
    doubts_meant,
    settings_rows,
    trial_rows,
)
from tuner.report.shown import shown
from tuner.search.explain import Explained, explain
from tuner.search.study import Phase, Study
from tuner.search.times import times
from tuner.search.verdict import Claim, Verdict, judge
from tuner.space.knobs import Knob, knobs

# What keeps the page of a search of days below a megabyte.
_MOST_ROWS = 250
_TEMPLATE = "report.html.j2"
_STYLE = "report.css"
_CODE = re.compile("`([^`]+)`")
_NUMERIC = re.compile(r"[-+±]?[\d.,]+( ± [\d.,]+)?( ?(%|s|EPS|us))?|\d+ min \d+ s|-|")
_EFFECTS_HEADER = ("setting, as written -> changed to", "effect", "how known")


@dataclass(frozen=True)
class Listing:
    """A table: its head, and rows of texts."""

    header: tuple[str, ...]
    rows: Sequence[tuple[object, ...]]


@dataclass(frozen=True)
class Limit:
    """What limits one side, by its last confirming run."""

    name: str
    bottleneck: list[str]
    lines: list[str]
    used: Listing


def page(study: Study) -> str:
    """The whole page; the same bytes for the same study."""
    verdict = judge(study)
    found = explain(study, verdict)
    style = asset_text("templates", _STYLE)
    return (
        _environment()
        .get_template(_TEMPLATE)
        .render(
            study=study,
            verdict=verdict,
            style=style,
            style_hash=_hash(style),
            plots=_plots(study, verdict, found),
            **_claimed(study, verdict, found),
            **_beside(study),
        )
    )


def _plots(study: Study, verdict: Verdict, found: Explained) -> dict[str, Plot]:
    plots = (
        pairs(study, verdict),
        freshness(study, verdict),
        effects(study, found),
        cost(study),
        utilisation(study),
        course(study),
        time_budget(study),
    )
    return {plot.name: plot for plot in plots if plot is not None}


def _claimed(study: Study, verdict: Verdict, found: Explained) -> dict[str, object]:
    """What the study shows, and what shows it."""
    known, current = _known(study), {axis.path: axis.current for axis in study.header.space}
    points = settings_rows(study, known)
    return {
        "improved": verdict.claim is Claim.IMPROVED,
        "sentence": sentence(study, verdict),
        "numbers": numbers(study, verdict),
        "changes": Listing(CHANGES_HEADER, change_rows(verdict, known)),
        "pairs": Listing(PAIRS_HEADER, pair_rows(study)),
        "comparisons": comparisons(study, verdict),
        "effects": Listing(_EFFECTS_HEADER, effect_rows(found, current)),
        "effects_meant": EFFECTS_MEANT,
        "others_meant": OTHERS_MEANT,
        "others": others(found),
        "diffs": diffs(_written(study), verdict.changes),
        "settings": Listing(SETTINGS_HEADER, points[-_MOST_ROWS:]),
        "settings_in_all": len(points),
        "searched": bool(study.of(Phase.SEARCH)),
    }


def _beside(study: Study) -> dict[str, object]:
    """What the study tells beside its claim."""
    profile = _written(study).profile
    return {
        "profile": profile,
        "is_sink": is_sink(study),
        "opened": opened_guarantees(study, profile),
        "cut_short": cut_short(study),
        "fixed": Listing(FIXED_HEADER, fixed_rows(study)),
        "open_loop": OPEN_LOOP,
        "limits": [_limit(name, run) for name, run in last_confirmed(study)],
        "kept": kept(study, profile),
        "not_tested": not_tested(study),
        "time_notes": time_notes(times(study), study.header.budget_s),
        "trials": Listing(TRIALS_HEADER, trial_rows(study)[-_MOST_ROWS:]),
        "doubts": doubts_meant(study),
        "method": method(study),
    }


def _written(study: Study) -> LoadedProfile:
    header = study.header
    return parse_profile(header.profile_text, header.profile_path, header.profile_layers)


def _known(study: Study) -> dict[str, Knob]:
    profile = _written(study).profile
    return {knob.path: knob for knob in knobs(profile, study.header.options.allow)}


def _limit(name: str, run: Measurement) -> Limit:
    found = [] if run.verdict is None else bottleneck_text(run.verdict).splitlines()
    rows = [] if run.effective is None else list(effective_rows(run.effective))
    return Limit(name, found, effective_lines(run), Listing(EFFECTIVE_HEADER, rows))


def _hash(style: str) -> str:
    """The source of a style element that a Content-Security-Policy names (CSP 3, section 2.3.1)."""
    return f"sha256-{base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()}"


def _plain(value: object) -> object:
    """What Jinja writes: text of others steers nothing; Jinja escapes it afterwards."""
    return value if not isinstance(value, str) or hasattr(value, "__html__") else shown(value)


def _coded(text: str) -> list[str]:
    """`text` cut at what stands between backticks: each second part is code.  An arrow is one
    character, because lines are broken after a hyphen."""
    return _CODE.split(text.replace(" -> ", " \N{RIGHTWARDS ARROW} "))


def _numeric(listing: Listing) -> tuple[bool, ...]:
    """Which columns hold nothing but numbers."""
    return tuple(
        all(isinstance(cell, str) and _NUMERIC.fullmatch(cell) is not None for cell in column)
        for column in zip(*listing.rows, strict=True)
    )


@cache
def _environment() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FunctionLoader(lambda name: asset_text("templates", name)),
        undefined=jinja2.StrictUndefined,
        finalize=_plain,
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters |= {"coded": _coded, "numeric": _numeric}
    return environment
