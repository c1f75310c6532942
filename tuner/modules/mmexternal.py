"""mmexternal: a program of the user's own that changes events."""

from typing import Annotated, ClassVar, Literal

from tuner.modules.step import StreamStep
from tuner.schema.parameter import Doc, parameter
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
    interface_input: Literal["msg", "rawmsg", "fulljson"] | None = parameter(
        "What it reads of an event.", default="msg", alias="interface.input"
    )
    interface_output: Literal["json", "none"] | None = parameter(
        "What it answers: json is a line for each event, none is nothing, and nobody waits.",
        since=2606,
        default="json",
        alias="interface.output",
    )
    response_timeout: NonNegative | None = parameter(
        "Milliseconds that it may take to answer; 0 means any time.",
        "After that it is started anew, and the event goes on unchanged.",
        since=2606,
        default="0",
    )
    output: AbsolutePath | None = parameter("The file for what it writes to stderr, for debugging.")
    force_single_instance: Switch | None = parameter(
        "Whether all workers share one program.", default="off"
    )

    gives_json: ClassVar[bool] = True
    lab_runs: ClassVar[bool] = False
