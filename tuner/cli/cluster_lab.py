"""The labs of a cluster as the place where a command measures: one on each machine of a farm, or on
the collector of a span; and the process that each is, which opens it as the commands here do and
measures what it is asked to, until its input ends."""

from __future__ import annotations

import os
import queue
import signal
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

from tuner.cli.cluster import cluster_that_is_up
from tuner.cli.console import Verbosity
from tuner.cli.options import EngineChoice
from tuner.cli.place import LabSpec, facts_of, open_lab, pace_of, prepare, trials_in
from tuner.cluster import messages
from tuner.cluster.access import connected, joined, require_comparable
from tuner.cluster.farm import dask_farm, span_of
from tuner.cluster.load import hosts_of
from tuner.cluster.loads import loads_of
from tuner.cluster.messages import REPLIES
from tuner.deploy.inventory import Role
from tuner.errors import BadUsage, Interrupted, JobFailed, Refused, TuneError, of_the_system
from tuner.flood.spec import Transport
from tuner.host.lock import measuring, state_folder
from tuner.host.signals import install_handlers
from tuner.lab.lab import new_run_id
from tuner.lab.loads import LoadHost
from tuner.measure.measurement import Failure
from tuner.profile.model import Profile
from tuner.render.templates import Templates
from tuner.search.farm import AND, Lost, MeasuringPlace
from tuner.search.study import LabFacts

_LAB = "tuner.cli.cluster_lab"


@contextmanager
def labs_of_cluster(
    spec: LabSpec, profiles: Sequence[Profile], allow: Sequence[str], verbosity: Verbosity
) -> Iterator[MeasuringPlace]:
    """Labs for these profiles, gone afterwards; the first decides what they are.  Raises JobFailed
    without a cluster, Refused where its machines do not compare, BadUsage where each has an engine
    of its own and another one is wanted."""
    cluster = cluster_that_is_up()
    with connected(cluster.address, cluster.certificate) as client:
        require_comparable(client)
        span = span_of(client, cluster.certificate)
        if span is None and spec.url is not None:
            raise BadUsage("each machine of the role lab has its own engine: no --elasticsearch")
        role = Role.LAB if span is None else Role.COLLECTOR
        with dask_farm(client, _LAB, role) as farm:
            first, *beside = map(messages.profile_json, profiles)
            request = messages.OpenLab(
                spec.engine.value, first, tuple(allow), tuple(beside), span, spec.url,
                {} if spec.templates is None else spec.templates.files,
            )  # fmt: skip
            names = ", ".join(farm.machines)
            where = f"each of {names}" if span is None else f"{names}, with {_loads(span)}"
            with verbosity.working(f"starting a lab on {where}"):
                opened = farm.open(request, verbosity.say)
            yield MeasuringPlace(
                _facts(opened, span),
                new_run_id(),
                lambda _: farm,
                lambda _: None,
                lambda machine, profile, _: farm.ceiling(machine, profile),
                max(lab.downloads_s for lab in opened.values()),
            )


def _loads(span: messages.SpanOver) -> str:
    return f"load from {', '.join(span.loads)}"


def _facts(opened: Mapping[str, messages.Opened], span: messages.SpanOver | None) -> LabFacts:
    """What all labs are, on machines that may differ, or the one on the collector of a span."""
    labs = {name: lab.facts for name, lab in opened.items()}
    first, facts = next(iter(labs.items()))
    if span is not None:
        return replace(facts, machine=f"{first}, with {_loads(span)}: {facts.machine}")
    for name, other in labs.items():
        apart = facts.fingerprint.apart(other.fingerprint)
        wrong = [f"{part} {b}, {first} has {a}" for part, a, b in apart if part != "hardware"]
        if wrong or facts.turned != other.turned:
            difference = "; ".join(wrong) or f"memory for other heap sizes than {first}"
            raise Refused(
                f"the labs cannot be compared: {name} has {difference}; use equal machines, or "
                f"take {name} out of the inventory"
            )
    machines = AND.join(sorted({lab.machine for lab in labs.values()}))
    hardware = AND.join(sorted({lab.fingerprint.hardware for lab in labs.values()}))
    return replace(
        facts,
        machine=f"{len(labs)} machines ({', '.join(labs)}), each {machines}",
        fingerprint=replace(facts.fingerprint, hardware=hardware),
        cores=facts.cores if len({lab.cores for lab in labs.values()}) == 1 else None,
    )


