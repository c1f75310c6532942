"""Binding files that events are written to: into the lab's own folder, as rsyslogd's own user."""

from __future__ import annotations

from collections.abc import Iterator

from tuner.modules.other_outputs import DynaFile, OmfileOutput

# A lab need not run as root, and runs no program of the profile's.
_LEFT_OUT = (
    "create_dirs", "file_owner", "file_group", "dir_owner", "dir_group", "rotation_size_limit",
    "rotation_size_limit_command",
)  # fmt: skip


def bind_file(output: OmfileOutput, spool: str) -> dict[str, object]:
    """What to replace in an output for files of its own below `spool`."""
    changes: dict[str, object] = dict.fromkeys(_LEFT_OUT)
    if output.dyna_file is None:
        return changes | {"file": f"{spool}/{output.name}.log"}
    inside = output.dyna_file.model_copy(update={"before": f"{spool}/{output.name}/"})
    return changes | {"dyna_file": inside}


def file_rows(
    path: str, written: OmfileOutput, used: OmfileOutput
) -> Iterator[tuple[str, str, str]]:
    """The files and what a lab leaves out, as written and as used, with their paths."""
    yield f"{path}.file", str(written.file), str(used.file)
    yield f"{path}.dynaFile.before", _folder(written.dyna_file), _folder(used.dyna_file)
    for name in _LEFT_OUT:
        key = OmfileOutput.model_fields[name].alias or name
        yield f"{path}.{key}", _text(getattr(written, name)), _text(getattr(used, name))


def _folder(wanted: DynaFile | None) -> str:
    return "none" if wanted is None else wanted.before


def _text(value: object) -> str:
    return "none" if value is None else str(value)
