# SPDX-License-Identifier: Apache-2.0
"""Experiments as data: reads bench/experiments/NAME.toml, checks every key, and gives plain records.

A mistake is reported as `FILE: KEY: what is wrong`, before any server is started. Knows nothing of
servers or statistics.
"""
import dataclasses
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Dict, List, Optional, Tuple

from .toml_table import Table

MPMS = ("prefork", "worker", "event")
KINDS = ("c-handler", "static", "luapool", "pypool", "mod_lua", "mod_python", "mod_wsgi")
METRICS = ("requests_per_second", "cpu_us", "p50_ms")


class ExperimentError(Exception):
    """The experiment's file, or what was asked for on the command line, cannot be run as it is."""


@dataclass(frozen=True)
class Load:
    """One way to ask: how many connections, kept alive or new for each request, and until when.

    Exactly one of requests (a number per round) and seconds (per round) is set.
    """
    name: str
    connections: int
    keep_alive: bool = True
    requests: int = 0
    seconds: float = 0.0
    threads: int = 1


@dataclass(frozen=True)
class Servers:
    """The size of each server: processes x threads under worker and event, prefork processes under
    prefork; backlog is the queue of connections not accepted yet."""
    processes: int = 2
    threads: int = 16
    prefork: int = 20
    backlog: int = 511

    def workers(self, mpm: str) -> int:
        """How many requests a server handles at the same time under an MPM."""
        return self.prefork if mpm == "prefork" else self.processes * self.threads


@dataclass(frozen=True)
class Cell:
    """One thing to measure: a kind of handler, the file it serves and the lines that set it up.

    path is asked for (default /FILE), body is what must come back byte for byte; conf holds further
    configuration lines; only_mpms limits the cell to some MPMs, and python ("3.12") to that version or later.
    """
    name: str
    kind: str
    file: str
    body: bytes
    path: str = ""
    conf: str = ""
    env: Dict[str, str] = field(default_factory=dict)
    only_mpms: Tuple[str, ...] = MPMS
    python: str = ""


@dataclass(frozen=True)
class Comparison:
    """A pair of cells whose ratio the report states in words: cell against over, in a metric, under the
    same MPM or under over_mpm."""
    cell: str
    over: str
    metric: str = "cpu_us"
    over_mpm: str = ""


@dataclass(frozen=True)
class Past:
    """A figure from earlier years, printed beside what this run gives for the same question.

    unit is "requests/s", or "%" for a cell's requests/s as a share of another's (over).
    """
    year: int
    what: str
    value: float
    unit: str
    cell: str
    load: str
    over: str = ""
    mpm: str = ""


@dataclass(frozen=True)
class Experiment:
    """All of one experiment. baseline names the cell that the others' ratios refer to."""
    name: str
    title: str
    question: str
    baseline: str
    rounds: int
    mpms: Tuple[str, ...]
    servers: Servers
    loads: Tuple[Load, ...]
    cells: Tuple[Cell, ...]
    comparisons: Tuple[Comparison, ...] = ()
    past: Tuple[Past, ...] = ()


def load(path: Path, handlers: Path) -> Experiment:
    """Reads and checks an experiment. Files of cells are looked for below handlers.

    Raises ExperimentError with the file and the key for anything that is missing, unknown, of the wrong
    type or out of range.
    """
    return _Reader(path, handlers).experiment(_parse(path))


def narrowed(experiment: Experiment, mpms: Optional[List[str]] = None, cells: Optional[List[str]] = None,
             rounds: Optional[int] = None, seconds: Optional[float] = None) -> Experiment:
    """The experiment with fewer MPMs or cells, other rounds, or rounds of another length.

    Raises ExperimentError naming the value that does not exist or is out of range.
    """
    if rounds is not None and rounds < 1:
        raise ExperimentError("ROUNDS must be at least 1, not %d" % rounds)
    if seconds is not None and not 0.05 <= seconds <= 3600:
        raise ExperimentError("RUN_SECONDS must be between 0.05 and 3600, not %g" % seconds)
    changes: Dict[str, Any] = {"rounds": rounds or experiment.rounds}
    changes["mpms"] = tuple(_known("MPMS", mpms, experiment.mpms))
    names = [cell.name for cell in experiment.cells]
    wanted = _known("CELLS", cells, names)
    changes["cells"] = tuple(cell for cell in experiment.cells if cell.name in wanted)
    if seconds is not None:
        changes["loads"] = tuple(dataclasses.replace(load, seconds=seconds, requests=0)
                                 for load in experiment.loads)
    return dataclasses.replace(experiment, **changes)


def _known(word: str, asked: Optional[List[str]], offered) -> List[str]:
    for name in asked or []:
        if name not in offered:
            raise ExperimentError("%s: there is no %r; choose from %s" % (word, name, ", ".join(offered)))
    return [name for name in offered if not asked or name in asked]