@contextmanager
def loads_of_cluster(transport: Transport) -> Iterator[Sequence[LoadHost]]:
    """Those of the cluster that is up; raises JobFailed without any, and Refused where one of them
    does not allow a target, before anything is sent."""
    cluster = cluster_that_is_up()
    with connected(cluster.address, cluster.certificate) as client:
        require_comparable(client)
        with loads_of(client) as loads:
            loads.require_allowed(hosts_of(transport))
            yield loads.alive()


def main() -> None:
    """Answer one question after the other: the first opens the lab, each other measures in it."""
    install_handlers()
    questions: queue.SimpleQueue[messages.Question] = queue.SimpleQueue()
    threading.Thread(target=_listen, args=(questions,), daemon=True).start()
    try:
        _serve(questions)
    except TuneError as error:
        REPLIES.say(messages.Failed.from_error(error))
    except OSError as error:
        REPLIES.say(messages.Failed.from_error(of_the_system(error)))
    except Interrupted as end:
        sys.exit(end.exit_code)


def _listen(questions: queue.SimpleQueue[messages.Question]) -> None:
    """Whoever asked may be gone in the middle of a trial, or say what is not understood: the lab
    ends in order then."""
    try:
        for question in messages.QUESTIONS.received():
            questions.put(question)
    except TuneError as error:
        REPLIES.say(messages.Failed.from_error(error))
    os.kill(os.getpid(), signal.SIGTERM)


def _serve(questions: queue.SimpleQueue[messages.Question]) -> None:
    request = questions.get()
    if not isinstance(request, messages.OpenLab):
        raise JobFailed("no lab is open")
    # Before what takes a while, though the lab holds it only then.
    with measuring("rsyslog-tune"):
        pass
    engine = EngineChoice(request.engine)
    pace = pace_of(engine)
    profiles = [messages.profile_of(one) for one in (request.profile, *request.beside)]
    span = request.span
    with ExitStack() as opened:
        templates = opened.enter_context(_site_templates(request.templates))
        spec = LabSpec(engine, request.url, templates)
        loads = None
        if span is not None:
            client = opened.enter_context(joined(span.scheduler, span.certificate))
            loads = opened.enter_context(loads_of(client))
            loads.require_allowed([span.address])
        downloads_s = prepare(spec, profiles, _tell)
        REPLIES.say(messages.Prepared())
        questions.get()
        lab = opened.enter_context(open_lab(spec, profiles[0], state_folder(), _tell))
        if span is not None and loads is not None:
            lab = replace(lab, address=span.address, loads=loads.alive)
        REPLIES.say(messages.Opened(facts_of(lab, profiles, request.allow), downloads_s))
        trials = trials_in(lab, profiles[0], pace)
        while isinstance(question := questions.get(), messages.RunTrial | messages.MeasureCeiling):
            profile = messages.profile_of(question.profile)
            if loads is not None:
                loads.wait_for_host()
            if isinstance(question, messages.RunTrial):
                # Runs with other load hosts than those before are no pair with them.
                changed = None if loads is None else loads.change()
                if changed is None:
                    asked = question.asked
                    outcome = trials.trial(profile, asked.plan, asked.per_second, asked.name, _tell)
                    if loads is not None and isinstance(outcome, Failure):
                        changed = loads.change()
                REPLIES.say(messages.TrialEnded(outcome if changed is None else Lost(changed)))
            else:
                REPLIES.say(messages.CeilingFound(trials.ceiling(profile, _tell)))


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
