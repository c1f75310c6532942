"""The sample of traffic that a workload names: what was learnt of a log, or that log itself."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import yaml

from tuner.errors import BadProfile, JobFailed
from tuner.profile.source import MAX_BYTES, Source, at, problem_at, read
from tuner.profile.wording import validated
from tuner.reading import content
from tuner.schema.numerals import counted
from tuner.traffic.learn import learnt
from tuner.traffic.records import records_of
from tuner.traffic.sample import TrafficSample

SAMPLE = ("workload", "sample")
UNUSABLE = "RT020"
_KIND = b"kind: traffic sample"


@dataclass(frozen=True)
class SampleFile:
    """A sample, and the file that it stands in, by its whole path; of a log `text` is what was
    learnt."""

    path: str
    text: str
    sample: TrafficSample

    @property
    def origin(self) -> str:
        """What its first line says that it was learnt from; empty where that is no comment."""
        return origin_of(self.text)


def origin_of(text: str) -> str:
    """What the first line of a sample says that it was learnt from; empty where it says nothing."""
    first = text.partition("\n")[0]
    return first[2:].rstrip(".") if first.startswith("# Learnt from ") else ""


def sample_of(
    source: Source, texts: Iterable[str], recorded: Sequence[tuple[str, str]] | None = None
) -> SampleFile:
    """What the sample says that a profile names, which is read from this machine unless it is
    `recorded` by its whole path; of a log words stay that are in `texts`.  Raises BadProfile."""
    name = str(at(source.data, SAMPLE))
    path = Path(source.file_of(SAMPLE)).parent.absolute() / name
    text = dict(recorded or ()).get(str(path))
    try:
        if text is None:
            text = sample_text(path, texts)
    except JobFailed as failed:
        problem = problem_at(source.file_of(SAMPLE), source.position(SAMPLE), str(failed), UNUSABLE)
        raise BadProfile((*source.problems, problem)) from None
    return SampleFile(str(path), text, read_sample(text, str(path)))


def is_sample(path: Path) -> bool:
    """Whether a file says what was learnt; else it is a log.  Raises OSError."""
    return _KIND in content(path, 4096)


def sample_text(path: Path, texts: Iterable[str] = (), *, verbatim: bool = False) -> str:
    """The YAML of a sample, which a file has, or what is learnt of the log that it holds: words
    that are in `texts` too stay, those that are of the source alone only if it is to be `verbatim`.
    Raises JobFailed."""
    # What cannot be read records_of says.
    with suppress(OSError):
        if is_sample(path):
            raw = content(path, MAX_BYTES + 1)
            if len(raw) > MAX_BYTES:
                raise JobFailed(f"{path} is larger than {MAX_BYTES} bytes: this cannot be a sample")
            return raw.decode("utf-8", "replace")
    origin, records = records_of(path)
    words = {word for text in texts for word in re.findall(r"[A-Za-z][A-Za-z0-9_.-]+", text)}
    words |= {piece for word in words for piece in re.findall(r"[A-Za-z]+", word)}
    sample = learnt(records, words, verbatim=verbatim)
    return written(sample, f"{counted(len(records), 'message')} ({origin})")


def written(sample: TrafficSample, source: str) -> str:
    """A sample as a file, which says what it was learnt from; its rarest templates are left out as
    far as the file would be too long to be read again."""
    templates = sorted(sample.templates, key=lambda template: -template.times)
    while True:
        fitting = sample.model_copy(update={"templates": tuple(templates)})
        data = fitting.model_dump(exclude_none=True, exclude_defaults=True)
        text = f"# Learnt from {source}.\n" + yaml.safe_dump(
            {"kind": sample.kind, **data}, sort_keys=False, allow_unicode=True, width=1 << 20
        )
        if len(text.encode()) <= MAX_BYTES:
            return text
        templates = templates[: len(templates) * 9 // 10]


def read_sample(text: str, name: str) -> TrafficSample:
    """The sample that a text says, named so in problems; raises BadProfile."""
    source = read(text, name)
    sample = validated(
        TrafficSample, source, source.data if isinstance(source.data, Mapping) else {}
    )
    if source.problems:
        raise BadProfile(source.problems)
    return sample
