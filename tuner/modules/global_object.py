"""global(): parameters of rsyslogd as a whole.

None means not set in the profile: rsyslog's default applies.
"""

from typing import Annotated, Literal

from tuner.schema.scalars import (
    FOLDER,
    AbsolutePath,
    Address,
    MemorySize,
    NonNegative,
    Positive,
    Switch,
    WordPath,
)
from tuner.schema.section import RsyslogSection, parameter

CompatibilityMode = Literal["enable", "warn", "disable"]


class Global(RsyslogSection):
    """Parameters of rsyslog's global(); imfile keeps its places in files in `workDirectory`."""

    work_directory: Annotated[AbsolutePath, FOLDER] | None = parameter(
        "The folder for rsyslog's own files: where imfile has read to, and queue files without "
        "a folder of their own.",
        "It must exist and belong to rsyslog's user.",
    )
    net_enable_dns: Switch = parameter(
        "Whether rsyslog looks up the names of senders, for fromhost and for the hostname of "
        "messages that name none.",
        "A lookup for each connection, or each sender of UDP, waits for DNS.",
        value=False,
        default="off; rsyslog's own default is on",
    )
    max_message_size: MemorySize | None = parameter(
        "The longest message; what is longer is cut in two, or treated as "
        "oversizemsg.input.mode says.",
        "Every session and worker has a buffer of that size.",
        "A batch may then exceed the engine's http.max_content_length: see maxbytes.",
        default="8k",
    )
    oversizemsg_input_mode: Literal["truncate", "split", "accept"] | None = parameter(
        "What becomes of a message that is too long.", default="truncate"
    )
    oversizemsg_report: Switch | None = parameter(
        "Whether rsyslog logs that a message was too long.", default="on"
    )
    oversizemsg_errorfile: WordPath | None = parameter(
        "The file for messages that are too long, as JSON."
    )
    local_hostname: Address | None = parameter(
        "The name of this host in events of its own.",
        default="what the system says",
        alias="localHostname",
    )
    preserve_fqdn: Switch | None = parameter(
        "Whether the name of this host keeps its domain in events of its own.",
        "The names of senders are as they write them, or as they are looked up.",
        default="off",
    )
    net_ip_protocol: Literal["unspecified", "ipv4-only", "ipv6-only"] | None = parameter(
        "The IP protocols that are used.", default="unspecified"
    )
    parser_escape_control_characters_on_receive: Switch | None = parameter(
        "Whether control characters of a message become #ooo.",
        "If off, a newline in an event makes two lines of it in files and at receivers.",
        default="on",
    )
    parser_escape_control_character_tab: Switch | None = parameter(
        "Whether a tab becomes #011 too.", default="on"
    )
    parser_escape_control_characters_c_style: Switch | None = parameter(
        "Whether control characters are escaped as in C, such as \\n.", default="off"
    )
    parser_space_lf_on_receive: Switch | None = parameter(
        "Whether a newline in a message becomes a blank.", default="off"
    )
    parser_escape_8bit_characters_on_receive: Switch | None = parameter(
        "Whether bytes above 127 become #ooo.",
        "If on, texts in UTF-8 cannot be read any more.",
        default="off",
    )
    parser_drop_trailing_lf_on_reception: Switch | None = parameter(
        "Whether a newline at the end of a message is dropped.", default="on"
    )
    parser_drop_trailing_cr_on_reception: Switch | None = parameter(
        "Whether a carriage return at the end of a message is dropped.", since=2606, default="off"
    )
    parser_permit_slash_in_program_name: Switch | None = parameter(
        "Whether the program's name may hold slashes, as postfix/smtpd does; if off, it ends "
        "at the first.",
        default="off",
    )
    parser_parse_hostname_and_tag: Switch | None = parameter(
        "Whether messages of RFC 3164 have a host name and a tag.",
        "If off, hostname is the sender and msg holds the rest.",
        default="on",
    )
    parser_support_compression_extension: Switch | None = parameter(
        "Whether messages that begin with z are unpacked.", since=2106, default="on"
    )
    process_internal_messages: Switch | None = parameter(
        "Whether rsyslog's own messages go through its rules instead of the system's journal.",
        default="off",
    )
    internalmsg_ratelimit_interval: Positive | None = parameter(
        "The seconds over which rsyslog's own messages are counted.", default="5"
    )
    internalmsg_ratelimit_burst: Positive | None = parameter(
        "How many messages of its own rsyslog writes in that time.", default="500"
    )
    senders_keep_track: Switch | None = parameter(
        "Whether rsyslog counts the messages of each sender, for impstats.",
        "It costs a lock and a lookup for each message.",
        default="off",
    )
    reverselookup_cache_ttl_enable: Switch | None = parameter(
        "Whether names that were looked up are looked up again some time.", default="off"
    )
    reverselookup_cache_ttl_default: NonNegative | None = parameter(
        "After how many seconds a name is looked up again.", default="86400"
    )
    shutdown_queue_double_size: Switch | None = parameter(
        "Whether queues have twice their size while rsyslog stops.", default="off"
    )
    input_startup_policy: Literal["best-effort", "require-all"] | None = parameter(
        "What rsyslogd does where an input cannot start, as where its port is taken: "
        "best-effort goes on without it, require-all stops.",
        since=2610,
        default="best-effort",
    )
    max_open_files: Positive | None = parameter(
        "How many files and connections rsyslogd may have open at once.",
        "Above the limit of the service it has no effect: raise LimitNOFILE= there.",
        since=2606,
        default="the limit that its service sets",
    )
    systemd_notify_ready_delay: Switch | None = parameter(
        "Whether rsyslogd tells systemd that it is ready only once inputs such as imfile are.",
        since=2608,
        default="off",
    )
    compatibility_defaults_secure: Literal["backward-compatible", "warn", "strict"] | None = (
        parameter(
            "Which defaults hold where a parameter is not set: those of older releases, the same "
            "with a warning for each that is insecure, or secure ones.",
            "strict implies abortOnUncleanConfig, refuses files that are symbolic links, and "
            "makes TLS of connections whose library is gtls or ossl.",
            since=2606,
            default="backward-compatible, so that a profile means the same on every release; "
            "rsyslog's own default is warn",
        )
    )
    compatibility_configformat_legacy: CompatibilityMode | None = parameter(
        "What becomes of $ directives in snippets and included files.", since=2606, default="enable"
    )
    compatibility_configformat_syslogd: CompatibilityMode | None = parameter(
        "What becomes of selector lines in snippets and included files.",
        since=2606,
        default="enable",
    )
    compatibility_configformat_property: CompatibilityMode | None = parameter(
        "What becomes of property filters in snippets and included files.",
        since=2606,
        default="enable",
    )
    abort_on_unclean_config: Switch | None = parameter(
        "Whether rsyslog refuses to start with an error in its configuration.", default="off"
    )
