"""Batches against what nodes take, where the profile writes them."""

from __future__ import annotations

from tests.profile.examples import SMALL
from tuner.engine.status import EngineLimits
from tuner.errors import Severity
from tuner.lint.load import parse_profile
from tuner.validate.engine import request_problems
from tuner.validate.layers import Layer, accepting

LOADED = parse_profile(SMALL, "small.yaml")
# 2000 events of 244 bytes, twice that as documents, from two workers.
BULK = 2000 * 244 * 2


def test_what_fits_is_no_problem() -> None:
    assert not [*request_problems(LOADED, EngineLimits(BULK, 2 * BULK))]
    assert not [*request_problems(LOADED, EngineLimits(None, None))]


def test_a_bulk_above_max_content_length() -> None:
    (one,) = request_problems(LOADED, EngineLimits(BULK - 1, None))
    assert (one.code, one.severity, one.line) == ("RT506", Severity.ERROR, 13)
    assert "use at most 1999" in one.message


def test_bulks_above_the_indexing_pressure_are_worth_a_warning() -> None:
    (one,) = request_problems(LOADED, EngineLimits(None, 2 * BULK - 1))
    assert (one.code, one.severity) == ("RT507", Severity.WARNING)
    assert "use at most 1999" in one.message


def test_one_bulk_above_it_is_refused_always() -> None:
    (one,) = request_problems(LOADED, EngineLimits(None, BULK - 1))
    assert (one.code, one.severity) == ("RT507", Severity.ERROR)


def test_a_warning_of_any_layer_can_be_accepted_and_no_error_can() -> None:
    loaded = LOADED.with_text(f"{SMALL}lint: {{accept: {{RT507: we retry}}}}\n")
    assert not loaded.warnings
    warned = Layer(
        "engine", True, problems=tuple(request_problems(loaded, EngineLimits(None, 2 * BULK - 1)))
    )
    accepted = accepting(loaded.profile, warned)
    assert (accepted.problems, accepted.notes) == ((), ("accepted: RT507 (we retry)",))
    refused = Layer(
        "engine", False, problems=tuple(request_problems(loaded, EngineLimits(None, BULK - 1)))
    )
    assert accepting(loaded.profile, refused) == refused


def test_maxbytes_splits_requests() -> None:
    loaded = LOADED.with_text(SMALL.replace("indexTimeout", "maxbytes: 500k\n    indexTimeout"))
    assert not [*request_problems(loaded, EngineLimits(512_000, None))]
