"""Generated configurations, imported and run beside what is rendered: one line of JSON for each
case, and the table of what it found.

    python -m tests.live.corpus LOG [COUNT [FROM]]      run what LOG has not
    python -m tests.live.corpus LOG --only 7,19         run those again, and print them
    python -m tests.live.corpus LOG --table
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
import traceback
from collections import Counter
from itertools import combinations
from pathlib import Path
from subprocess import run

from tests.live.generated import FILES, Grammar
from tests.live.generated_lab import GeneratedLab, dealt
from tuner.errors import BadProfile
from tuner.host.programs import rsyslog_version
from tuner.importer.translate import translate
from tuner.importer.written import profile_text
from tuner.lint.load import parse_profile
from tuner.profile.starter import on_top_of
from tuner.rainerscript.configuration import configuration
from tuner.render.artefacts import base_files, rsyslog_conf
from tuner.render.form import Form
from tuner.validate.equality import discrepancies
from tuner.validate.varied import varied_events, words_asked_for


def one_case(number: int, lab: GeneratedLab, keep: bool = False) -> dict[str, object]:
    """What became of one configuration."""
    case = Grammar(number).case()
    found: dict[str, object] = {"number": number, "features": sorted(case.features)}
    folder = lab.home.with_name("conf")
    (lab.home / "spool").mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    for name, content in case.files.items():
        (lab.home / name).write_text(content.replace(FILES, str(lab.home)), encoding="utf-8")
    path = folder / "site.conf"
    path.write_text(case.text.replace(FILES, str(lab.home)), encoding="utf-8")
    read = configuration([path])
    events = dealt(varied_events(words_asked_for(read.block)), number)
    before = lab.run(path.read_text("utf-8"), case, events)
    if before.refused:
        return found | {"state": "rejected", "why": before.refused}
    found |= _base(path)
    try:
        release = rsyslog_version()
        imported = translate(read, "site", release)
        found |= {key: [f"{one.origin.line}: {one.message}" for one in getattr(imported, key)]
                  for key in ("missing", "changed", "kept")}  # fmt: skip
        text = profile_text(imported, [path.name])
        loaded = parse_profile(text, "site.yaml")
        form = Form(imported.snippets)
        rendered = rsyslog_conf(loaded.profile, form=form)
    except BadProfile as bad:
        return found | {"state": "bad profile", "why": [str(one) for one in bad.problems]}
    except Exception:
        return found | {"state": "crash", "why": traceback.format_exc()}
    if keep:
        (folder / "site.yaml").write_text(text, encoding="utf-8")
        (folder / "rendered.conf").write_text(rendered, encoding="utf-8")
    after = lab.run(rendered, case, events)
    if after.refused:
        return found | {"state": "rendered refused", "why": after.refused}
    differences = [str(one) for one in discrepancies(before.delivered, after.delivered)]
    found |= {
        "arrivals": len(before.delivered.arrivals), "said": before.said[-1500:],
        "said_rendered": after.said[-1500:], "differences": differences,
    }  # fmt: skip
    state = "same" if not differences else "differs"
    if not before.delivered.arrivals and not differences:
        state = "nothing arrived"
    return found | {"state": state}


def _base(path: Path) -> dict[str, object]:
    """Whether the default import renders the files as they are."""
    try:
        loaded = parse_profile(on_top_of(str(path), "site", None, None), "base.yaml")
        assert loaded.profile.base is not None
        files = base_files(loaded.profile.base.kept)
        same = all(Path(name).read_bytes() == one.text.encode("utf-8", "surrogateescape") for name, one in files.items())
        return {"base": "same" if same and str(path) in files else "other"}
    except BadProfile as bad:
        return {"base": "; ".join(map(str, bad.problems))}
    except Exception:
        return {"base": traceback.format_exc()}


def table(log: Path) -> str:
    """What a log says."""
    cases = _read(log)
    states = Counter(str(one["state"]) for one in cases.values())
    lines = [f"{len(cases)} generated"]
    lines += [f"  {count:5d} {state}" for state, count in states.most_common()]
    bases = Counter(str(one.get("base", "-"))[-120:] for one in cases.values())
    lines += ["base:", *(f"  {count:5d} {what}" for what, count in bases.most_common(6))]
    features = Counter(feature for one in cases.values() if one["state"] != "rejected" for feature in one["features"])  # type: ignore[attr-defined]
    pairs = {pair for one in cases.values() if one["state"] != "rejected" for pair in combinations(one["features"], 2)}  # type: ignore[call-overload]
    every = len(features) * (len(features) - 1) // 2
    lines.append(f"{len(features)} features, the rarest {features.most_common()[-3:]}; {len(pairs)} of {every} pairs")
    lines.append(f"took {sum(float(one['took_s']) for one in cases.values()):.0f} s")  # type: ignore[arg-type]
    return "\n".join(lines)


def _read(log: Path) -> dict[int, dict[str, object]]:
    found = {}
    for line in log.read_text("utf-8").splitlines() if log.exists() else ():
        one = json.loads(line)
        found[one["number"]] = one
    return found


def main(words: list[str]) -> None:
    log = Path(words[0])
    if "--table" in words:
        print(table(log))
        return
    if os.environ.get("CORPUS_INSIDE") is None:
        os.environ["CORPUS_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "-n", sys.executable, "-m", "tests.live.corpus", *words])
    run(["ip", "link", "set", "lo", "up"], check=True)
    done = _read(log)
    only = [int(one) for one in words[2].split(",")] if "--only" in words else []
    count, first = (int(words[1]) if len(words) > 1 and not only else 0), int(words[2]) if len(words) > 2 and not only else 0
    numbers = only or [one for one in range(first, first + count) if one not in done]
    home = Path(os.environ.get("CORPUS_HOME") or tempfile.mkdtemp()) / "home"
    home.parent.mkdir(exist_ok=True, parents=True)
    lab = GeneratedLab(home)
    for number in numbers:
        began = time.monotonic()
        found = one_case(number, lab, keep=bool(only))
        if found["state"] not in {"same", "nothing arrived", "rejected"}:
            found["text"] = Grammar(number).case().text
        found["took_s"] = round(time.monotonic() - began, 2)
        with log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(found) + "\n")
        if only:
            print(json.dumps({key: one for key, one in found.items() if key not in {"features", "text"}}, indent=1))
    print(table(log))


if __name__ == "__main__":
    main(sys.argv[1:])
