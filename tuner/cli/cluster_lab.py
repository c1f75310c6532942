"""The lab on a machine of a cluster: a process that opens it as the commands here do, and measures
what it is asked to, until its input ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time

from tuner.cli.options import EngineChoice
from tuner.cli.runs import pace_of
from tuner.cli.search_lab import ceiling_in, facts_of, measuring_in
from tuner.cli.site import Wanted, open_lab, prepare
from tuner.cluster.messages import (
    CeilingFound,
    Failed,
    Opened,
    OpenLab,
    Question,
    Reply,
    RunTrial,
    TrialEnded,
    profile_of,
    question_of,
    reply_line,
)
from tuner.errors import Interrupted, JobFailed, TuneError, of_the_system
from tuner.host.lock import state_folder
from tuner.host.signals import end_orderly


def main() -> None:
    """Answer one question after the other: the first opens the lab, each other measures in it."""
    end_orderly()
    questions: queue.SimpleQueue[Question] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    try:
        _serve(questions)
    except TuneError as error:
        _reply(Failed.of(error))
    except OSError as error:
        _reply(Failed.of(of_the_system(error)))
    except Interrupted as end:
        sys.exit(end.exit_code)


def _listen(questions: queue.SimpleQueue[Question]) -> None:
    """Whoever asked may be gone in the middle of a trial: the lab ends in order then."""
    for line in sys.stdin.buffer:
        questions.put(question_of(line))
    os.kill(os.getpid(), signal.SIGTERM)


def _serve(questions: queue.SimpleQueue[Question]) -> None:
    request = questions.get()
    if not isinstance(request, OpenLab):
        raise JobFailed("no lab is open")
    engine, pace = EngineChoice(request.engine), pace_of(EngineChoice(request.engine))
    profiles = [profile_of(one) for one in (request.profile, *request.beside)]
    wanted = Wanted(engine, None)
    downloads_s = prepare(wanted, profiles, _tell)
    with open_lab(wanted, profiles[0], state_folder(), _tell) as lab:
        _reply(Opened(facts_of(lab, profiles, request.allow), downloads_s))
        measure = measuring_in(lab, profiles[0], pace)
        while not isinstance(question := questions.get(), OpenLab):
            profile = profile_of(question.profile)
            if isinstance(question, RunTrial):
                _reply(TrialEnded(measure(question.asked, profile, _tell)))
            else:
                _reply(CeilingFound(ceiling_in(lab, profile, pace, _tell)))


def _reply(reply: Reply) -> None:
    sys.stdout.buffer.write(reply_line(reply))
    sys.stdout.buffer.flush()


def _tell(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
