"""Files on disk: whole or not at all, compared to the byte."""

from __future__ import annotations

import errno
import os
import stat
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.profile.examples import small
from tuner.errors import BadUsage, JobFailed, Refused
from tuner.render.artefacts import Artefact, render, rsyslog_conf
from tuner.render.tree import DIGESTS, Status, Tree, stale, unified
from tuner.writing import require_writable, write_new, write_whole

OURS = "# Rendered by rsyslog-tune\n"
NODE = {"node.indices.memory.index_buffer_size": "30%"}


def marked(path: str, text: str = "") -> Artefact:
    """A file that says whose it is."""
    return Artefact(path, OURS + text)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_what_is_written_is_not_stale(tmp_path: Path) -> None:
    artefacts = render(small(NODE))
    paths = sorted([*(one.path for one in artefacts), DIGESTS])
    assert Tree(artefacts, tmp_path / "out").write() == dict.fromkeys(paths, Status.NEW)
    assert Tree(artefacts, tmp_path / "out").write() == dict.fromkeys(paths, Status.UNCHANGED)
    assert stale(Tree(artefacts, tmp_path / "out").states) == ()
    assert Tree(artefacts, tmp_path / "out").diff() == ""
    for one in artefacts:
        assert (tmp_path / "out" / one.path).read_bytes() == one.text.encode()


