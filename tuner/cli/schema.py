"""`rsyslog-tune schema`: the JSON Schema of a profile, for editors."""

from __future__ import annotations

from tuner.cli.console import result_json
from tuner.profile.facts import fact_of
from tuner.profile.schema import every_key, json_schema


def schema() -> None:
    """Print the JSON Schema of a profile, for editors that complete and check YAML.

    Write it beside the profile as profile.schema.json, the name in the profile's first line.
    """
    does = {(key.section.__name__, key.name): fact_of(key).does for key in every_key()}
    result_json(json_schema(does))
