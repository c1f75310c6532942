"""global(): parameters of rsyslogd as a whole.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, Literal

from pydantic import Field

from tuner.schema.parameter import Doc, Since
from tuner.schema.scalars import (
    AbsolutePath,
    Address,
    MemorySize,
    NonNegative,
    Positive,
    Switch,
    WordPath,
)
from tuner.schema.section import RsyslogSection

CompatibilityMode = Literal["enable", "warn", "disable"]


class Global(RsyslogSection):
    """Parameters of rsyslog's global(); imfile keeps its places in files in `workDirectory`."""

    work_directory: Annotated[
        AbsolutePath | None,
        Doc(
            "The folder for rsyslog's own files: where imfile has read to, and queue files without "
            "a folder of their own.",
            traps=("It must exist and belong to rsyslog's user.",),
        ),
    ] = None
    net_enable_dns: Annotated[
        Switch,
        Doc(
            "Whether rsyslog looks up the names of senders, for fromhost; hostname comes from the "
            "message.",
            default="off; rsyslog's own default is on",
            traps=("A lookup for each connection, or each sender of UDP, waits for DNS.",),
        ),
    ] = Field(False, alias="net.enableDNS")
    max_message_size: Annotated[
        MemorySize | None,
        Doc(
            "The longest message; what is longer is cut in two, or treated as "
            "oversizemsg.input.mode says.",
            default="8k",
            traps=(
                "Every session and worker has a buffer of that size.",
                "A batch may then exceed the engine's http.max_content_length: see maxbytes.",
            ),
        ),
    ] = None
    oversizemsg_input_mode: Annotated[
        Literal["truncate", "split", "accept"] | None,
        Doc("What becomes of a message that is too long.", default="truncate"),
    ] = Field(None, alias="oversizemsg.input.mode")
    oversizemsg_report: Annotated[
        Switch | None, Doc("Whether rsyslog logs that a message was too long.", default="on")
    ] = Field(None, alias="oversizemsg.report")
    oversizemsg_errorfile: Annotated[
        WordPath | None, Doc("The file for messages that are too long, as JSON.")
    ] = Field(None, alias="oversizemsg.errorfile")
    local_hostname: Annotated[
        Address | None,
        Doc("The name of this host in events of its own.", default="what the system says"),
    ] = None
    preserve_fqdn: Annotated[
        Switch | None,
        Doc(
            "Whether the names of this host and of senders keep their domain.",
            default="off",
            traps=("Only the names that rsyslog looks up: messages carry what senders write.",),
        ),
    ] = Field(None, alias="preserveFQDN")
    net_ip_protocol: Annotated[
        Literal["unspecified", "ipv4-only", "ipv6-only"] | None,
        Doc("The IP protocols that are used.", default="unspecified"),
    ] = Field(None, alias="net.ipProtocol")
    parser_escape_control_characters_on_receive: Annotated[
        Switch | None,
        Doc(
            "Whether control characters of a message become #ooo.",
            default="on",
            traps=(
                "If off, a newline in an event makes two lines of it in files and at receivers.",
            ),
        ),
    ] = Field(None, alias="parser.escapeControlCharactersOnReceive")
    parser_escape_control_character_tab: Annotated[
        Switch | None, Doc("Whether a tab becomes #011 too.", default="on")
    ] = Field(None, alias="parser.escapeControlCharacterTab")
    parser_escape_control_characters_c_style: Annotated[
        Switch | None,
        Doc("Whether control characters are escaped as in C, such as \\n.", default="off"),
    ] = Field(None, alias="parser.escapeControlCharactersCStyle")
    parser_space_lf_on_receive: Annotated[
        Switch | None, Doc("Whether a newline in a message becomes a blank.", default="off")
    ] = Field(None, alias="parser.spaceLFOnReceive")
    parser_escape_8bit_characters_on_receive: Annotated[
        Switch | None,
        Doc(
            "Whether bytes above 127 become #ooo.",
            default="off",
            traps=("If on, texts in UTF-8 cannot be read any more.",),
        ),
    ] = Field(None, alias="parser.escape8BitCharactersOnReceive")
    parser_drop_trailing_lf_on_reception: Annotated[
        Switch | None, Doc("Whether a newline at the end of a message is dropped.", default="on")
    ] = Field(None, alias="parser.dropTrailingLFOnReception")
    parser_drop_trailing_cr_on_reception: Annotated[
        Switch | None,
        Since(2606),
        Doc("Whether a carriage return at the end of a message is dropped.", default="off"),
    ] = Field(None, alias="parser.dropTrailingCROnReception")
    parser_permit_slash_in_program_name: Annotated[
        Switch | None,
        Doc(
            "Whether the program's name may hold slashes, as postfix/smtpd does; if off, it ends "
            "at the first.",
            default="off",
        ),
    ] = Field(None, alias="parser.permitSlashInProgramName")
    parser_parse_hostname_and_tag: Annotated[
        Switch | None,
        Doc(
            "Whether messages of RFC 3164 have a host name and a tag.",
            default="on",
            traps=("If off, hostname is the sender and msg holds the rest.",),
        ),
    ] = Field(None, alias="parser.parseHostnameAndTag")
    parser_support_compression_extension: Annotated[
        Switch | None,
        Since(2106),
        Doc("Whether messages that begin with z are unpacked.", default="on"),
    ] = Field(None, alias="parser.supportCompressionExtension")
    process_internal_messages: Annotated[
        Switch | None,
        Doc(
            "Whether rsyslog's own messages go through its rules instead of the system's journal.",
            default="off",
        ),
    ] = None
    internalmsg_ratelimit_interval: Annotated[
        Positive | None,
        Doc("The seconds over which rsyslog's own messages are counted.", default="5"),
    ] = Field(None, alias="internalmsg.ratelimit.interval")
    internalmsg_ratelimit_burst: Annotated[
        Positive | None,
        Doc("How many messages of its own rsyslog writes in that time.", default="500"),
    ] = Field(None, alias="internalmsg.ratelimit.burst")
    senders_keep_track: Annotated[
        Switch | None,
        Doc(
            "Whether rsyslog counts the messages of each sender, for impstats.",
            default="off",
            traps=("It costs a lock and a lookup for each message.",),
        ),
    ] = Field(None, alias="senders.keepTrack")
    reverselookup_cache_ttl_enable: Annotated[
        Switch | None,
        Doc("Whether names that were looked up are looked up again some time.", default="off"),
    ] = Field(None, alias="reverselookup.cache.ttl.enable")
    reverselookup_cache_ttl_default: Annotated[
        NonNegative | None,
        Doc("After how many seconds a name is looked up again.", default="86400"),
    ] = Field(None, alias="reverselookup.cache.ttl.default")
    shutdown_queue_double_size: Annotated[
        Switch | None,
        Doc("Whether queues have twice their size while rsyslog stops.", default="off"),
    ] = Field(None, alias="shutdown.queue.doubleSize")
    input_startup_policy: Annotated[
        Literal["best-effort", "require-all"] | None,
        Since(2610),
        Doc(
            "What rsyslogd does where an input cannot start, as where its port is taken: "
            "best-effort goes on without it, require-all stops.",
            default="best-effort",
        ),
    ] = None
    max_open_files: Annotated[
        Positive | None,
        Since(2606),
        Doc(
            "How many files and connections rsyslogd may have open at once.",
            default="the limit that its service sets",
            traps=("Above the limit of the service it has no effect: raise LimitNOFILE= there.",),
        ),
    ] = None
    systemd_notify_ready_delay: Annotated[
        Switch | None,
        Since(2608),
        Doc(
            "Whether rsyslogd tells systemd that it is ready only once inputs such as imfile are.",
            default="off",
        ),
    ] = Field(None, alias="systemd.notifyReadyDelay")
    compatibility_defaults_secure: Annotated[
        Literal["backward-compatible", "warn", "strict"] | None,
        Since(2606),
        Doc(
            "Which defaults hold where a parameter is not set: those of older releases, the same "
            "with a warning for each that is insecure, or secure ones.",
            default="backward-compatible, so that a profile means the same on every release; "
            "rsyslog's own default is warn",
            traps=(
                "strict implies abortOnUncleanConfig, refuses files that are symbolic links, and "
                "makes TLS of connections whose library is gtls or ossl.",
            ),
        ),
    ] = Field(None, alias="compatibility.defaults.secure")
    compatibility_configformat_legacy: Annotated[
        CompatibilityMode | None,
        Since(2606),
        Doc("What becomes of $ directives in snippets and included files.", default="enable"),
    ] = Field(None, alias="compatibility.configformat.legacy")
    compatibility_configformat_syslogd: Annotated[
        CompatibilityMode | None,
        Since(2606),
        Doc("What becomes of selector lines in snippets and included files.", default="enable"),
    ] = Field(None, alias="compatibility.configformat.syslogd")
    compatibility_configformat_property: Annotated[
        CompatibilityMode | None,
        Since(2606),
        Doc("What becomes of property filters in snippets and included files.", default="enable"),
    ] = Field(None, alias="compatibility.configformat.property")
    abort_on_unclean_config: Annotated[
        Switch | None,
        Doc("Whether rsyslog refuses to start with an error in its configuration.", default="off"),
    ] = None
