"""omprog: a program of the user's own.

None means not set in the profile: rsyslog's default applies.
"""

from collections.abc import Iterator
from typing import Annotated, ClassVar, Literal, Self

from pydantic import model_validator

from tuner.modules.in_profile import InProfile
from tuner.modules.output import EXAMPLE_QUEUE, BuiltinTemplate, Lines
from tuner.rule import Changes, Complaint, loss, warning
from tuner.schema.parameter import Doc, parameter
from tuner.schema.scalars import AbsolutePath, FileMode, Line, NonNegative, Switch


class OmprogOutput(Lines):
    """omprog: a program of your own that reads events from its stdin, one a line.  Times in
    milliseconds."""

    type: Annotated[
        Literal["omprog"],
        Doc(
            "A program of your own that reads events, one a line.",
            traps=("No lab runs it: measurements are those of the pipeline without.",),
        ),
    ]
    binary: Annotated[
        AbsolutePath, Doc("The program, an absolute path, with its arguments after a blank.")
    ]
    confirm_messages: Switch | None = parameter(
        "Whether the program answers each event, and its start, with a line: OK, or anything "
        "else, and the event is sent again later.",
        "If off, what the program could not do is lost.",
        "From 8.2508 an event that is refused twice in a row brings its whole batch again.",
        default="off",
    )
    confirm_timeout: NonNegative | None = parameter(
        "How long an answer may take before the program is started anew.", default="10000"
    )
    report_failures: Switch | None = parameter(
        "Whether rsyslog logs each answer that is not OK.", default="off"
    )
    use_transactions: Switch | None = parameter(
        "Whether a line stands before and after each batch; confirmed at its end, with "
        "DEFER_COMMIT as the answer to each event.",
        default="off",
    )
    begin_transaction_mark: Line | None = parameter(
        "The line before a batch.", default="BEGIN TRANSACTION"
    )
    commit_transaction_mark: Line | None = parameter(
        "The line after a batch.", default="COMMIT TRANSACTION"
    )
    force_single_instance: Switch | None = parameter(
        "Whether all workers share one program.", default="off: one for each worker"
    )
    hup_signal: Literal["HUP", "USR1", "USR2", "INT", "TERM"] | None = parameter(
        "The signal that the program gets when rsyslogd gets a HUP.",
        default="none",
        alias="hup.signal",
    )
    signal_on_close: Switch | None = parameter(
        "Whether the program gets SIGTERM when rsyslogd stops.", default="off: its input ends"
    )
    close_timeout: NonNegative | None = parameter(
        "How long the program may take to end.", default="5000"
    )
    kill_unresponsive: Switch | None = parameter(
        "Whether it is killed after that.", default="what signalOnClose says"
    )
    output: AbsolutePath | None = parameter(
        "The file for what it prints; with confirmMessages to stderr only.", default="none"
    )
    file_create_mode: FileMode | None = parameter(
        "The mode of that file, in octal.", default='"0600"'
    )

    @model_validator(mode="after")
    def _mode_of_a_file(self) -> Self:
        if self.file_create_mode is not None and self.output is None:
            raise ValueError("fileCreateMode is for the file of output: add output")
        return self

    own_format: ClassVar[BuiltinTemplate] = "RSYSLOG_FileFormat"
    ends_lines: ClassVar[bool] = True


_SENDS_BATCH_AGAIN = 2508
# For examples: a program with a queue that no rule complains of.
_PROGRAM: Changes = {
    "name": "alert", "type": "omprog", "binary": "/usr/local/bin/alert", "queue": EXAMPLE_QUEUE,
}  # fmt: skip


@loss(
    "RT278",
    why="The marks of transactions tell the program where a batch ends; without confirmMessages it "
    "cannot say that the batch failed.",
    source="rsyslog's manual: omprog, useTransactions",
    bad={"outputs": [{**_PROGRAM, "useTransactions": True}]},
    good={"outputs[alert].confirmMessages": True},
    at="outputs[alert].useTransactions",
)
def _nobody_answers(asked: InProfile[OmprogOutput]) -> Iterator[Complaint]:
    if asked.section.use_transactions and not asked.section.confirm_messages:
        yield Complaint(
            ("useTransactions",),
            "nobody says whether a batch was done: what the program could not do is lost; "
            "add confirmMessages: on, and have the program answer",
        )


@warning(
    "RT279",
    why=f"From 8.{_SENDS_BATCH_AGAIN} rsyslog tries an event that the program refuses once more, "
    "and then sends all of its batch again: of 600 events, one refused twice, 100 came twice.",
    source="rsyslog action.c, doTransaction; seen on 8.2610",
    bad={
        "release.rsyslog": f"8.{_SENDS_BATCH_AGAIN}",
        "outputs": [{**_PROGRAM, "confirmMessages": True}],
    },
    good={"outputs[alert].queue.dequeueBatchSize": 1},
    at="outputs[alert].confirmMessages",
)
def _batch_again(asked: InProfile[OmprogOutput]) -> Iterator[Complaint]:
    output, release = asked.section, asked.release.rsyslog_number
    alone = output.queue is not None and output.queue.dequeue_batch_size == 1
    if release < _SENDS_BATCH_AGAIN or not output.confirm_messages:
        return
    if not output.use_transactions and not alone:
        yield Complaint(
            ("confirmMessages",),
            "when the program refuses an event twice in a row, it gets all events of the batch "
            "again, those that it has confirmed too: give the output a queue with "
            "dequeueBatchSize: 1, or set useTransactions and have the program keep a batch only "
            "at its end",
        )