def test_nothing_is_left_beside_the_files(tmp_path: Path) -> None:
    Tree(render(small()), tmp_path).write()
    names = {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*") if path.is_file()}
    assert names == {DIGESTS, *(one.path for one in render(small()))}


def test_files_that_refer_to_secrets_are_for_their_owner(tmp_path: Path) -> None:
    Tree([Artefact("a", "x"), Artefact("b", "x", private=True)], tmp_path).write()
    assert (mode(tmp_path / "a"), mode(tmp_path / "b")) == (0o644, 0o600)
    assert mode(tmp_path / DIGESTS) == 0o600, "by it a short password could be guessed"


def test_a_changed_and_a_missing_file_are_stale(tmp_path: Path) -> None:
    Tree([marked("a", "1\n"), marked("b", "1\n")], tmp_path).write()
    wanted = [marked("a", "2\n"), marked("b", "1\n"), marked("c/d", "1\n")]
    assert stale(Tree(wanted, tmp_path).states) == ("a", "c/d")
    text = Tree(wanted, tmp_path).diff()
    assert f"--- a/a\n+++ b/a\n@@ -1,2 +1,2 @@\n {OURS}-1\n+2\n" in text
    assert "--- /dev/null\n+++ b/c/d\n" in text


def test_comparing_writes_nothing(tmp_path: Path) -> None:
    stale(Tree(render(small()), tmp_path / "out").states)
    Tree(render(small()), tmp_path / "out").diff()
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_the_profile_no_longer_has_goes_if_it_is_ours(tmp_path: Path) -> None:
    Tree(render(small(NODE)), tmp_path).write()
    assert "elasticsearch.yml" in stale(Tree(render(small()), tmp_path).states)
    assert Tree(render(small()), tmp_path).write()["elasticsearch.yml"] is Status.REMOVED
    assert not (tmp_path / "elasticsearch.yml").exists()


def test_a_file_of_somebody_else_stays(tmp_path: Path) -> None:
    (tmp_path / "elasticsearch.yml").write_text("cluster.name: x\n", encoding="utf-8")
    Tree(render(small()), tmp_path).write()
    assert stale(Tree(render(small()), tmp_path).states) == ()
    assert (tmp_path / "elasticsearch.yml").exists()


def test_a_file_of_somebody_else_in_the_way_is_named_and_nothing_is_written(tmp_path: Path) -> None:
    foreign = 'module(load="imtcp")\n'
    (tmp_path / "rsyslog.conf").write_text(foreign, encoding="utf-8")
    with pytest.raises(Refused, match=r"rsyslog\.conf was not rendered by rsyslog-tune"):
        Tree(render(small()), tmp_path).write()
    assert {path.name: path.read_text("utf-8") for path in tmp_path.rglob("*")} == {
        "rsyslog.conf": foreign
    }


@pytest.mark.parametrize("path", ["rsyslog.conf", "live-settings.json"])
def test_a_file_that_cannot_say_whose_it_is_is_known_by_its_digest(
    path: str, tmp_path: Path
) -> None:
    """A configuration of one's own that a profile changes, and settings for an engine."""
    Tree([Artefact(path, "1\n")], tmp_path).write()
    assert Tree([Artefact(path, "2\n")], tmp_path).write()[path] is Status.CHANGED
    checked = ["sha256sum", "--check", "--strict", DIGESTS]
    assert subprocess.run(checked, cwd=tmp_path, check=False).returncode == 0
    (tmp_path / path).write_text("by hand\n", encoding="utf-8")
    with pytest.raises(Refused, match=f"{path} was not rendered by rsyslog-tune, or was changed"):
        Tree([Artefact(path, "3\n")], tmp_path).write()
    assert (tmp_path / path).read_text("utf-8") == "by hand\n"
    # It is as it should be, whoever wrote it.
    assert Tree([Artefact(path, "by hand\n")], tmp_path).write()[path] is Status.UNCHANGED
    assert Tree([Artefact(path, "3\n")], tmp_path).write()[path] is Status.CHANGED


def test_a_file_without_a_mark_goes_if_it_is_as_it_was_rendered(tmp_path: Path) -> None:
    """Such as a file of a base, or the live settings of one of several outputs."""
    both = [Artefact("old/live-settings.json", "1\n"), Artefact("rsyslog.conf", "1\n")]
    (other,) = [Artefact("live-settings.json", "2\n")]
    Tree(both, tmp_path).write()
    assert Tree([other], tmp_path).states["rsyslog.conf"] is Status.REMOVED
    (tmp_path / "rsyslog.conf").write_text("by hand\n", encoding="utf-8")
    assert Tree([other], tmp_path).write() == {
        DIGESTS: Status.CHANGED,
        other.path: Status.NEW,
        "old/live-settings.json": Status.REMOVED,
    }
    assert not (tmp_path / "old/live-settings.json").exists()
    assert (tmp_path / "rsyslog.conf").read_text("utf-8") == "by hand\n"
    assert Tree(both[:1], tmp_path).write()[other.path] is Status.REMOVED


def test_a_list_of_digests_removes_nothing_outside_of_its_folder(tmp_path: Path) -> None:
    theirs, folder = tmp_path / "theirs", tmp_path / "out"
    theirs.write_text("1\n", encoding="utf-8")
    Tree([Artefact("a", "1\n")], folder).write()
    line = (folder / DIGESTS).read_text("utf-8").splitlines()[-1]
    listed = "\n".join(line[:-1] + path for path in ("../theirs", str(theirs)))
    (folder / DIGESTS).write_text(f"{OURS}{listed}\n", encoding="utf-8")
    Tree([Artefact("a", "1\n")], folder).write()
    assert theirs.exists()


def test_a_file_that_the_profile_reads_stays_though_it_says_that_it_is_ours(
    tmp_path: Path,
) -> None:
    base = marked("rsyslog.conf")
    Tree([base], tmp_path).write()
    read, role = [str(tmp_path / base.path)], [marked("files/rsyslog.conf")]
    assert base.path not in Tree(role, tmp_path, read).states
    assert base.path not in Tree(role, tmp_path, read).diff().replace("files/rsyslog.conf", "")
    assert base.path not in Tree(role, tmp_path, read).write()
    assert (tmp_path / base.path).exists()


def test_digests_are_only_there_where_they_are_needed_and_of_secrets_for_their_owner(
    tmp_path: Path,
) -> None:
    Tree([Artefact("a", "1\n", private=True), marked("b")], tmp_path).write()
    assert mode(tmp_path / DIGESTS) == 0o600
    assert " b\n" not in (tmp_path / DIGESTS).read_text("utf-8")
    assert Tree([marked("a"), marked("b")], tmp_path).write()[DIGESTS] is Status.REMOVED
    (tmp_path / DIGESTS).write_text("of another program\n", encoding="utf-8")
    with pytest.raises(Refused, match=DIGESTS):
        Tree([Artefact("c", "1\n")], tmp_path).write()


def test_a_link_in_the_way_is_named_and_what_it_leads_to_stays(tmp_path: Path) -> None:
    theirs = tmp_path / "theirs"
    Tree(render(small()), theirs).write()
    (tmp_path / "out").mkdir()
    (tmp_path / "out/rsyslog.conf").symlink_to(theirs / "rsyslog.conf")
    with pytest.raises(Refused, match="is a symbolic link"):
        Tree(render(small({"main_queue.size": 60_000})), tmp_path / "out").write()
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["rsyslog.conf"]
    assert (theirs / "rsyslog.conf").read_text("utf-8") == rsyslog_conf(small())


def test_a_change_of_line_ends_is_a_change(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(OURS.replace("\n", "\r\n").encode())
    assert stale(Tree([marked("a")], tmp_path).states) == ("a",)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    with pytest.raises(BadUsage, match="file is a file: name a folder"):
        Tree([Artefact("a", "1\n")], tmp_path / "file").write()
    with pytest.raises(JobFailed, match="cannot write"):
        Tree([Artefact("a", "1\n")], tmp_path / "file" / "below").write()


def test_a_file_that_stays_as_it_was_has_nothing_left_beside_it(tmp_path: Path) -> None:
    (tmp_path / "it").mkdir()
    with pytest.raises(JobFailed, match=f"cannot write {tmp_path}/it: Is a directory"):
        write_whole(tmp_path / "it", "text")
    assert [path.name for path in tmp_path.iterdir()] == ["it"]


def test_a_file_keeps_its_permissions_and_a_new_one_follows_the_umask(tmp_path: Path) -> None:
    path = tmp_path / "it"
    before = os.umask(0o027)
    try:
        write_whole(path, "first")
    finally:
        os.umask(before)
    assert path.stat().st_mode & 0o777 == 0o640
    path.chmod(0o604)
    write_whole(path, "second")
    assert (path.read_text("utf-8"), path.stat().st_mode & 0o777) == ("second", 0o604)


def test_hosts_that_the_inventory_no_longer_has_go_if_they_are_ours(tmp_path: Path) -> None:
    a, b = (Artefact(f"hosts/{name}/rsyslog.conf", OURS) for name in "ab")
    Tree([a, b], tmp_path).write()
    theirs = tmp_path / "hosts/c/rsyslog.conf"
    theirs.parent.mkdir()
    theirs.write_text('module(load="imtcp")\n', encoding="utf-8")
    assert Tree([a], tmp_path).write() == {a.path: Status.UNCHANGED, b.path: Status.REMOVED}
    assert [(tmp_path / one.path).exists() for one in (a, b)] == [True, False]
    assert theirs.exists()
    # Rendered for no host at all, it is another tree.
    Tree([Artefact("rsyslog.conf", OURS)], tmp_path).write()
    assert (tmp_path / a.path).exists()


def test_what_an_export_no_longer_has_goes_if_it_is_ours(tmp_path: Path) -> None:
    node = Artefact("files/elasticsearch.yml", OURS)
    Tree([node], tmp_path).write()
    assert Tree([], tmp_path).write() == {node.path: Status.REMOVED}
    assert not (tmp_path / node.path).exists()


def test_a_last_line_without_its_end_is_told(tmp_path: Path) -> None:
    Tree([marked("a", "1\n")], tmp_path).write()
    text = Tree([marked("a", "1")], tmp_path).diff()
    assert text.endswith("-1\n+1\n\\ No newline at end of file\n")


def test_a_file_that_comes_or_goes_is_compared_with_nothing() -> None:
    """As patch wants it."""
    assert list(unified("x", None, "1\n"))[:2] == ["--- /dev/null\n", "+++ b/x\n"]
    assert list(unified("x", "1\n", None))[:2] == ["--- a/x\n", "+++ /dev/null\n"]


def test_a_folder_in_the_place_of_a_file_is_named(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    with pytest.raises(JobFailed, match=f"cannot read {tmp_path / 'a'}: it is a folder"):
        Tree([marked("a")], tmp_path).diff()


def test_a_file_that_is_no_text_is_another_one(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"\xff\n")
    assert stale(Tree([marked("a")], tmp_path).states) == ("a",)
    assert f"-\udcff\n+{OURS}" in Tree([marked("a")], tmp_path).diff()


def test_whether_a_file_could_be_written_is_known_before_and_leaves_nothing(tmp_path: Path) -> None:
    require_writable(tmp_path / "it")
    assert list(tmp_path.iterdir()) == []
    for path in (tmp_path, tmp_path / "missing" / "it"):
        with pytest.raises(JobFailed, match=f"cannot write {path}: "):
            require_writable(path)
    with pytest.raises(BadUsage, match="- is not stdout here"):
        require_writable(Path("-"))


@pytest.mark.parametrize("ends", ["\n", "}\n"])
def test_more_lines_than_anybody_writes_are_counted_and_not_compared(ends: str) -> None:
    """A host may have any file in the place of a configuration."""
    shown = list(unified("x", ends * 300_000, "a\n}\n" * 50))
    assert shown == [
        "--- a/x\n", "+++ b/x\n", "@@ 300,000 lines, now 100: too many to compare them @@\n"
    ]  # fmt: skip
    assert list(unified("x", ends * 300_000, ends * 300_000)) == []
    other = list(unified("x", None, "a\x0bb\x85c\u2028d\n"))
    assert other[-1] == "+a\x0bb\x85c\u2028d\n"


def test_a_difference_shows_no_password_and_says_that_it_is_another() -> None:
    old = 'a\naction(pwd="s3cret" port="1")\nb\npwd="s3\\\ncret"\n'
    assert list(unified("x", old, old.replace("s3cret", "other")))[3:] == [
        " a\n", '-action(pwd="***" port="1")\n', '+action(pwd="***" port="1")\n', " b\n",
        ' pwd="***\n', ' ***"\n',
    ]  # fmt: skip
    assert list(unified("x", old, old)) == []
    assert list(unified("x", None, 'pwd="a"'))[-1] == '+pwd="***"\n\\ No newline at end of file\n'


@pytest.fixture
def full_disk(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """From now on there is no room for the file of a name."""
    fsync = os.fsync

    def fill(name: str) -> None:
        def refuse(handle: int) -> None:
            if Path(f"/proc/self/fd/{handle}").readlink().name.startswith(f".{name}."):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            fsync(handle)

        monkeypatch.setattr(os, "fsync", refuse)

    return fill


def test_on_a_full_disk_no_file_of_a_set_is_changed(
    tmp_path: Path, full_disk: Callable[[str], None]
) -> None:
    Tree([marked("a"), marked("b")], tmp_path).write()
    full_disk("b")
    with pytest.raises(JobFailed, match=rf"cannot write {tmp_path}/b: No space left on device"):
        Tree([marked(name, "2\n") for name in "abc"], tmp_path).write()
    left = {path.name: path.read_text("utf-8") for path in tmp_path.iterdir()}
    assert left == {"a": OURS, "b": OURS}


def test_on_a_full_disk_no_new_file_is_left_empty(
    tmp_path: Path, full_disk: Callable[[str], None]
) -> None:
    full_disk("b")
    with pytest.raises(JobFailed, match=rf"cannot write {tmp_path}/b: No space left on device"):
        write_new({tmp_path / "a": "1\n", tmp_path / "b": "1\n"})
    assert list(tmp_path.iterdir()) == []


def test_new_files_that_somebody_removed_meanwhile_hide_no_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(_: int) -> None:
        (tmp_path / "a").unlink()
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(JobFailed, match=rf"cannot write {tmp_path}/a: No space left on device"):
        write_new({tmp_path / "a": "1\n", tmp_path / "b": "1\n"})
    assert list(tmp_path.iterdir()) == []


def test_a_new_file_in_a_folder_that_cannot_be_made_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    path = tmp_path / "file" / "below" / "it"
    with pytest.raises(JobFailed, match=f"cannot write {path}: Not a directory"):
        write_new({tmp_path / "a": "1\n", path: "1\n"})
    assert [one.name for one in tmp_path.iterdir()] == ["file"]


def test_two_names_of_one_new_file_are_refused(tmp_path: Path) -> None:
    """Or the second text would take the place of the first."""
    (tmp_path / "sub").mkdir()
    again = tmp_path / "sub" / ".." / "a"
    with pytest.raises(JobFailed, match=f"cannot write {again}: File exists"):
        write_new({tmp_path / "a": "1\n", again: "2\n"})
    assert [one.name for one in tmp_path.iterdir()] == ["sub"]


def test_new_files_take_the_place_of_none(tmp_path: Path) -> None:
    (tmp_path / "b").symlink_to(tmp_path / "nowhere")
    with pytest.raises(Refused, match="b exists: name another file, or move it"):
        write_new({tmp_path / "a": "1\n", tmp_path / "b": "1\n"})
    assert [path.name for path in tmp_path.iterdir()] == ["b"]
    write_new({tmp_path / "c": "1\n", tmp_path / "d": "1\n"}, {tmp_path / "d"})
    assert (mode(tmp_path / "c"), mode(tmp_path / "d")) == (0o644, 0o600)
