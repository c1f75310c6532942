"""What the study of rsyslog's source found; documentation names them by number."""

from tuner.modules.refused_bulks import WAITS_ON_ERRORS, WAITS_WITHOUT_RIGHTS

FINDINGS: dict[str, str] = {
    "F1": (
        "F1: a bulk refused as a whole, with an error in JSON, is silently dropped, whatever the "
        f"retry settings; rsyslog waits after 401 and 403 since 8.{WAITS_WITHOUT_RIGHTS}, after "
        f"429 and 5xx since 8.{WAITS_ON_ERRORS}, and still drops it after 400, 404 and 413. The "
        "engine's own 413 has no body, and leaves nothing in errorfile either."
    ),
    "F2": (
        "F2: after a refusal that is not JSON, such as a proxy's page, rsyslog sends the batch "
        "again with one event more each time, then each event singly: events are doubled unless "
        "they have a bulkid, and while the proxy refuses, the output blocks. With 401 and 403 up "
        f"to the release before 8.{WAITS_WITHOUT_RIGHTS}, with 429 and 5xx up to that before "
        f"8.{WAITS_ON_ERRORS}, with 400, 404 and 413 in every release."
    ),
    "F3": (
        "F3: after a transport failure a batch of N events is retried as N requests of one "
        "document, and where rsyslog waits after a refused bulk (401 and 403 since "
        f"8.{WAITS_WITHOUT_RIGHTS}, 429 and 5xx since 8.{WAITS_ON_ERRORS}) after that too: large "
        "batches make every hiccup expensive."
    ),
    "F4": (
        "F4: when maxbytes splits a batch and the transport fails, the part already buffered "
        "is lost: keep it above batch times document size."
    ),
    "F5": (
        "F5: templates with option.jsonf put a blank line after each document, and "
        "retryfailures, erroronly and interleaved then pair requests with the wrong answers."
    ),
    "F6": (
        "F6: option.json escapes byte by byte and leaves control characters: format=json for "
        "each property is right and fast."
    ),
    "F7": (
        "F7: an input stalls at about one event a second where 70 % of its queue's size is "
        "less than 1024 (before 8.2608): keep at least 4096 for each input thread."
    ),
    "F8": (
        "F8: action.resumeRetryCount 0, rsyslog's default, drops everything queued within "
        "seconds while the engine is down."
    ),
    "F9": (
        "F9: at timeoutEnqueue 2000, the default, a full queue makes the worker wait 2 s and "
        "then drop one event, again and again; -1 drops at once. A day is 86400000."
    ),
    "F10": (
        "F10: a configuration without main_queue() has other defaults than an empty main_queue()."
    ),
    "F11": (
        "F11: workerThreads is a maximum: worker k starts only when (k - 1) times "
        "workerThreadMinimumMessages events wait."
    ),
    "F12": (
        "F12: events in flight count as queued: the size must be at least 2 x workers x batch."
    ),
    "F13": (
        "F13: rsyslogd -N1 silently accepts nonsense sizes and marks, and crashes on 0 workers "
        "or a missing template."
    ),
    "F14": (
        "F14: from 8.2510 rsyslog asks each server for its version when it checks the "
        "configuration, -N1 included, and takes OpenSearch for an old Elasticsearch: create "
        "then needs a bulkid."
    ),
    "F15": (
        "F15: up to 8.2508 searchType is events unless it is set empty, and Elasticsearch 8 "
        "and OpenSearch 2 refuse the whole bulk."
    ),
    "F16": (
        "F16: timeout is copied into the URL unchanged, which makes it possible to set "
        "filter_path: rsyslog then parses replies several times smaller."
    ),
    "F17": (
        "F17: above 1 MiB curl waits for 100 Continue: a server that does not send it costs a "
        "second for each bulk."
    ),
    "F18": "F18: omelasticsearch cannot compress requests in any release.",
    "F19": (
        "F19: rsyslog 8.2604 and later have a YAML configuration of their own; this profile is "
        "something else."
    ),
}
