"""The keys that a profile may have, read off the model."""

from __future__ import annotations

from typing import get_args

from pydantic import BaseModel

from tuner.profile.model import Profile
from tuner.profile.source import KeyPath

Models = tuple[type[BaseModel], ...]


def models_in(annotation: object) -> Models:
    """The model classes that `annotation` mentions, through unions, tuples and Annotated."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return (annotation,)
    return tuple(model for part in get_args(annotation) for model in models_in(part))


def keys_of(models: Models) -> dict[str, object]:
    """Key, as profiles spell it, to the annotation of its field."""
    return {
        info.alias or name: info.annotation
        for model in models
        for name, info in model.model_fields.items()
    }


def models_at(path: KeyPath) -> Models:
    """The models that can stand at `path`; empty where a plain value stands."""
    models: Models = (Profile,)
    for step in path:
        if isinstance(step, str):
            models = models_in(keys_of(models).get(step))
    return models
