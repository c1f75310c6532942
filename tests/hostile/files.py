"""Hostile contents for every kind of file that a command reads, and the commands that read it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

ROOT = Path(__file__).parents[2]
DEEP = 3_000

CONF = """\
module(load="imtcp")
module(load="omelasticsearch")
input(type="imtcp" port="20514")
template(name="doc" type="string" string="{\\"message\\":\\"%msg:::json%\\"}")
action(name="es" type="omelasticsearch" server="es1" bulkmode="on" searchType=""
    searchIndex="logs" template="doc" queue.type="LinkedList" queue.size="5000")
"""
PROFILE = "name: p\nbase: {rsyslog: base.conf}\nchanges: {main_queue.size: 50000}\n"
CASES = """\
conf: base.conf
cases:
- {name: one, message: hello, time: "2026-01-01T00:00:00Z", expect: [{fields: {message: hello}}]}
"""
TEMPLATE = (
    '{"index_patterns": ["logs"], "template": {"settings": {"index.refresh_interval": "5s"}}}'
)
COUNTERS = "".join(
    f"2026-01-01T00:00:{second:02}Z h rsyslogd-pstats: main Q: origin=core.queue size=1 "
    f"enqueued={second} full=0 discarded.full=0 discarded.nf=0 maxqsize=1\n"
    for second in (0, 10, 20)
)
COUNTER = b"h rsyslogd-pstats: main Q: origin=core.queue size=1 enqueued=1 maxqsize=1\n"
JSON_COUNTERS = (
    '2026-01-01T00:00:00Z h rsyslogd-pstats: {"name": "main Q", "origin": "core.queue", "size": 1,'
    ' "enqueued": 2, "full": 0, "discarded.full": 0, "discarded.nf": 0, "maxqsize": 1}\n'
)
HOSTS = "hosts: {a: {address: 'ssh://a'}}\n"
SWEEP = (ROOT / "examples/published/p1-production.yaml").read_text("utf-8")
JOURNAL = '{"check": "00000000", "header": {"schema": 1}}\n'
BENCH = json.dumps({"schema": 1, "kind": "bench"})
PLAN = json.dumps({"schema": 1, "kind": "deploy-plan"})
LOG = "<13>Jan  1 00:00:00 host app[1]: hello world\n" * 3

# By kind: what a file of it says, and the commands that read FILE.
KINDS: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "configuration": (
        CONF,
        (
            "validate --offline FILE.conf", "advise --conf FILE.conf", "diff FILE.conf base.conf",
            "import FILE.conf --release 8.2302", "render profile-FILE.yaml",
            "diagnose counters.log --conf FILE.conf", "workload log --conf FILE.conf",
        ),
    ),
    "profile": (PROFILE, ("validate --offline FILE.yaml", "render FILE.yaml", "advise FILE.yaml")),
    "cases": (CASES, ("test FILE.yaml",)),
    "template": (TEMPLATE, ("render template-FILE.yaml", "advise template-FILE.yaml")),
    "counters": (
        COUNTERS,
        ("diagnose FILE.log --page page.html", "diagnose FILE.log counters.log"),
    ),
    "JSON counters": (JSON_COUNTERS, ("diagnose FILE.log --page page.html --output json",)),
    "inventory": (HOSTS, ("render base.yaml --inventory FILE.yaml",)),
    "experiment": (SWEEP, ("sweep FILE.yaml --dry-run", "validate --offline FILE.yaml")),
    "journal": (JOURNAL, ("report run-FILE", "plan base.yaml --rate 1 --run run-FILE")),
    "bench": (BENCH, ("plan base.yaml --rate 1 --run FILE.json",)),
    "plan": (PLAN, ("apply FILE.json --check",)),
    "log": (LOG, ("workload FILE.log", "plan base.yaml --rate 1 --sample FILE.log",
                  "test --record FILE.log new.yaml --conf base.conf")),
}  # fmt: skip

# What stands in the place of a value, or of all of it.
WORDS = (
    "\0", "\\0", "\ud800".encode("utf-8", "surrogatepass").decode("latin-1"), "\\ud800", "\\x",
    '"\\U00110000"', '"\\UFFFFFFFF"', '"\\ud800"', '"\\x00"', "9" * 5_000, "1e999", "-1", "NaN",
    "Infinity", "0x" + "f" * 400, "18446744073709551616", "0001-01-01T00:00:00Z",
    "9999-12-31T23:59:59+14:00", "0001-01-01", "9999-12-31T23:59:59Z", "\u202e", "\ufeff", "\r\n",
    "\r", "\x85", "\u2028", "'", '"', "`", "#", "{", "}", "[", "]", "(", ")", "*a", "&a x", "<<",
    "!!python/name:os.system", "!!binary aGk=", "!!timestamp 0001-01-01", "? [a]", "~", "null",
    "{}", "[]", "%", "%msg:F,58:99999999999999999999%", "%msg:R,ERE,99999,FIELD:((((((((((a--end%",
    "$", "$!", "$!a!b", "\\", "/dev/zero", "..", "/", "é", "\U0001f600", "0b1", "010", "1:30",
)  # fmt: skip
WHOLE: Mapping[str, bytes] = {
    "nothing": b"",
    "NUL": b"\0",
    "NULs": b"\0" * 100_000,
    "not UTF-8": b"\xff\xfe\xfd\n",
    "UTF-16": "name: p\n".encode("utf-16"),
    "byte order mark alone": b"\xef\xbb\xbf",
    "line ends": b"\n" * 50_000,
    "only CR": b"name: p\rbase: 1\r",
    "one long line": b"x" * 2_000_000,
    "a long quoted text": b'name: "' + b"x" * 100_000,
    "a long number": b"9" * 100_000,
    "a long number in JSON": b'{"schema": ' + b"9" * 100_000 + b"}",
    "brackets": b"[" * DEEP,
    "closed brackets": b"[" * DEEP + b"]" * DEEP,
    "objects": b'{"a":' * DEEP + b"1" + b"}" * DEEP,
    "settings in one another": b'{"template":{"settings":' + b'{"a":' * 900 + b"1" + b"}" * 902,
    "mappings in one another": b'{"template":{"mappings":{"properties":'
    + b'{"a":{"properties":' * 400 + b"{}" + b"}}" * 400 + b"}}}",
    "blocks": b"".join(b" " * n + b"a:\n" for n in range(400)),
    "dashes": b"- " * 3_000 + b"a\n",
    "question marks": b"? " * 3_000 + b"a\n",
    "aliases": b"a: &a [x, x]\n"
    + b"".join(b"%c: &%c [*%c, *%c, *%c]\n" % (n + 1, n + 1, n, n, n) for n in range(97, 120)),
    "merge keys": b"a: &a {b: 1}\nc: {<<: *a}\n",
    "many keys": b"".join(b"key%d: 1\n" % n for n in range(8_000)),
    "one key many times": b"a: 1\n" * 10_000,
    "documents": b"--- a\n" * 1_000,
    "a tag": b"name: !!python/object/apply:os.system [touch /tmp/owned]\n",
    "a directive": b"%YAML 9.9\n%TAG ! tag:x,0:\n---\nname: p\n",
    "a list": b"[1, 2]\n", "a text": b"hello\n", "a number": b"1\n", "null": b"null\n",
    "parentheses": b"if " + b"(" * DEEP + b"1" + b")" * DEEP + b" then stop\n",
    "nots": b"if " + b"not " * DEEP + b"1 then stop\n",
    "operators": b"if 1" + b" and 1" * 5_000 + b" then stop\n",
    "sums": b"set $.a = 1" + b" + 1" * 5_000 + b";\n",
    "calls": b"set $.a = " + b"f(" * DEEP + b"1" + b")" * DEEP + b";\n",
    "nested ifs": b"if 1 then {\n" * DEEP + b"stop\n" + b"}\n" * DEEP,
    "else ifs": b"if 1 then stop else " * DEEP + b"stop\n",
    "rulesets": b"".join(b'ruleset(name="r%d") { call r%d }\n' % (n, n + 1) for n in range(2_000)),
    "a ruleset that calls itself": b'ruleset(name="r") { call r }\n'
    + b'input(type="imtcp" port="1" ruleset="r")\n',
    "includes itself": b'include(file="FILE.conf")\n',
    "includes a folder": b'include(file="/")\n',
    "includes everything": b'include(file="/*/*/*/*/*")\n',
    "includes a device": b'include(file="/dev/zero")\n$IncludeConfig /proc/kmsg\n',
    "backslashes": b"\\\n" * 50_000,
    "comments": b"/*" * 50_000,
    "percent signs": b'$template t,"' + b"%" * 50_000 + b'"\n',
    "properties": b'$template t,"' + b"%msg%" * 20_000 + b'"\n',
    "a template of objects": b'template(name="t" type="list") { '
    + b'constant(value="x") ' * 5_000 + b"}\n",
    "actions": b'action(type="omelasticsearch")\n' * 400,
    "filters": b':msg, contains, "' + b"(" * 5_000 + b'" stop\n',
    "regular expressions": b':msg, ereregex, "' + b"(a*)*" * 2_000 + b'" stop\n',
    "priorities": b"<999999999999999999999>1 - - - - - - x\n" * 10,
    "structured data": b'<13>1 - - - - - [a b="' + b"\\" * 50_000 + b"\n",
    "gzip": b"\x1f\x8b\x08" + b"\0" * 100,
    "zstd": b"\x28\xb5\x2f\xfd" + b"\0" * 100,
    "pcap": b"\xd4\xc3\xb2\xa1" + b"\xff" * 200,
    "pcapng": b"\x0a\x0d\x0d\x0a" + b"\xff" * 200,
    "a journal export": b"__CURSOR=a\n__REALTIME_TIMESTAMP=9\nMESSAGE\n" + b"\xff" * 8 + b"x\n\n",
    "a journal in JSON": b'{"__REALTIME_TIMESTAMP": "1", "MESSAGE": ' + b"[" * DEEP + b"\n",
    "years": b"".join(
        b"%s h rsyslogd-pstats: main Q: origin=core.queue size=1 enqueued=%d full=0 maxqsize=1\n"
        % (at, number)
        for number, at in enumerate(
            (b"0001-01-01T00:00:00+14:00", b"0001-01-01T00:00:00Z", b"1970-01-01T00:00:00Z",
             b"9990-01-01T00:00:00Z", b"9999-12-31T23:59:59-14:00")
        )
    ),
    "the first year": b"0001-01-01T00:00:00+14:00 " + COUNTER,
    "the last year": b"9999-12-31T23:59:59-14:00 " + COUNTER,
    "huge counters": b"2026-01-01T00:00:00Z h rsyslogd-pstats: main Q: origin=core.queue enqueued="
    + b"9" * 400 + b" full=1e400 maxqsize=-" + b"9" * 400 + b"\n",
    "no time at all": b"rsyslogd-pstats: main Q: origin=core.queue size=1 enqueued=1\n" * 3,
    "Prometheus": b"# HELP a b\n# TYPE a counter\na{b=\"" + b"\\" * 1_000 + b"\"} 1e999\n",
    "zabbix": b'{"stats": ' + b"[" * DEEP + b"\n",
}  # fmt: skip


def furnish(folder: Path) -> None:
    """The files that stand beside a hostile one."""
    (folder / "base.conf").write_text(CONF, "utf-8")
    (folder / "base.yaml").write_text(PROFILE, "utf-8")
    (folder / "counters.log").write_text(COUNTERS, "utf-8")
    (folder / "log").write_text(LOG, "utf-8")


def commands_with(folder: Path, kind: str, content: bytes) -> list[list[str]]:
    """The commands that read a file with that content, which they find in the folder."""
    for suffix in ("conf", "yaml", "json", "log"):
        (folder / f"FILE.{suffix}").write_bytes(content)
    (folder / "run-FILE").mkdir(exist_ok=True)
    (folder / "run-FILE/trials.jsonl").write_bytes(content)
    (folder / "new.yaml").unlink(missing_ok=True)
    (folder / "profile-FILE.yaml").write_text("name: p\nbase: {rsyslog: FILE.conf}\n", "utf-8")
    (folder / "template-FILE.yaml").write_text(
        "name: p\nbase: {rsyslog: base.conf, template: FILE.json}\n"
        'changes: {"template.index.refresh_interval": 30s}\n',
        "utf-8",
    )
    return [command.split() for command in KINDS[kind][1]]
