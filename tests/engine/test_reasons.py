"""An engine's refusal of a template, taken apart: as Elasticsearch and OpenSearch word it."""

from __future__ import annotations

from tuner.engine.installed import Reason, reasons

THREE = (
    "index_template [simulate_index_template_kzq2ikpmqggjbrzslfqtxa] invalid, cause [Validation "
    "Failed: 1: unknown value for [index.codec] must be one of [default, best_compression] but "
    "was: zstd;2: failed to parse setting [index.refresh_interval] with value [xx] as a time "
    "value: unit is missing or unrecognized;3: unknown setting [index.nope] did you mean any of "
    "[index.mode, index.codec]?;]"
)
OPENSEARCH = (
    "index_template [simulate_index_template_x] invalid, cause [Validation Failed: 1: unknown "
    "setting [index.nope] did you mean [index.codec]?;2: expected [index.nope] to be private but "
    "it was not;]"
)
MAPPING = (
    "composable template [simulate_index_template_g1rc] template after composition is invalid: "
    "Failed to parse mapping: No handler for type [match_only_text] declared on field [message]"
)


def test_each_reason_names_its_setting() -> None:
    found = reasons(THREE)
    assert [one.setting for one in found] == ["codec", "refresh_interval", "nope"]
    assert found[0].text == (
        "unknown value for [index.codec] must be one of [default, best_compression] but was: zstd"
    )
    assert found[2].text == (
        "unknown setting [index.nope] did you mean any of [index.mode, index.codec]?"
    )


def test_what_opensearch_adds_is_left_out() -> None:
    assert [one.setting for one in reasons(OPENSEARCH)] == ["nope"]


def test_a_mapping_names_its_field_and_not_our_own_template() -> None:
    assert reasons(MAPPING) == (
        Reason(
            "Failed to parse mapping: No handler for type [match_only_text] declared on field "
            "[message]",
            None,
            "message",
        ),
    )


def test_the_name_of_a_trial_means_nothing_to_anybody() -> None:
    said = "index template [simulate_index_template_6sr6] has index patterns [syslog] matching"
    assert reasons(said)[0].text == "index template [ours] has index patterns [syslog] matching"


def test_a_reason_without_any_name_is_told_as_it_is() -> None:
    assert reasons("something\nelse") == (Reason("something else", None, None),)
