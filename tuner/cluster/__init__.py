"""Several machines on Dask: a scheduler here, a worker on each, and what they do together."""

from importlib.util import find_spec

from tuner.errors import ProgramMissing

if find_spec("distributed") is None:
    raise ProgramMissing(
        "distributed is not installed: run pip install '.[cluster]' in a checkout of rsyslog-tune"
    )
