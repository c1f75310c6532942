"""Strategies compete on surfaces they have never seen.  Run by hand, long runs resume:

python tests/benchmarks/arena.py TABLE.csv --objective COLUMN --goal max|min [options]

Instead of a table, `simulator` is our simulated pipeline (--variants machines of it), `actions` is
it with two to six actions of unequal shares, `null` a surface on which everything is equal, and
`traps` are those with a local optimum that is left only by turning several settings at once.  Every
strategy has the same trials, noise and confirmation.  With `actions` there is a strategy `told`:
the default one, which turns nothing of the actions that hardly matter.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

from tests.benchmarks.arena_actions import SHARES, several
from tests.benchmarks.arena_search import Plan, Result, run
from tests.benchmarks.arena_summary import printed, summary
from tests.benchmarks.arena_surfaces import TRAPS, Noise, Surface, null, simulated, table, trap
from tests.benchmarks.rivals import NAMES

ROOT = Path(__file__).parents[2]
_MADE = ("simulator", "actions", "null", "traps")
_DECIDES = (
    "tuner/search/strategies/*.py",
    "tuner/search/space.py",
    "tuner/search/climb.py",
    "tuner/measure/paired.py",
    "tuner/space/*.py",
    "tests/benchmarks/arena_*.py",
    "tests/benchmarks/rival*.py",
    "tests/search/random_points.py",
    "tests/benchmarks/simulator.py",
)


def main() -> None:
    options = _options()
    noise = Noise(options.noise, options.drift)
    plan = Plan.of(options.budget)
    done = _done(options.results)
    results = []
    for surface in _surfaces(options, noise):
        for seed in range(options.seeds):
            for name in options.strategies:
                key = _key(surface, name, seed, noise, plan)
                if key not in done:
                    result = run(surface, name, seed, noise.sigma, plan)
                    _append(options.results, key, result)
                    done[key] = result
                results.append(done[key])
            _progress(f"{surface.name}: seed {seed + 1} of {options.seeds}")
    _progress("")
    found = summary(results)
    said = json.dumps(found, indent=2) if options.output == "json" else printed(found)
    sys.stdout.write(said + "\n")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    parser.add_argument("surfaces", nargs="+", metavar=f"TABLE.csv|{'|'.join(_MADE)}")
    parser.add_argument("--objective", help="the column that is searched for its best value")
    parser.add_argument("--goal", choices=("max", "min"), default="max")
    parser.add_argument("--ignore", nargs="*", action="extend", default=[], metavar="COLUMN")
    parser.add_argument("--noise", type=float, default=0.05, help="of the logarithm of a trial")
    parser.add_argument("--drift", type=float, default=0.0, help="of the logarithm, slow")
    parser.add_argument("--budget", type=int, default=60, help="trials, confirmation included")
    parser.add_argument("--seeds", type=int, default=50)
    parser.add_argument("--variants", type=int, default=5, help="machines of the simulator")
    parser.add_argument("--strategies", type=_names, default=("default", "random"))
    parser.add_argument("--output", choices=("text", "json"), default="text")
    parser.add_argument("--results", type=Path, default=Path("arena.jsonl"), help="resumed from")
    options = parser.parse_args()
    tables = [name for name in options.surfaces if name not in _MADE]
    if tables and not options.objective:
        parser.error(f"{tables[0]}: name the column to search for with --objective")
    if missing := [name for name in tables if not Path(name).is_file()]:
        parser.error(f"{missing[0]}: there is no such file")
    return options


def _names(text: str) -> tuple[str, ...]:
    names = tuple(text.split(","))
    if unknown := [name for name in names if name not in NAMES]:
        raise argparse.ArgumentTypeError(f"{unknown[0]}: choose among {', '.join(NAMES)}")
    return names


def _surfaces(options: argparse.Namespace, noise: Noise) -> list[Surface]:
    found = []
    for name in options.surfaces:
        if name == "null":
            found.append(null(noise))
        elif name == "traps":
            found += [trap(variant, noise) for variant in range(len(TRAPS))]
        elif name == "actions":
            found += [several(variant, noise, options.budget) for variant in range(len(SHARES))]
        elif name == "simulator":
            found += [simulated(variant, noise) for variant in range(options.variants)]
        else:
            ignored = set(options.ignore)
            found.append(table(Path(name), options.objective, options.goal, ignored, noise))
    return found


def _key(surface: Surface, name: str, seed: int, noise: Noise, plan: Plan) -> str:
    """What a result depends on, the sources of the method among them."""
    sources = sorted(path for pattern in _DECIDES for path in ROOT.glob(pattern))
    code = hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()[:12]
    return json.dumps([surface.name, name, seed, asdict(noise), asdict(plan), code])


def _done(path: Path) -> dict[str, Result]:
    """The results of earlier runs; a torn last line is left out."""
    done = {}
    for line in path.read_text(encoding="utf-8").splitlines() if path.is_file() else []:
        try:
            told = json.loads(line)
        except json.JSONDecodeError:
            continue
        done[told["key"]] = Result(**told["result"])
    return done


def _append(path: Path, key: str, result: Result) -> None:
    # On a line of its own, also after one that an interrupted run left torn.
    torn = path.is_file() and not path.read_bytes().endswith(b"\n")
    with path.open("a", encoding="utf-8") as file:
        file.write("\n" * torn + json.dumps({"key": key, "result": asdict(result)}) + "\n")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r\033[K{text}")
        sys.stderr.flush()


if __name__ == "__main__":
    main()