def _parse(path: Path) -> Dict[str, Any]:
    try:
        import tomllib
    except ImportError:
        try:
            import tomli as tomllib
        except ImportError:
            raise ExperimentError("reading experiments needs Python 3.11, or the module tomli with an older "
                                  "one (Debian: apt-get install python3-tomli)") from None
    try:
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        offered = sorted(other.stem for other in path.parent.glob("*.toml"))
        raise ExperimentError("there is no experiment %r in %s; choose from %s"
                              % (path.stem, path.parent, ", ".join(offered))) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ExperimentError("%s: %s" % (path, error)) from None


class _Reader:
    """Turns parsed tables into records, remembering the file for its messages."""

    def __init__(self, path: Path, handlers: Path):
        self.path, self.handlers = path, handlers

    def fail(self, key: str, message: str):
        raise ExperimentError("%s: %s: %s" % (self.path, key, message))

    def experiment(self, table: Dict[str, Any]) -> Experiment:
        get = Table(self.fail, "", table)
        cells = tuple(self.cell(get) for get in get.tables("cell", at_least=1))
        loads = tuple(self.load(get) for get in get.tables("load", at_least=1))
        self.unique("cell", cells)
        self.unique("load", loads)
        names = [cell.name for cell in cells]
        made = Experiment(
            name=self.path.stem, title=get.text("title"), question=get.text("question", ""),
            baseline=get.choice("baseline", names), rounds=get.number("rounds", 5, 1, 1000),
            mpms=get.choices("mpms", MPMS), servers=self.servers(get.table("servers")),
            loads=loads, cells=cells,
            comparisons=tuple(self.comparison(get, names) for get in get.tables("comparison")),
            past=tuple(self.past(get, names, loads) for get in get.tables("past")))
        get.done()
        return made

    def unique(self, kind: str, records):
        seen = set()
        for i, record in enumerate(records, 1):
            if record.name in seen:
                self.fail("%s[%d].name" % (kind, i), "there is already a %s %r" % (kind, record.name))
            seen.add(record.name)

    def load(self, get: Table) -> Load:
        made = Load(name=get.text("name"), connections=get.number("connections", None, 1, 20000),
                    keep_alive=get.flag("keep_alive", True), requests=get.number("requests", 0, 0, 10 ** 9),
                    seconds=get.real("seconds", 0.0, 0.0, 3600.0), threads=get.number("threads", 1, 1, 256))
        get.done()
        if bool(made.requests) == bool(made.seconds):
            self.fail(get.where, "needs either requests or seconds")
        return made

    def servers(self, get: Table) -> Servers:
        plain = Servers()
        made = Servers(processes=get.number("processes", plain.processes, 1, 1000),
                       threads=get.number("threads", plain.threads, 1, 10000),
                       prefork=get.number("prefork", plain.prefork, 1, 10000),
                       backlog=get.number("backlog", plain.backlog, 1, 65535))
        get.done()
        return made

    def cell(self, get: Table) -> Cell:
        file = get.text("file")
        path = get.text("path", "/" + file)
        made = Cell(name=get.text("name"), kind=get.choice("kind", KINDS), file=file, path=path,
                    body=self.body(get), conf=get.text("conf", ""), env=get.texts("env"),
                    only_mpms=get.choices("only_mpms", MPMS), python=self.version(get))
        get.done()
        if not path.startswith("/"):
            self.fail(get.at("path"), "must begin with /")
        if made.kind != "c-handler" and not (self.handlers / file).is_file():
            self.fail(get.at("file"), "there is no %s" % (self.handlers / file))
        return made

    def version(self, get: Table) -> str:
        text = get.text("python", "")
        if text and not re.fullmatch(r"\d+\.\d+", text):
            self.fail(get.at("python"), 'must be a version like "3.12", not %r' % text)
        return text

    def body(self, get: Table) -> bytes:
        text, file = get.text("body", ""), get.text("body_file", "")
        if bool(text) == bool(file):
            self.fail(get.where, "needs either body or body_file")
        if text:
            return text.encode()
        try:
            return (self.handlers / file).read_bytes()
        except OSError as error:
            return self.fail(get.at("body_file"), str(error))

    def comparison(self, get: Table, names) -> Comparison:
        made = Comparison(get.choice("cell", names), get.choice("over", names),
                          get.choice("metric", METRICS, "cpu_us"), get.choice("over_mpm", MPMS, ""))
        get.done()
        return made

    def past(self, get: Table, names, loads) -> Past:
        made = Past(year=get.number("year", None, 1990, 2100), what=get.text("what"),
                    value=get.real("value", None, 0.0, 1e12), unit=get.choice("unit", ("requests/s", "%")),
                    cell=get.choice("cell", names), load=get.choice("load", [load.name for load in loads]),
                    over=get.choice("over", names, ""), mpm=get.choice("mpm", MPMS, ""))
        get.done()
        if (made.unit == "%") != bool(made.over):
            self.fail(get.at("over"), 'goes with unit = "%", and only with it')
        return made
