"""A small valid profile, to be changed by tests."""

from __future__ import annotations

from collections.abc import Mapping

from tests.shipped import possible, text_at_hand
from tuner.lint.load import parse_profile
from tuner.profile.edit import edit
from tuner.profile.model import Profile

SMALL = """\
name: small
release: {rsyslog: "8.2302", elasticsearch: "8.19"}
inputs:
  - {type: imptcp, port: 10514}
main_queue: {size: 100000, dequeueBatchSize: 1024, workerThreads: 1}
outputs:
  - name: logs
    type: omelasticsearch
    servers: ["http://127.0.0.1:9200"]
    queue:
      type: LinkedList
      size: 50000
      dequeueBatchSize: 2000
      workerThreads: 2
      workerThreadMinimumMessages: 2000
      timeoutEnqueue: 86400000
      timeoutShutdown: 10000
    indexTimeout: 60000
    index: {name: syslog}
"""


def small(changes: Mapping[str, object] | None = None) -> Profile:
    """The small profile with some paths changed."""
    return parse_profile(edit(SMALL, changes or {}), "small.yaml").profile


def at_hand(changes: Mapping[str, object] | None = None) -> Profile:
    """That profile for the rsyslog at hand, with some paths changed, where it is possible."""
    return possible(edit(text_at_hand(SMALL), changes or {}), "small.yaml")
