"""Every rsyslog module that a profile can name, one line each."""

from typing import Annotated, get_args

from tuner.modules.imfile import ImfileInput
from tuner.modules.imjournal import ImjournalInput
from tuner.modules.imklog import ImklogInput
from tuner.modules.imptcp import ImptcpInput
from tuner.modules.imrelp import ImrelpInput
from tuner.modules.imtcp import ImtcpInput
from tuner.modules.imudp import ImudpInput
from tuner.modules.imuxsock import ImuxsockInput
from tuner.modules.input import Input
from tuner.modules.mmanon import MmanonStep
from tuner.modules.mmjsonparse import JsonParse
from tuner.modules.mmnormalize import NormalizeParse
from tuner.modules.omelasticsearch import OmelasticsearchOutput
from tuner.modules.omfile import OmfileOutput
from tuner.modules.omfwd import OmfwdOutput
from tuner.modules.omhttp import OmhttpOutput
from tuner.modules.omkafka import OmkafkaOutput
from tuner.modules.omrelp import OmrelpOutput
from tuner.modules.output import Output
from tuner.modules.step import CsvParse, KvParse, ParseStep, SetStep, StreamStep, UnsetStep
from tuner.schema.section import OneOf, kind_of

AnyInput = Annotated[
    ImptcpInput
    | ImtcpInput
    | ImudpInput
    | ImfileInput
    | ImrelpInput
    | ImuxsockInput
    | ImjournalInput
    | ImklogInput,
    OneOf("type"),
]
AnyOutput = Annotated[
    OmelasticsearchOutput
    | OmfileOutput
    | OmfwdOutput
    | OmrelpOutput
    | OmkafkaOutput
    | OmhttpOutput,
    OneOf("type"),
]
AnyStep = Annotated[MmanonStep | SetStep | UnsetStep | ParseStep, OneOf("type")]
Parse = Annotated[CsvParse | KvParse | JsonParse | NormalizeParse, OneOf("format")]

INPUTS: tuple[type[Input], ...] = get_args(get_args(AnyInput)[0])
OUTPUTS: tuple[type[Output], ...] = get_args(get_args(AnyOutput)[0])
MODULES: tuple[type[Input | Output | StreamStep], ...] = (*INPUTS, MmanonStep, *OUTPUTS)
# What a configuration or a snippet of the user's own may load besides.
_NOT_IN_PROFILES = {"imkafka": "rsyslog-kafka", "mmkubernetes": "rsyslog-kubernetes"}
UNPACKAGED = ("mmdblookup", "mmjsontransform", "imbeats", "imkubernetes")
"""The modules that no package of Debian ships, of 8.2610 neither."""


def packages() -> dict[str, str]:
    """Each module of profiles that another package of Debian ships than rsyslog's own, with that
    package."""
    return {name_of(module): module.package for module in MODULES if module.package != "rsyslog"}


def every_package() -> dict[str, str]:
    """The same with the modules that only a configuration of the user's own names."""
    return packages() | _NOT_IN_PROFILES


def packaged_since() -> dict[str, int]:
    """The modules whose package came to Debian later than the oldest release we know, each with
    the first rsyslog that has it: 2512 stands for 8.2512."""
    return {name_of(output): output.packaged_since for output in OUTPUTS if output.packaged_since}


def name_of(module: type[Input | Output | StreamStep]) -> str:
    """What rsyslog calls the module, such as imtcp."""
    return kind_of(module) or ""
