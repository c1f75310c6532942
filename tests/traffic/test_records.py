"""Every kind of file that messages are read from."""

from __future__ import annotations

import gzip
import io
import json
import struct
from collections.abc import Callable
from pathlib import Path

import dpkt
import pytest
import zstandard

from tuner.errors import JobFailed
from tuner.traffic.records import LogRecord, parsed, records_of

LINE = (
    "<38>Nov 25 17:00:01 web1 sshd[812]: Accepted publickey for bob from 192.0.2.7 port 5022 ssh2"
)
TEXT = "Accepted publickey for bob from 192.0.2.7 port 5022 ssh2"


@pytest.fixture
def read(tmp_path: Path) -> Callable[[bytes], tuple[str, list[LogRecord]]]:
    def reading(raw: bytes) -> tuple[str, list[LogRecord]]:
        path = tmp_path / "log"
        path.write_bytes(raw)
        return records_of(path)

    return reading


Reading = Callable[[bytes], tuple[str, list[LogRecord]]]


def test_rfc3164_with_and_without_a_priority() -> None:
    one = parsed(LINE)
    assert (one.text, one.priority, one.host, one.program, one.pid, one.format) == (
        TEXT, 38, "web1", "sshd", True, "rfc3164",
    )  # fmt: skip
    in_a_file = parsed("2026-11-25T17:00:01.123456+01:00 web1 cron: (root) CMD (true)")
    assert (in_a_file.host, in_a_file.program, in_a_file.pid) == ("web1", "cron", False)
    assert in_a_file.priority is None
    assert in_a_file.text == "(root) CMD (true)"


def test_rfc5424_with_structured_data() -> None:
    one = parsed(
        '<165>1 2026-11-25T17:00:01Z web1 app 99 ID47 [a@1 k="v \\" ]"][b@2 x="1"] the text'
    )
    assert one == LogRecord(
        "the text", 165, one.second, "web1", "app", True, "ID47",
        '[a@1 k="v \\" ]"][b@2 x="1"]', "rfc5424",
    )  # fmt: skip
    assert one.second is not None
    bare = parsed("<13>1 - - - - - -")
    assert (bare.text, bare.host, bare.program, bare.pid, bare.data) == ("", "", "", False, "-")


def test_lines_without_a_head(read: Reading) -> None:
    what, records = read(b'{"level":"info","n":1}\n\n@cee: {"a":1}\n')
    assert what == "lines, 1 without a text left out"
    assert [one.text for one in records] == ['{"level":"info","n":1}', '@cee: {"a":1}']
    assert {one.format for one in records} == {"bare"}


@pytest.mark.parametrize(
    ("pack", "said"),
    [(gzip.compress, "lines, gzip"), (zstandard.ZstdCompressor().compress, "lines, zstd")],
)
def test_what_is_compressed(read: Reading, pack: Callable[[bytes], bytes], said: str) -> None:
    what, records = read(pack(f"{LINE}\n".encode() * 3))
    assert what == said
    assert [one.text for one in records] == [TEXT] * 3


def test_what_is_cut_short_counts_as_far_as_it_goes(read: Reading) -> None:
    lines = "".join(f"<13>Nov 25 17:00:01 h p: line {n} {n * 7919 % 9973}\n" for n in range(5000))
    _, records = read(gzip.compress(lines.encode())[:-2000])
    assert 1000 < len(records) < 5000


def test_the_journal_as_json_and_as_export(read: Reading) -> None:
    fields = {
        "__REALTIME_TIMESTAMP": "1795620000000000", "_HOSTNAME": "web1", "PRIORITY": "6",
        "SYSLOG_FACILITY": "10", "SYSLOG_IDENTIFIER": "sshd", "_PID": "7",
    }  # fmt: skip
    as_bytes = {**fields, "MESSAGE": list(b"two\nlines")}
    what, records = read(
        b"\n".join(json.dumps({**fields, "MESSAGE": TEXT}).encode() for _ in range(2))
        + b"\n"
        + json.dumps(as_bytes).encode()
    )
    assert what == "journalctl -o json, control characters of 1 read as blanks"
    expected = LogRecord(TEXT, 86, 1795620000.0, "web1", "sshd", True, format="rfc3164")
    assert records == [expected, expected, expected._replace(text="two\nlines")]

    entry = "".join(f"{key}={value}\n" for key, value in fields.items()).encode()
    binary = b"MESSAGE\n" + struct.pack("<Q", 9) + b"two\nlines\n"
    what, records = read(
        b"__CURSOR=x\n" + entry + f"MESSAGE={TEXT}\n\n".encode() + b"__CURSOR=y\n" + entry + binary
    )
    assert what == "journalctl -o export, control characters of 1 read as blanks"
    assert records == [expected, expected._replace(text="two\nlines")]


