"""Where templates and shipped profiles are: in the wheel, else in the checkout."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from pathlib import Path

from tuner.errors import ProgramMissing


def asset(folder: str, name: str) -> Traversable:
    """The file `name` of `folder`, which is `templates` or `profiles`."""
    if not has_asset(folder, name):
        raise ProgramMissing(f"{folder}/{name} is missing: install rsyslog-tune again")
    return asset_folder(folder) / name


def has_asset(folder: str, name: str) -> bool:
    """Whether `folder` has a file `name`."""
    return (asset_folder(folder) / name).is_file()


def asset_text(folder: str, name: str) -> str:
    """The text of an asset."""
    return asset(folder, name).read_text(encoding="utf-8")


@cache
def asset_folder(folder: str) -> Traversable:
    """Where the assets of a folder lie: in the package, or beside it in a checkout."""
    packed = files("tuner") / "_assets" / folder
    return packed if packed.is_dir() else Path(__file__).parents[2] / folder
