"""Every rsyslog module that a profile can name, one line each."""

import sys
from collections.abc import Iterator
from typing import Annotated, get_args

from pydantic import BaseModel

from tuner.modules.imfile import ImfileInput
from tuner.modules.imjournal import ImjournalInput
from tuner.modules.imkafka import ImkafkaInput
from tuner.modules.imklog import ImklogInput
from tuner.modules.impstats import Impstats
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.in_profile import InProfile
from tuner.modules.input import Input
from tuner.modules.mmanon import MmanonStep
from tuner.modules.mmdblookup import MmdblookupStep
from tuner.modules.mmexternal import MmexternalStep
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmkubernetes import MmkubernetesStep
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import OmfileOutput
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omprog import OmprogOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Output
from tuner.modules.parsing import CsvParse, KvParse
from tuner.modules.step import ParseStep, SetStep, StreamStep, UnsetStep
from tuner.rule import Rule
from tuner.schema.section import OneOf

AnyInput = Annotated[
    ImptcpInput
    | ImtcpInput
    | ImudpInput
    | ImfileInput
    | ImrelpInput
    | ImuxsockInput
    | ImjournalInput
    | ImklogInput
    | ImkafkaInput,
    OneOf("type"),
]
AnyOutput = Annotated[
    OmelasticsearchOutput
    | OmfileOutput
    | OmfwdOutput
    | OmrelpOutput
    | OmkafkaOutput
    | OmhttpOutput
    | OmprogOutput,
    OneOf("type"),
]
ModuleStep = MmanonStep | MmdblookupStep | MmkubernetesStep | MmexternalStep
AnyStep = Annotated[ModuleStep | SetStep | UnsetStep | ParseStep, OneOf("type")]
Parse = Annotated[CsvParse | KvParse | JsonParse | NormalizeParse, OneOf("format")]

INPUTS: tuple[type[Input], ...] = get_args(get_args(AnyInput)[0])
OUTPUTS: tuple[type[Output], ...] = get_args(get_args(AnyOutput)[0])
STEPS: tuple[type[StreamStep], ...] = get_args(ModuleStep)

MODULES: tuple[type[Input | Output | StreamStep], ...] = (*INPUTS, *STEPS, *OUTPUTS)


def packages() -> dict[str, str]:
    """Each module that another package of Debian ships than rsyslog's own, with that package."""
    own = {"rsyslog", "none"}
    return {name_of(one): one.package for one in MODULES if one.package not in own}


def packaged_since() -> dict[str, int]:
    """The modules whose package came to Debian later than the oldest release we know, each with
    the first rsyslog that has it: 2512 stands for 8.2512."""
    return {name_of(one): one.packaged_since for one in OUTPUTS if one.packaged_since}


def unpackaged() -> tuple[str, ...]:
    """The modules that no package of Debian ships."""
    return tuple(name_of(one) for one in MODULES if one.package == "none")


def name_of(module: type[Input | Output | StreamStep]) -> str:
    """What rsyslog calls the module, such as imtcp."""
    return str(get_args(module.model_fields["type"].annotation)[0])


def rules() -> Iterator[tuple[type[BaseModel], Rule[InProfile[BaseModel]]]]:
    """Each rule that stands in the file of a module, with the section that it is about."""
    for section in (*MODULES, Impstats):
        for value in vars(sys.modules[section.__module__]).values():
            if isinstance(value, Rule):
                yield section, value
