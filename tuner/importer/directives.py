"""What `$` directives set, by their names in lower case without the `$`."""

from __future__ import annotations

SHUTDOWN = "workertimeoutthreadshutdown"
"""The only queue parameter that is called otherwise today."""

# What holds for every later action of a type, or of any type.
LASTING = {
    "actionresumeretrycount": ("", "action.resumeRetryCount"),
    "actionresumeinterval": ("", "action.resumeInterval"),
    "actionexeconlywhenpreviousissuspended": ("", "action.execOnlyWhenPreviousIsSuspended"),
    "fileowner": ("omfile", "fileOwner"),
    "filegroup": ("omfile", "fileGroup"),
    "filecreatemode": ("omfile", "fileCreateMode"),
    "dircreatemode": ("omfile", "dirCreateMode"),
    "dirowner": ("omfile", "dirOwner"),
    "dirgroup": ("omfile", "dirGroup"),
    "createdirs": ("omfile", "createDirs"),
    "failonchownfailure": ("omfile", "failOnChOwnFailure"),
    "dynafilecachesize": ("omfile", "dynaFileCacheSize"),
    "actionfileenablesync": ("omfile", "sync"),
    "actionfiledefaulttemplate": ("omfile", "template"),
    "omfileziplevel": ("omfile", "zipLevel"),
    "omfileiobuffersize": ("omfile", "ioBufferSize"),
    "omfileflushontxend": ("omfile", "flushOnTXEnd"),
    "omfileasyncwriting": ("omfile", "asyncWriting"),
    "omfileflushinterval": ("omfile", "flushInterval"),
    "actionforwarddefaulttemplate": ("omfwd", "template"),
    "actionsendstreamdrivermode": ("omfwd", "streamDriverMode"),
    "actionsendstreamdriverauthmode": ("omfwd", "streamDriverAuthMode"),
    "actionsendstreamdriverpermittedpeer": ("omfwd", "streamDriverPermittedPeers"),
    "actionsendtcprebindinterval": ("omfwd", "rebindInterval"),
    "actionsendudprebindinterval": ("omfwd", "rebindInterval"),
    "actionsendresendlastmsgonreconnect": ("omfwd", "resendLastMSGOnReconnect"),
}
# What an input of a type gets, as many as follow.
INPUTS = {
    "inputtcpserverbindruleset": ("imtcp", "ruleset"),
    "inputtcpserverinputname": ("imtcp", "name"),
    "inputtcpserveraddtlframedelimiter": ("imtcp", "addtlFrameDelimiter"),
    "inputtcpserversupportoctetcountedframing": ("imtcp", "supportOctetCountedFraming"),
    "inputtcpserverdisablelfdelimiter": ("imtcp", "disableLFDelimiter"),
    "inputtcpserverkeepalive": ("imtcp", "keepAlive"),
    "inputtcpserverstreamdrivermode": ("imtcp", "streamDriver.mode"),
    "inputtcpserverstreamdriverauthmode": ("imtcp", "streamDriver.authMode"),
    "inputtcpserverstreamdriverpermittedpeer": ("imtcp", "permittedPeer"),
    "inputtcpserverpreservecase": ("imtcp", "preserveCase"),
    "inputtcpflowcontrol": ("imtcp", "flowControl"),
    "inputtcpmaxsessions": ("imtcp", "maxSessions"),
    "inputtcpmaxlisteners": ("imtcp", "maxListeners"),
    "udpserveraddress": ("imudp", "address"),
    "inputudpserverbindruleset": ("imudp", "ruleset"),
    "udpservertimerequery": ("imudp", "timeRequery"),
    "inputptcpserverbindruleset": ("imptcp", "ruleset"),
    "inputptcpserverlistenip": ("imptcp", "address"),
    "inputptcpserverkeepalive": ("imptcp", "keepAlive"),
    "inputptcphelperthreads": ("imptcp", "threads"),
    "inputptcpserversupportoctetcountedframing": ("imptcp", "supportOctetCountedFraming"),
    "inputrelpserverbindruleset": ("imrelp", "ruleset"),
    "inputfilename": ("imfile", "file"),
    "inputfiletag": ("imfile", "tag"),
    "inputfilestatefile": ("imfile", "stateFile"),
    "inputfileseverity": ("imfile", "severity"),
    "inputfilefacility": ("imfile", "facility"),
    "inputfilereadmode": ("imfile", "readMode"),
    "inputfilepersiststateinterval": ("imfile", "persistStateInterval"),
    "inputfilemaxlinesatonce": ("imfile", "maxLinesAtOnce"),
    "inputfilebindruleset": ("imfile", "ruleset"),
    "inputfilepollinterval": ("imfile", "pollingInterval"),
}
# What makes an input, with the parameter that its text is, and what it uses up.
RUNS = {
    "inputtcpserverrun": ("imtcp", "port", ()),
    "inputptcpserverrun": ("imptcp", "port", ()),
    "inputrelpserverrun": ("imrelp", "port", ()),
    "udpserverrun": ("imudp", "port", ("address",)),
    "inputrunfilemonitor": ("imfile", "", ("file", "tag", "stateFile")),
}
GLOBALS = {
    "workdirectory": "workDirectory",
    "maxmessagesize": "maxMessageSize",
    "preservefqdn": "preserveFQDN",
    "localhostname": "localHostname",
    "umask": "umask",
    "privdroptouser": "privdrop.user.name",
    "privdroptogroup": "privdrop.group.name",
    "defaultnetstreamdriver": "defaultNetstreamDriver",
    "defaultnetstreamdrivercafile": "defaultNetstreamDriverCAFile",
    "defaultnetstreamdrivercertfile": "defaultNetstreamDriverCertFile",
    "defaultnetstreamdriverkeyfile": "defaultNetstreamDriverKeyFile",
    "escapecontrolcharactersonreceive": "parser.escapeControlCharactersOnReceive",
    "controlcharacterescapeprefix": "parser.controlCharacterEscapePrefix",
    "droptrailinglfonreception": "parser.dropTrailingLFOnReception",
    "spacelfonreceive": "parser.spaceLFOnReceive",
    "optimizeforuniprocessor": "",
}
# The queues of the old form have defaults of their own (reference: rsyslog action.c, rsconf.c).
OLD_ACTION_QUEUE = {
    "dequeueBatchSize": "16", "timeoutEnqueue": "50", "timeoutShutdown": "0",
}  # fmt: skip
OLD_MAIN_QUEUE = {
    "size": "100000", "dequeueBatchSize": "256", "workerThreads": "2",
    "workerThreadMinimumMessages": "40000",
}  # fmt: skip
