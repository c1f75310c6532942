"""Binding files that events are written to: into the lab's own folder, as rsyslogd's own user."""

from __future__ import annotations

from tuner.modules.other_outputs import OmfileOutput

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
