"""The door to hosts: on this machine; over ssh in tests/live."""

from __future__ import annotations

from pathlib import Path

import pytest
from testinfra import get_host

from tuner.errors import JobFailed, Refused
from tuner.host.remote import address_of, check_address, connect

HERE = connect("here", "local://")


def test_content_is_read_by_the_program_and_arguments_stay_as_they_are() -> None:
    done = HERE.run(
        ["sh", "-c", 'cat; printf %s "$1" >&2; exit 7', "sh", "a 'b' %s $HOME"], b"\x00x"
    )
    assert (done.code, done.out, done.err) == (7, b"\x00x", "a 'b' %s $HOME")


def test_a_program_ends_with_all_that_it_started_when_its_time_is_over(tmp_path: Path) -> None:
    late = tmp_path / "late"
    with pytest.raises(JobFailed, match=r"sh did not end within 0\.3 s"):
        HERE.run(["sh", "-c", f"(sleep 1.5; touch {late}) & wait"], limit_s=0.3)
    HERE.run(["sleep", "2"])
    assert not late.exists()


@pytest.mark.parametrize("stream", ["1", "2"])
def test_an_answer_without_end_is_cut_off(stream: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tuner.host.remote.MOST_BYTES", 1 << 20)
    with pytest.raises(JobFailed, match="here: sh answers with more than 1 MiB"):
        HERE.run(["sh", "-c", f"yes >&{stream}"])


def test_much_goes_both_ways_at_once_and_may_be_left_unread() -> None:
    content = bytes(range(256)) * 10_000
    done = HERE.run(["sh", "-c", "tee /dev/stderr"], content)
    assert done.out == content
    assert HERE.run(["true"], content).code == 0
    assert HERE.run(["sh", "-c", "exec >&- 2>&-; sleep 0.1; exit 3"]).code == 3


@pytest.mark.parametrize(
    "address",
    [
        "ssh://-oProxyCommand=touch", "ssh://root@-oX", "ssh://-lroot@host", "ssh://root:pw@host",
        "ssh://", "ssh://host/path", "ssh://a b", "ssh://host?ssh_extra_args=-oX", "ssh://host:x",
        "docker://host", "paramiko://host", "local://host", "host", "ssh://ho;st", "ssh://$(x)",
    ],
)  # fmt: skip
def test_an_address_that_could_mean_anything_else_is_refused(address: str) -> None:
    with pytest.raises(Refused) as refused:
        check_address(address)
    assert "pw" not in str(refused.value)


@pytest.mark.parametrize(
    "address",
    ["local://", "local://?sudo=true", "ssh://a", "ssh://u@a.b:22?ssh_config=/x&sudo=true",
     "ssh://[::1]:22", "ssh://10.0.0.1"],
)  # fmt: skip
def test_an_address_of_ours_is_taken(address: str) -> None:
    check_address(address)


@pytest.mark.parametrize(
    "address",
    [
        "local://",
        "ssh://collector1",
        "ssh://admin@[::1]:2222?ssh_identity_file=%2Fkeys%2Fid&sudo=true",
    ],
)
def test_what_testinfra_connected_to_has_the_same_address_here(address: str) -> None:
    assert address_of(get_host(address)) == address


def test_a_way_of_testinfra_that_is_not_ours_is_refused() -> None:
    with pytest.raises(Refused, match="docker"):
        address_of(get_host("docker://web"))
