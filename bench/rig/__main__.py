# SPDX-License-Identifier: Apache-2.0
"""Command line of the rig: python3 -m rig run | report | compare (docs/measuring.md)."""
import argparse
import random
import signal
import sys
from pathlib import Path

from harness.httpd import ServerError

from . import analysis, compare, experiment, results, table
from .driver import DriverError
from .run import run

BENCH = Path(__file__).resolve().parent.parent


def main() -> int:
    """Exit status: 0 good; 1 requests failed or a server logged a fault; 2 it could not be measured or read, with a message."""
    options = _parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        return options.command(options)
    except (experiment.ExperimentError, DriverError, ServerError, analysis.ResultError, OSError) as error:
        print("bench: %s" % error, file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nbench: interrupted; the servers are stopped, nothing was stored", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="bench", description="Measures httpd's handlers against each other.")
    commands = parser.add_subparsers(required=True, metavar="run | report | compare")
    run_it = commands.add_parser("run", help="run an experiment, print its table, store the result")
    run_it.add_argument("experiment", nargs="?", default="hello", help="name or path of a TOML file (hello)")
    run_it.add_argument("--mpms", type=_words, help="only these, separated by commas or spaces")
    run_it.add_argument("--cells", type=_words, help="only these, separated by commas or spaces")
    run_it.add_argument("--rounds", type=int, help="how often each cell is measured")
    run_it.add_argument("--seconds", type=float, help="length of one measurement, whatever the experiment says")
    run_it.add_argument("--seed", type=int, help="of the rounds' order and the statistics (default: a new one)")
    run_it.add_argument("--results", default="results", help="folder, or file name ending in .json (results)")
    run_it.set_defaults(command=_run)
    again = commands.add_parser("report", help="print a stored result again and draw its page anew")
    again.add_argument("file", type=_stored)
    again.set_defaults(command=_report)
    two = commands.add_parser("compare", help="compare two stored results")
    two.add_argument("a", type=_stored)
    two.add_argument("b", type=_stored)
    two.set_defaults(command=_compare)
    return parser


def _stored(text: str) -> Path:
    if not text:
        raise argparse.ArgumentTypeError("name a stored result: A=results/NAME.json (and B=... to compare)")
    return Path(text)


def _words(text: str):
    return text.replace(",", " ").split()


def _run(options) -> int:
    path = Path(options.experiment)
    if path.suffix != ".toml":
        path = BENCH / "experiments" / (options.experiment + ".toml")
    handlers = BENCH / "handlers"
    chosen = experiment.narrowed(experiment.load(path, handlers), options.mpms, options.cells,
                                 options.rounds, options.seconds)
    seed = random.SystemRandom().randrange(10 ** 6) if options.seed is None else options.seed
    result = run(chosen, handlers, seed)
    path = results.target(options.results, result)
    results.store(path, result)
    return _present(path, result)


def _report(options) -> int:
    return _present(options.file, results.read(options.file))


def _present(path: Path, result) -> int:
    report = analysis.report(result)
    print(table.text(report, table.origin(result)), end="")
    print("%s, %s" % (path, results.draw(path, result, report)))
    return 1 if result["faults"] or any(row.failed for row in report.rows) else 0


def _compare(options) -> int:
    print(compare.text(results.read(options.a), results.read(options.b), str(options.a), str(options.b)), end="")
    return 0


sys.exit(main())
