"""The bottleneck of a measurement, for people."""

from __future__ import annotations

from tuner.measure.bottleneck import Bottleneck, Verdict

_SENTENCES = {
    Bottleneck.REJECTIONS: "the engine rejected bulks, so the rate was set by waiting and trying "
    "again: send fewer or smaller bulks at a time, or give it a larger write queue",
    Bottleneck.SENDER: "the sender set the rate, rsyslog and the engine had time to spare: "
    "nothing is known of what they can carry",
    Bottleneck.MERGES: "the engine held indexing back until its merges caught up: make fewer, "
    "larger segments, or give merges more threads",
    Bottleneck.DISK: "the disk set the rate: make fewer, larger writes, or use a faster disk",
    Bottleneck.ACTION_CPU: "rsyslog's action workers set the rate with their own work of building "
    "bulks and reading replies: make an event cheaper for them, or run more of them",
    Bottleneck.MAIN_WORKER: "the workers of rsyslog's main queue set the rate: one of them parses "
    "and hands over every event",
    Bottleneck.INPUT: "rsyslog's input set the rate: its threads took events more slowly than the "
    "rest could pass on",
    Bottleneck.ENGINE_CPU: "the engine's CPU set the rate: make an event cheaper to index, or give "
    "the engine more cores",
    Bottleneck.MACHINE_CPU: "the cores of this machine set the rate, shared by all parts: whatever "
    "makes an event cheaper anywhere raises it",
    Bottleneck.ACTION_WAITING: "rsyslog's action workers waited for the engine, which had CPU to "
    "spare: run more of them, or send larger bulks",
    Bottleneck.UNCLEAR: "no stage shows that it set the rate",
}


def bottleneck_text(verdict: Verdict) -> str:
    """One sentence, the figures that show it, and the settings that can help; a line for each."""
    lines = [f"bottleneck: {verdict.bottleneck.value}: {_SENTENCES[verdict.bottleneck]}"]
    lines += [f"  {name}: {text}" for name, text in verdict.figures]
    if verdict.knobs:
        lines.append(f"  settings that can help: {', '.join(verdict.knobs)}")
    return "\n".join(lines)
