"""The templates of one output: its documents or lines, and what names indices, ids and files."""

from __future__ import annotations

from dataclasses import dataclass

from tuner.modules.omfile import OmfileOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.output import Lines
from tuner.modules.registry import AnyOutput, Parse
from tuner.profile.documents import fields_of
from tuner.profile.model import Profile
from tuner.render.addresses import document_id, file_name, index_name, pipeline_name, rest_path
from tuner.render.document import Identity, document, labelled, line
from tuner.render.field_text import Property
from tuner.render.steps import Piece, Step, Steps


@dataclass(frozen=True)
class OutputTemplates:
    """The templates of one output: of files' names, paths at a server, documents or lines and the
    steps before them, index names, ids and pipelines."""

    name: str
    file: tuple[Piece, ...] = ()
    path: tuple[Piece, ...] = ()
    document: tuple[Piece, ...] = ()
    line: tuple[Piece, ...] = ()
    index: tuple[Piece, ...] = ()
    id: Property | None = None
    pipeline: Property | None = None
    retries: bool = False
    steps: tuple[Step, ...] = ()


def output_templates(
    profile: Profile, output: AnyOutput, identity: Identity | None
) -> OutputTemplates:
    """The templates of an output; an identity is for measurements only."""
    fields, parse = fields_of(output), profile.stream(output.stream).parse
    # A newline after each document of a bulk would pair their replies wrongly (F5).
    end = "\n" if isinstance(output, Lines) and output.ends_lines else ""
    steps = Steps.of_output(output.name)
    pieces = document(fields, parse, identity, end, steps) if fields else ()
    if isinstance(output, OmhttpOutput):
        return _over_http(output, parse, pieces, steps)
    if isinstance(output, Lines):
        dyna_file = output.dyna_file if isinstance(output, OmfileOutput) else None
        return OutputTemplates(
            name=output.name,
            file=file_name(dyna_file) if dyna_file is not None else (),
            document=pieces,
            line=line(output.line, parse, end) if output.line is not None else (),
            steps=steps.taken,
        )
    return OutputTemplates(
        name=output.name,
        document=pieces,
        index=index_name(output.index, steps) if output.index.varies else (),
        id=document_id(output.bulkid, steps) if output.has_ids else None,
        pipeline=pipeline_name(output.pipeline_name or "") if output.dyn_pipeline_name else None,
        retries=output.retryfailures is not None,
        steps=steps.taken,
    )


def _over_http(
    output: OmhttpOutput, parse: Parse | None, pieces: tuple[Piece, ...], steps: Steps
) -> OutputTemplates:
    """Events with what their server expects around them."""
    if output.bulk is not None:
        # A request must end in a newline, and omhttp writes none after the last document.
        pieces = (f'{{"{output.bulk}":{{}}}}\n', *pieces, "\n")
    text: tuple[Piece, ...] = ()
    if output.labels is not None:
        labels = document(output.labels, parse, None, "", steps)
        text = labelled(labels, output.line or (), parse, steps)
    elif output.line is not None:
        text = line(output.line, parse, "")
    path = () if output.dynrestpath is None else rest_path(output.dynrestpath, steps)
    return OutputTemplates(
        name=output.name, path=path, document=pieces, line=text, steps=steps.taken
    )
