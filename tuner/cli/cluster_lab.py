"""The lab on a machine of a cluster: a process that opens it as the commands here do, and measures
what it is asked to, until its input ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tuner.cli.options import EngineChoice
from tuner.cli.place import Wanted, facts_of, open_lab, pace_of, prepare, trials_in
from tuner.cluster.access import joined
from tuner.cluster.loads import loads_of
from tuner.cluster.messages import (
    QUESTIONS,
    REPLIES,
    CeilingFound,
    Failed,
    MeasureCeiling,
    Opened,
    OpenLab,
    Prepared,
    Question,
    RunTrial,
    TrialEnded,
    profile_of,
)
from tuner.errors import Interrupted, JobFailed, TuneError, of_the_system
from tuner.host.lock import measuring, state_folder
from tuner.host.signals import end_orderly
from tuner.measure.measurement import Failure
from tuner.render.templates import Templates
from tuner.search.farm import Lost


def main() -> None:
    """Answer one question after the other: the first opens the lab, each other measures in it."""
    end_orderly()
    questions: queue.SimpleQueue[Question] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    try:
        _serve(questions)
    except TuneError as error:
        REPLIES.say(Failed.from_error(error))
    except OSError as error:
        REPLIES.say(Failed.from_error(of_the_system(error)))
    except Interrupted as end:
        sys.exit(end.exit_code)


def _listen(questions: queue.SimpleQueue[Question]) -> None:
    """Whoever asked may be gone in the middle of a trial, or say what is not understood: the lab
    ends in order then."""
    try:
        for question in QUESTIONS.received():
            questions.put(question)
    except TuneError as error:
        REPLIES.say(Failed.from_error(error))
    os.kill(os.getpid(), signal.SIGTERM)


def _serve(questions: queue.SimpleQueue[Question]) -> None:
    request = questions.get()
    if not isinstance(request, OpenLab):
        raise JobFailed("no lab is open")
    # Before what takes a while, though the lab holds it only then.
    with measuring("rsyslog-tune"):
        pass
    engine = EngineChoice(request.engine)
    pace = pace_of(engine)
    profiles = [profile_of(one) for one in (request.profile, *request.beside)]
    span = request.span
    with ExitStack() as opened:
        templates = opened.enter_context(_site_templates(request.templates))
        wanted = Wanted(engine, request.url, templates)
        loads = None
        if span is not None:
            client = opened.enter_context(joined(span.scheduler, span.certificate))
            loads = opened.enter_context(loads_of(client))
            loads.require_allowed([span.address])
        downloads_s = prepare(wanted, profiles, _tell)
        REPLIES.say(Prepared())
        questions.get()
        lab = opened.enter_context(open_lab(wanted, profiles[0], state_folder(), _tell))
        if span is not None and loads is not None:
            lab = replace(lab, address=span.address, loads=loads.alive)
        REPLIES.say(Opened(facts_of(lab, profiles, request.allow), downloads_s))
        trials = trials_in(lab, profiles[0], pace)
        while isinstance(question := questions.get(), RunTrial | MeasureCeiling):
            profile = profile_of(question.profile)
            if loads is not None:
                loads.await_one()
            if isinstance(question, RunTrial):
                # Runs with other load hosts than those before are no pair with them.
                changed = None if loads is None else loads.change()
                if changed is None:
                    asked = question.asked
                    outcome = trials.trial(profile, asked.plan, asked.per_second, asked.name, _tell)
                    if loads is not None and isinstance(outcome, Failure):
                        changed = loads.change()
                REPLIES.say(TrialEnded(outcome if changed is None else Lost(changed)))
            else:
                REPLIES.say(CeilingFound(trials.ceiling(profile, _tell)))


@contextmanager
def _site_templates(texts: Mapping[str, str]) -> Iterator[Templates | None]:
    """A site's templates, in a folder of their own; None for the shipped ones alone."""
    if not texts:
        yield None
        return
    with TemporaryDirectory() as folder:
        for name, text in texts.items():
            path = Path(folder, name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        yield Templates(Path(folder))


def _tell(text: str) -> None:
    sys.stderr.write(f"{time.strftime('%H:%M:%S')} {text}\n")


if __name__ == "__main__":
    main()