def test_csv_with_a_column_for_the_text(read: Reading) -> None:
    what, records = read(
        b'"time","host","app","message"\n1,web1,sshd[7]:,"a ""quoted"", text"\n2,web2,cron,b\n'
    )
    assert what == "CSV"
    assert [(one.host, one.program, one.text) for one in records] == [
        ("web1", "sshd", 'a "quoted", text'), ("web2", "cron", "b"),
    ]  # fmt: skip


def test_csv_with_a_quote_that_is_not_closed_is_refused_by_its_line(read: Reading) -> None:
    rows = b"web1,text of a message\n" * 9000
    with pytest.raises(JobFailed) as refused:
        read(b'host,message\nweb1,"two\nlines"\nweb1,6" of rain\nweb1,"text\n' + rows)
    assert str(refused.value).partition("log ")[2] == (
        "cannot be read as CSV from line 5 on: a value there has more than 128 KiB, as behind a "
        "quote that is not closed, there or above: close it, or learn from the lines before it "
        "(head -n 4)"
    )


def test_csv_of_an_old_macintosh_in_part(read: Reading) -> None:
    what, records = read(b"host,message\nweb1,first\rweb1,second\n")
    assert (what, [one.text for one in records]) == ("CSV", ["first", "second"])


def test_csv_without_one_is_lines(read: Reading) -> None:
    what, records = read(b"id,price\n1,2\n")
    assert what == "lines"
    assert [one.text for one in records] == ["id,price", "1,2"]


def packet(data: dpkt.udp.UDP | dpkt.tcp.TCP, protocol: int) -> bytes:
    ip = dpkt.ip.IP(src=b"\x0a\0\0\1", dst=b"\x0a\0\0\2", p=protocol, data=data)
    return bytes(dpkt.ethernet.Ethernet(type=dpkt.ethernet.ETH_TYPE_IP, data=ip))


def capture(*packets: bytes, ng: bool = False) -> bytes:
    file = io.BytesIO()
    writer = (dpkt.pcapng.Writer if ng else dpkt.pcap.Writer)(file)
    for number, one in enumerate(packets):
        writer.writepkt(one, ts=1795620000.0 + number)
    return file.getvalue()


@pytest.mark.parametrize("ng", [False, True])
def test_packets(read: Reading, ng: bool) -> None:
    udp = packet(dpkt.udp.UDP(sport=5000, dport=514, data=LINE.encode(), ulen=8 + len(LINE)), 17)
    lines = f"<13>Nov 25 17:00:01 h p: first\n{LINE}\n<13>Nov 25 17:00:01 h p: cut o".encode()
    tcp = [
        packet(dpkt.tcp.TCP(sport=6000, dport=514, seq=1000 + at, data=lines[at : at + 40]), 6)
        for at in range(0, len(lines), 40)
    ]
    counted = f"{len(LINE)} {LINE}".encode() * 2
    framed = packet(dpkt.tcp.TCP(sport=6001, dport=514, seq=5, data=counted), 6)
    other = packet(dpkt.udp.UDP(sport=53, dport=53, data=b"\0\1dns", ulen=13), 17)
    # TCP segments that come out of order, and one twice.
    what, records = read(capture(udp, other, *reversed(tcp), tcp[0], framed, ng=ng))
    assert what == "packets"
    assert sorted(one.text for one in records) == sorted([TEXT] * 4 + ["first", "cut o"])


def test_a_capture_that_ends_in_a_packet(read: Reading) -> None:
    udp = packet(dpkt.udp.UDP(sport=5000, dport=514, data=LINE.encode(), ulen=8 + len(LINE)), 17)
    _, records = read(capture(udp, udp)[:-20])
    assert [one.text for one in records] == [TEXT]


# The time of compression would be part of the name of the test, and differ between workers.
@pytest.mark.parametrize("raw", [b"", b"\n \n", b"\0\0\n", gzip.compress(b"", mtime=0)])
def test_a_file_without_messages_is_refused(tmp_path: Path, raw: bytes) -> None:
    path = tmp_path / "log"
    path.write_bytes(raw)
    with pytest.raises(JobFailed, match="has no messages"):
        records_of(path)


def test_a_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    with pytest.raises(JobFailed, match="cannot be read: no such file"):
        records_of(tmp_path / "missing")
    with pytest.raises(JobFailed, match="cannot be read: it is a folder"):
        records_of(tmp_path)


def test_what_is_not_learnt_of_a_file_is_said(read: Reading) -> None:
    assert read(b"one\ntwo\n")[0] == "lines"
    assert read(b"one\r\n\n  \na\tb\nlast")[0] == (
        "lines, 2 without a text left out, control characters of 1 read as blanks"
    )
