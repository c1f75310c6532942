"""The engine's own ceiling, for people and for programs."""

from __future__ import annotations

from pydantic import TypeAdapter

from tuner.measure.ceiling import Ceiling, Combination
from tuner.report.figures import eps
from tuner.report.sections import Paragraph, PlainBlock, Table

_CEILING = TypeAdapter(Ceiling)


def ceiling_json(ceiling: Ceiling, pipeline_eps: float | None) -> dict[str, object]:
    """All of it, and the share that a pipeline of `pipeline_eps` reaches (None when unknown)."""
    fields: dict[str, object] = _CEILING.dump_python(ceiling, mode="json")
    share = None if pipeline_eps is None else pipeline_eps / ceiling.eps
    return {**fields, "pipeline_eps": pipeline_eps, "share": share}


def ceiling_blocks(ceiling: Ceiling, pipeline_eps: float | None) -> list[PlainBlock]:
    """The ceiling, the share of it that a pipeline of `pipeline_eps` reaches, and all combinations
    that were tried."""
    best = ceiling.best
    clients = f"{best.clients} clients send" if best.clients > 1 else "1 client sends"
    head = (
        f"the engine's own ceiling: {eps(ceiling.eps)} ± {eps(ceiling.eps_se)} EPS when {clients} "
        f"bulks of {best.bulk:,} without rsyslog ({ceiling.engine_cpu_us:.1f} us of engine CPU and "
        f"{ceiling.client_cpu_us:.1f} us of client CPU per event), measured again while others "
        f"took {ceiling.others_cpu:.0%} of the cores"
    )
    blocks: list[PlainBlock] = [Paragraph(head)]
    if pipeline_eps is not None:
        blocks.append(Paragraph(_share_text(ceiling, pipeline_eps)))
    header = ("clients", "documents per bulk", "EPS", "engine us/event", "client us/event",
              "cores taken by others", "remarks")  # fmt: skip
    rows = tuple(_combination_row(one) for one in ceiling.combinations)
    blocks.append(Table("Ceiling", header, rows))
    blocks.append(Paragraph(f"{ceiling.documents:,} different documents were sent repeatedly"))
    return blocks


def _share_text(ceiling: Ceiling, pipeline_eps: float) -> str:
    share = pipeline_eps / ceiling.eps
    text = (
        f"the pipeline reaches {share:.0%} of the engine's own ceiling: {eps(pipeline_eps)} of "
        f"{eps(ceiling.eps)} EPS"
    )
    if share <= 1:
        return text
    return f"{text}; it cannot exceed that, so measure both again on a quiet machine"


def _combination_row(one: Combination) -> tuple[str, ...]:
    what = (str(one.clients), f"{one.bulk:,}")
    if one.invalid is not None:
        return (*what, "-", "-", "-", "-", f"invalid: {one.invalid}")
    return (
        *what,
        f"{eps(one.eps)} ± {eps(one.eps_se)}",
        f"{one.engine_cpu_us:.1f}",
        f"{one.client_cpu_us:.1f}",
        f"{one.others_cpu:.0%}",
        "",
    )
