"""mmexternal: a program of the user's own that changes events."""

from typing import Annotated, ClassVar, Literal

from pydantic import Field

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import AbsolutePath, NonNegative, Switch


class MmexternalStep(StreamStep):
    """mmexternal: a program of your own reads each event, a line on its stdin, and answers with a
    line of JSON: properties with their new values, and `$!` with members for the event's JSON."""

    type: Annotated[
        Literal["mmexternal"],
        Doc(
            "A program of your own that changes events.",
            traps=(
                "Each event waits for its answer: it must read and answer line by line.",
                "Every worker starts one, unless forceSingleInstance is on.",
            ),
        ),
    ]
    binary: Annotated[
        AbsolutePath, Doc("The program, an absolute path, with its arguments after a blank.")
    ]
    interface_input: Annotated[
        Literal["msg", "rawmsg", "fulljson"] | None,
        Doc("What it reads of an event.", default="msg"),
    ] = Field(None, alias="interface.input")
    interface_output: Annotated[
        Literal["json", "none"] | None,
        Since(2606),
        Doc(
            "What it answers: json is a line for each event, none is nothing, and nobody waits.",
            default="json",
        ),
    ] = Field(None, alias="interface.output")
    response_timeout: Annotated[
        NonNegative | None,
        Since(2606),
        Doc(
            "Milliseconds that it may take to answer; 0 means any time.",
            default="0",
            traps=("After that it is started anew, and the event goes on unchanged.",),
        ),
    ] = None
    output: Annotated[
        AbsolutePath | None, Doc("The file for what it writes to stderr, for debugging.")
    ] = None
    force_single_instance: Annotated[
        Switch | None, Doc("Whether all workers share one program.", default="off")
    ] = None

    gives_json: ClassVar[bool] = True
    lab_runs: ClassVar[bool] = False
