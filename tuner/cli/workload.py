"""`rsyslog-tune workload`: learn from a log what traffic is like."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from tuner.cli.console import say, working
from tuner.cli.layout import print_blocks
from tuner.cli.usage.traffic import WorkloadArguments
from tuner.errors import Refused
from tuner.profile.sample import is_sample, origin_of, read_sample, sample_text
from tuner.reading import required_content
from tuner.report.traffic import traffic_blocks
from tuner.script.configuration import MAX_BYTES, configuration
from tuner.script.tokens import SURROGATES
from tuner.writing import require_writable, write_whole


def workload(options: WorkloadArguments) -> None:
    """Carry out `rsyslog-tune workload`."""
    log, file = options.log, options.sample
    if file is not None:
        require_writable(file)
        if file.exists() and not is_sample(file):
            raise Refused(f"{file} exists and is no sample: name another file, or move it")
    texts = [text for path in options.conf or () for text in _texts(path)]
    with working(f"learning from {log}"):
        text = sample_text(log, texts, verbatim=options.verbatim)
        sample = read_sample(text, str(log))
    if origin := origin_of(text):
        say(origin)
    if file is not None:
        write_whole(file, text)
    data = {"schema": 1, "kind": "workload", "sample": sample.model_dump(mode="json")}
    print_blocks(options.output, data, traffic_blocks(sample))
    if file is not None:
        say(f"wrote {file}: name it as workload.sample in a profile")


def _texts(path: Path) -> Iterator[str]:
    """The texts of a configuration and of what it includes, as far as they can be read."""
    first = required_content(path, MAX_BYTES)
    sources = configuration(path).sources
    for raw in (first, *(raw for name, raw in sources.items() if name != str(path))):
        yield raw.decode("utf-8", SURROGATES)
