"""The directives of the form before version 6 by what each stands for today: the `cfsysline`
handlers of each module in rsyslog's source say it."""

from __future__ import annotations

SHUTDOWN = "workertimeoutthreadshutdown"
"""The only queue parameter that is called otherwise today."""

# Parameters with directives of their names, by the module and what stands before the name.
SAME_NAME = {
    ("omfile", ""): (
        "fileOwner", "fileGroup", "fileCreateMode", "dirCreateMode", "dirOwner", "dirGroup",
        "createDirs", "failOnChOwnFailure", "dynaFileCacheSize",
    ),
    ("omfile", "omfile"): (
        "zipLevel", "ioBufferSize", "flushOnTXEnd", "asyncWriting", "flushInterval",
    ),
    ("omfwd/tcp", "actionsend"): (
        "streamDriverMode", "streamDriverAuthMode", "resendLastMSGOnReconnect",
    ),
    # Of its next listeners since 8.2212, of the module before.
    ("imtcp", "inputtcpserver"): (
        "addtlFrameDelimiter", "supportOctetCountedFraming", "disableLFDelimiter", "keepAlive",
        "preserveCase",
    ),
    ("imtcp", "inputtcp"): ("flowControl", "maxSessions", "maxListeners"),
    ("imudp", "udpserver"): ("address",),
    ("imptcp", "inputptcpserver"): ("keepAlive", "supportOctetCountedFraming"),
    # Of sockets beside the system's (plugins/imuxsock/imuxsock.c).
    ("imuxsock", "inputunixlistensocket"): (
        "hostName", "flowControl", "annotate", "createPath", "useSysTimeStamp", "usePIDFromSystem",
    ),
    ("imfile", "inputfile"): (
        "tag", "severity", "facility", "readMode", "persistStateInterval", "maxLinesAtOnce",
        "trimLineOverBytes",
    ),
}  # fmt: skip
# What holds for the next action, as its queue does: rsyslogd resets that after every action, of the
# new form too (actionResetQueueParams() of action.c), but a name waits for one of the old form.
ACTION_QUEUE, NAME = "actionqueue", "actionname"
ONCE = {NAME: "name", "actionresumeretrycount": "action.resumeRetryCount"}
# What holds for every later action of a type, with a protocol or not, or of any type, and for later
# inputs.
LASTING = {
    f"{prefix}{name.lower()}": (kind, name)
    for (kind, prefix), names in SAME_NAME.items()
    for name in names
} | {
    "actionresumeinterval": ("", "action.resumeInterval"),
    "actionexeconlywhenpreviousissuspended": ("", "action.execOnlyWhenPreviousIsSuspended"),
    "actionfileenablesync": ("omfile", "sync"),
    "actionfiledefaulttemplate": ("omfile", "template"),
    "actionforwarddefaulttemplate": ("omfwd", "template"),
    "actionsendstreamdriverpermittedpeer": ("omfwd/tcp", "streamDriverPermittedPeers"),
    "actionsendtcprebindinterval": ("omfwd/tcp", "rebindInterval"),
    "actionsendudprebindinterval": ("omfwd/udp", "rebindInterval"),
    "inputtcpserverbindruleset": ("imtcp", "ruleset"),
    "inputtcpserverinputname": ("imtcp", "name"),
    "inputtcpserverstreamdrivermode": ("imtcp", "streamDriver.mode"),
    "inputudpserverbindruleset": ("imudp", "ruleset"),
    "inputptcpserverbindruleset": ("imptcp", "ruleset"),
    "inputptcpserverlistenip": ("imptcp", "address"),
    "inputrelpserverbindruleset": ("imrelp", "ruleset"),
    "inputunixlistensocketignoremsgtimestamp": ("imuxsock", "ignoreTimestamp"),
    "systemlogparsetrusted": ("imuxsock", "parseTrusted"),
    "imuxsockratelimitinterval": ("imuxsock", "rateLimit.interval"),
    "imuxsockratelimitburst": ("imuxsock", "rateLimit.burst"),
    "imuxsockratelimitseverity": ("imuxsock", "rateLimit.severity"),
    "inputfilename": ("imfile", "file"),
    "inputfilebindruleset": ("imfile", "ruleset"),
}
# What each such directive adds to, and the next action takes away.
PEERS = "streamDriverPermittedPeers"
# What makes an input, with the parameter that its text is, and what it uses up.
RUNS = {
    "inputtcpserverrun": ("imtcp", "port", ()),
    "inputptcpserverrun": ("imptcp", "port", ()),
    "inputrelpserverrun": ("imrelp", "port", ()),
    "udpserverrun": ("imudp", "port", ()),
    "addunixlistensocket": ("imuxsock", "socket", ("hostName",)),
    # addInstance() of imfile.c calls its resetConfigVariables(), which leaves the ruleset alone.
    "inputrunfilemonitor": ("imfile", "", ("file", *SAME_NAME["imfile", "inputfile"])),
}
GLOBALS = {
    name.lower(): name
    for name in (
        "workDirectory", "maxMessageSize", "preserveFQDN", "localHostname", "umask",
        "defaultNetstreamDriver", "defaultNetstreamDriverCAFile", "defaultNetstreamDriverCertFile",
        "defaultNetstreamDriverKeyFile", "abortOnUncleanConfig",
    )
} | {
    "privdroptouser": "privdrop.user.name",
    "privdroptogroup": "privdrop.group.name",
    "escapecontrolcharactersonreceive": "parser.escapeControlCharactersOnReceive",
    "controlcharacterescapeprefix": "parser.controlCharacterEscapePrefix",
    "droptrailinglfonreception": "parser.dropTrailingLFOnReception",
    "spacelfonreceive": "parser.spaceLFOnReceive",
    "optimizeforuniprocessor": "",
    "inputfilestatefile": "",  # imfile names that file itself (imfile.c)
}  # fmt: skip
# What a module loaded by a line of its own has, whatever stands before which input: it takes what
# was said last (endCnfLoad() of each).
OF_MODULES = {
    "omitlocallogging": ("imuxsock", "sysSock.use"),
    "systemlogsocketname": ("imuxsock", "sysSock.name"),
    "systemlogsocketignoremsgtimestamp": ("imuxsock", "sysSock.ignoreTimestamp"),
    "systemlogsocketannotate": ("imuxsock", "sysSock.annotate"),
    "systemlogsocketflowcontrol": ("imuxsock", "sysSock.flowControl"),
    "systemlogusepidfromsystem": ("imuxsock", "sysSock.usePIDFromSystem"),
    "systemlogusesystimestamp": ("imuxsock", "sysSock.useSysTimeStamp"),
    "systemlogparsetrusted": ("imuxsock", "sysSock.parseTrusted"),
    "systemlogratelimitinterval": ("imuxsock", "sysSock.rateLimit.interval"),
    "systemlogratelimitburst": ("imuxsock", "sysSock.rateLimit.burst"),
    "systemlogratelimitseverity": ("imuxsock", "sysSock.rateLimit.severity"),
    "inputfilepollinterval": ("imfile", "pollingInterval"),
    "udpservertimerequery": ("imudp", "timeRequery"),
    "imudpschedulingpolicy": ("imudp", "schedulingPolicy"),
    "imudpschedulingpriority": ("imudp", "schedulingPriority"),
    "inputptcpserverhelperthreads": ("imptcp", "threads"),
    # For inputs before it too, which have none of their own then.
    "inputrelpserverbindruleset": ("imrelp", "ruleset"),
    "inputtcpserverstreamdriverauthmode": ("imtcp", "streamDriver.authMode"),
    "inputtcpserverstreamdriverpermittedpeer": ("imtcp", "permittedPeer"),
    "imjournalstatefile": ("imjournal", "stateFile"),
    "imjournalratelimitinterval": ("imjournal", "ratelimit.interval"),
    "imjournalratelimitburst": ("imjournal", "ratelimit.burst"),
    "imjournalignorepreviousmessages": ("imjournal", "ignorePreviousMessages"),
    "imjournalpersiststateinterval": ("imjournal", "persistStateInterval"),
    "imjournaldefaultseverity": ("imjournal", "defaultSeverity"),
    "imjournaldefaultfacility": ("imjournal", "defaultFacility"),
    "imjournalusepidfromsystem": ("imjournal", "usePIDFromSystem"),
    "klogpermitnonkernelfacility": ("imklog", "permitNonKernelFacility"),
    "klogparsekerneltimestamp": ("imklog", "parseKernelTimestamp"),
    "klogkeepkerneltimestamp": ("imklog", "keepKernelTimestamp"),
    "klogconsoleloglevel": ("imklog", "consoleLogLevel"),
    "klogpath": ("imklog", "logPath"),
    "kloginternalmsgfacility": ("imklog", "internalMsgFacility"),
    "pstatinterval": ("impstats", "interval"),
    "pstatsinterval": ("impstats", "interval"),
    "pstatfacility": ("impstats", "facility"),
    "pstatseverity": ("impstats", "severity"),
    "markmessageperiod": ("immark", "interval"),
    "actionlibdbidriverdirectory": ("omlibdbi", "driverDirectory"),
}
# Of the directives of imtcp, which module() excludes, those that it takes all the same.
WITH_OBJECTS = frozenset({"inputtcpserverbindruleset", "inputtcpserverinputname"})
# The queues of the old form have defaults of their own (reference: rsyslog action.c, rsconf.c).
OLD_ACTION_QUEUE = {
    "dequeueBatchSize": "16", "timeoutEnqueue": "50", "timeoutShutdown": "0",
}  # fmt: skip
OLD_MAIN_QUEUE = {
    "size": "100000", "dequeueBatchSize": "256", "workerThreads": "2",
    "workerThreadMinimumMessages": "40000",
}  # fmt: skip
# So has imfile, for its module and for its inputs (imfile.c, beginCnfLoad() and addInstance()).
OLD_MODULES = {"imfile": {"mode": "polling"}}
OLD_INPUTS = {
    "imfile": {
        "maxLinesAtOnce": "10240", "escapeLF": "off", "addMetadata": "off",
        "deleteStateOnFileDelete": "off",
    },
}  # fmt: skip
