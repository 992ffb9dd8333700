# SPDX-License-Identifier: Apache-2.0
"""The rig: statistics against known values, experiments' mistakes named, reports from a stored result, and one tiny
run against a real server. No test judges by time."""
import io
import json
import os
import random
import re
import shutil
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from harness.httpd import ServerError

SOURCES = Path(__file__).resolve().parents[1]
BENCH = SOURCES / "bench"
sys.path.insert(0, str(BENCH))

from rig import analysis, compare, driver, experiment, page, procfs, results, stats, svg, table  # noqa: E402
from rig.fleet import Fleet, Member  # noqa: E402
from rig.progress import Progress  # noqa: E402
from rig.run import orders  # noqa: E402


@pytest.fixture(autouse=True)
def fewer_resamples(monkeypatch):
    monkeypatch.setattr(stats, "RESAMPLES", 500)


class TestStatistics:
    def test_median_of_even_and_odd(self):
        assert stats.median([3, 1, 2]) == 2
        assert stats.median([4, 1, 2, 3]) == 2.5
        with pytest.raises(ValueError):
            stats.median([])

    def test_wilcoxon_agrees_with_the_published_exact_table(self):
        assert stats.wilcoxon_p([1, 2, 3, 4, 5, 6]) == 2 / 64
        assert stats.wilcoxon_p([1, 2, 3, 4, 5, -6]) == pytest.approx(28 / 64)  # W = 6 of 21
        assert stats.wilcoxon_p([-1, 2, 3, 4, 5, 6, 7, 8]) == pytest.approx(4 / 256)
        assert stats.wilcoxon_p([0, 0]) == 1.0

    def test_mann_whitney_agrees_with_the_published_exact_table(self):
        assert stats.mann_whitney_p([1, 2, 3, 4], [5, 6, 7, 8]) == pytest.approx(2 / 70)
        assert stats.mann_whitney_p([1, 2, 3], [4, 5, 6]) == pytest.approx(0.1)
        assert stats.mann_whitney_p([1, 1, 1], [1, 1, 1]) == 1.0

    @pytest.mark.parametrize("test", ["wilcoxon", "mann_whitney"])
    def test_the_normal_approximation_continues_the_exact_test(self, test, monkeypatch):
        draw = random.Random(7)
        a, b = [[draw.gauss(0.3 * i, 1) for _ in range(12)] for i in (1, 0)]
        ask = {"wilcoxon": lambda: stats.wilcoxon_p([x - y for x, y in zip(a, b)]),
               "mann_whitney": lambda: stats.mann_whitney_p(a, b)}[test]
        exact = ask()
        monkeypatch.setattr(stats, "EXACT_LIMIT", 0)
        assert ask() == pytest.approx(exact, abs=0.02)

    def test_ties_share_their_mean_rank(self):
        assert stats.mean_ranks([10, 20, 20, 30]) == [1, 2.5, 2.5, 4]

    def test_holm_corrects_and_keeps_the_order(self):
        assert stats.holm([0.01, 0.04, 0.03]) == pytest.approx([0.03, 0.06, 0.06])
        assert stats.holm([0.9, 0.8]) == [1.0, 1.0]

    def test_a_ratio_is_the_mirror_of_its_inverse(self):
        a, b = [10, 11, 12, 13, 14], [20, 21, 25, 24, 30]
        there, back = stats.paired_ratio(a, b, 1), stats.paired_ratio(b, a, 1)
        assert there.middle == pytest.approx(1 / back.middle)
        assert there.low == pytest.approx(1 / back.high)
        assert there.differs and back.differs

    def test_one_seed_gives_one_interval(self):
        values = [1.0, 1.1, 0.9, 1.3, 1.2]
        assert stats.estimate_median(values, 3) == stats.estimate_median(values, 3)

    def test_one_round_has_no_interval(self):
        assert stats.estimate_median([5.0], 1) == stats.Estimate(5.0, None, None)
        ratio = stats.paired_ratio([2.0], [1.0], 1)
        assert (ratio.middle, ratio.low, ratio.differs) == (pytest.approx(2.0), None, False)

    def test_what_has_no_ratio_is_refused(self):
        with pytest.raises(ValueError, match="positive"):
            stats.paired_ratio([0.0], [1.0], 1)
        with pytest.raises(ValueError, match="one length"):
            stats.paired_ratio([1.0], [1.0, 2.0], 1)

    def test_intervals_hold_the_truth_about_as_often_as_they_say(self):
        draw = random.Random(11)
        held = 0
        for i in range(200):
            a, b = [[draw.lognormvariate(0, 0.05) for _ in range(12)] for _ in range(2)]
            held += not stats.paired_ratio(a, b, i).differs
        assert 180 <= held <= 200  # 95 % of 200 is 190; the binomial's 0.1 % tail begins at 179

    def test_a_difference_of_the_size_called_detectable_is_mostly_found(self):
        draw = random.Random(13)
        noise = lambda: [draw.lognormvariate(0, 0.05) for _ in range(12)]  # noqa: E731
        usual = stats.median([stats.paired_ratio(noise(), noise(), i).detectable for i in range(50)])
        found = sum(stats.paired_ratio([x * (1 + usual) for x in noise()], noise(), i).differs for i in range(100))
        assert found >= 60


GOOD = """
title = "t"
baseline = "a"
[[load]]
name = "l"
connections = 4
seconds = 0.1
[[cell]]
name = "a"
kind = "static"
file = "hello.txt"
body = "Hello World!"
"""


def load_text(tmp_path, text):
    path = tmp_path / "try.toml"
    path.write_text(text)
    return experiment.load(path, BENCH / "handlers")


class TestExperiments:
    @pytest.mark.parametrize("name", sorted(path.stem for path in (BENCH / "experiments").glob("*.toml")))
    def test_every_committed_experiment_is_valid(self, name):
        assert experiment.load(BENCH / "experiments" / (name + ".toml"), BENCH / "handlers").name == name

    def test_the_smallest_one(self, tmp_path):
        found = load_text(tmp_path, GOOD)
        assert (found.mpms, found.rounds, found.cells[0].path) == (experiment.MPMS, 5, "/hello.txt")

    @pytest.mark.parametrize("old, new, message", [
        ('title = "t"', "", r"title: is missing"),
        ('title = "t"', 'title = 3', r"title: must be a string, not 3"),
        ('title = "t"', 'title = "t"\nmpms = ["evnt"]', r"mpms: there is no 'evnt'; choose from prefork, worker, event"),
        ('baseline = "a"', 'baseline = "b"', r"baseline: there is no 'b'; choose from a"),
        ('baseline = "a"', 'baseline = "a"\nrounds = true', r"rounds: must be a whole number, not True"),
        ('connections = 4', 'connections = 0', r"load\[1\]\.connections: must be between 1 and 20000, not 0"),
        ('connections = 4', 'conections = 4', r"load\[1\]\.connections: is missing"),
        ('seconds = 0.1', 'seconds = 0.1\nkeepalive = true', r"load\[1\]\.keepalive: unknown key; known here: .*keep_alive"),
        ('seconds = 0.1', '', r"load\[1\]: needs either requests or seconds"),
        ('kind = "static"', 'kind = "php"', r"cell\[1\]\.kind: there is no 'php'"),
        ('file = "hello.txt"', 'file = "hullo.txt"', r"cell\[1\]\.file: there is no .*hullo.txt"),
        ('body = "Hello World!"', '', r"cell\[1\]: needs either body or body_file"),
        ('file = "hello.txt"', 'file = "hello.txt"\npython = "new"', r"cell\[1\]\.python: must be a version like"),
        ('body = "Hello World!"', 'body_file = "none"', r"cell\[1\]\.body_file: .*No such file"),
        ('[[load]]', '[servers]\nthreads = "x"\n[[load]]', r"servers\.threads: must be a whole number, not 'x'"),
        ('title = "t"', 'title =', r"Invalid value|invalid"),
    ])
    def test_a_mistake_is_named_with_file_and_key(self, tmp_path, old, new, message):
        assert old in GOOD
        with pytest.raises(experiment.ExperimentError, match=r"try\.toml: " + message if "nvalid" not in message else message):
            load_text(tmp_path, GOOD.replace(old, new))

    def test_an_unknown_experiment_names_the_known_ones(self):
        with pytest.raises(experiment.ExperimentError, match=r"no experiment 'helo'.*hello, lua-vs-python"):
            experiment.load(BENCH / "experiments" / "helo.toml", BENCH / "handlers")

    def test_narrowing(self, tmp_path):
        found = experiment.narrowed(load_text(tmp_path, GOOD), mpms=["event"], rounds=2, seconds=0.5)
        assert (found.mpms, found.rounds, found.loads[0].seconds) == (("event",), 2, 0.5)
        with pytest.raises(experiment.ExperimentError, match="CELLS: there is no 'b'; choose from a"):
            experiment.narrowed(found, cells=["b"])
        with pytest.raises(experiment.ExperimentError, match="MPMS: there is no 'prefork'; choose from event"):
            experiment.narrowed(found, mpms=["prefork"])
        with pytest.raises(experiment.ExperimentError, match="ROUNDS"):
            experiment.narrowed(found, rounds=0)


def make_result(rounds=6, cost=None, failures=0, seed=1):
    """A stored result of two MPMs and three cells; cost: server CPU in µs per request by cell."""
    cost = cost or {"c-handler": 30, "luapool": 31, "mod_lua": 150}
    draw = random.Random(seed)
    entries = []
    for number in range(1, rounds + 1):
        for mpm in ("prefork", "event"):
            drift = draw.lognormvariate(0, 0.1)
            for name, base in cost.items():
                per_request = base * drift * draw.lognormvariate(0, 0.01)
                entries.append({
                    "round": number, "position": 0, "mpm": mpm, "cell": name, "load": "l", "ok": 10000,
                    "failures": {"status": failures}, "seconds": 0.5, "requests_per_second": 20000, "p50_ns": 400000, "p99_ns": 900000,
                    "buckets": [[400000, 9800], [900000, 200]], "driver_cpu_ns": 10 ** 8, "driver_bound": False, "driver_busy": 0.4,
                    "driver_reasons": [], "server_cpu_ns": int(per_request * 1e7), "wall_ns": 520000000,
                    "machine_busy_ns": int(per_request * 1e7) + 10 ** 8, "stolen_ns": 0})
    cells = [{"name": name} for name in cost]
    servers = [{"mpm": mpm, "cell": name, "pss": 9 << 20, "private": 1 << 20, "processes": 3,
                "configuration": "Listen <here>"} for mpm in ("prefork", "event") for name in cost]
    return {
        "format": analysis.FORMAT, "started": "2026-11-30T12:00:00+00:00", "finished": "", "seed": 5, "faults": [],
        "machine": {"processor": "Some <CPU>", "cores": 2, "virtual": True, "system": "Debian", "kernel": "6.1"},
        "versions": {"httpd": "Apache/2.4", "sources": "abc"}, "skipped": [{"cell": "mod_wsgi", "why": "not there"}],
        "experiment": {
            "name": "try", "title": "A <title>", "question": "Why?", "baseline": "c-handler", "rounds": rounds,
            "mpms": ["prefork", "event"], "loads": [{"name": "l"}], "cells": cells,
            "comparisons": [{"cell": "luapool", "over": "mod_lua", "metric": "cpu_us", "over_mpm": ""},
                            {"cell": "luapool", "over": "luapool", "metric": "requests_per_second",
                             "over_mpm": "prefork"}],
            "past": [{"year": 2008, "what": "then", "value": 2389, "unit": "requests/s", "cell": "luapool",
                      "load": "l", "over": "", "mpm": "event"},
                     {"year": 2009, "what": "share", "value": 115, "unit": "%", "cell": "luapool", "load": "l",
                      "over": "mod_lua", "mpm": ""}]},
        "rounds": entries, "servers": servers}


class FaultyServer:
    """What a fleet needs of a server, one with a fault in its log that does not end well either."""
    stopped = False

    def check_log(self):
        raise AssertionError("a child crashed")

    def stop(self):
        self.stopped = True
        raise ServerError("httpd ended with status 1")


class TestFleet:
    @pytest.mark.parametrize("kind", ["luapool", "mod_wsgi"])
    def test_a_server_with_a_fault_in_its_log_is_stopped(self, kind):
        chosen = experiment.load(BENCH / "experiments" / "hello.toml", BENCH / "handlers")
        cell = next(cell for cell in chosen.cells if cell.kind == kind)
        fleet = Fleet(chosen, BENCH / "handlers", print)
        server = FaultyServer()
        fleet.members.append(Member("event", cell, server))
        fleet.stop()
        shutil.rmtree(fleet.folder)
        assert server.stopped
        assert sorted(fleet.faults[0].splitlines()) == [f"event/{kind}: a child crashed", f"event/{kind}: httpd ended with status 1"]


class TestReport:
    def test_drift_that_all_cells_share_leaves_the_paired_ratio_sharp(self):
        report = analysis.report(make_result())
        row = next(row for row in report.rows if (row.mpm, row.cell) == ("event", "mod_lua"))
        assert row.ratio.middle == pytest.approx(5, rel=0.02)
        assert row.ratio.high / row.ratio.low < 1.06 < row.cpu_us.high / row.cpu_us.low
        assert row.requests_per_second.middle == 20000
        assert (row.p50_ms.middle, row.p99_ms) == (0.4, 0.9)

    def test_verdicts_in_words(self):
        report = analysis.report(make_result())
        assert [verdict.mpm for verdict in report.verdicts] == ["prefork", "event", "event"]
        assert re.fullmatch(r"4\.\d\d x cheaper \(95 %: 4\.\d\d to 4\.\d\d\)", report.verdicts[0].text)
        assert report.verdicts[2].over == "luapool under prefork"

    def test_no_difference_is_said_with_what_would_have_been_seen(self):
        ratio = stats.Ratio(1.0, 0.98, 1.02, 0.041)
        assert analysis.in_words(ratio, "cpu_us") == "no difference seen; would have seen 4.1 %"
        wild = stats.Ratio(1.0, 0.1, 8.0, 2.5)
        assert analysis.in_words(wild, "cpu_us") == "no difference seen; would have seen 3.5 x"

    def test_small_differences_are_given_in_percent(self):
        ratio = stats.Ratio(1.05, 1.031, 1.064, 0.02)
        assert analysis.in_words(ratio, "requests_per_second") == "3.1 % to 6.4 % faster (95 %)"
        assert analysis.in_words(ratio, "cpu_us") == "3.1 % to 6.4 % dearer (95 %)"

    def test_what_was_then_stands_beside_what_is_now(self):
        report = analysis.report(make_result())
        assert [(figure.then, figure.ours, figure.mpm) for figure in report.past] == \
            [(2389, 20000, "event"), (115, 100, "prefork"), (115, 100, "event")]

    def test_warnings(self):
        result = make_result(rounds=2, failures=3)
        result["faults"] = ["event/luapool: unexpected in its log"]
        for entry in result["rounds"]:
            entry["driver_busy"] = 0.9 if entry["cell"] == "c-handler" else 0.5
            entry["driver_bound"] = entry["cell"] != "mod_lua"
            entry["machine_busy_ns"] += 520000000
        text = "\n".join(analysis.report(result).warnings)
        assert "mod_wsgi did not run: not there" in text
        assert "36 requests failed" in text
        assert "event/luapool: unexpected in its log" in text
        assert "too few rounds for 95 % intervals: 2" in text
        assert "the driver had no time left in most rounds of event/c-handler, prefork/c-handler:" in text
        assert "the driver had to wait for a processor in most rounds of 2 of 6 cells" in text
        assert "other programs and the hypervisor took 50 %" in text

    def test_a_sound_run_warns_of_nothing_but_what_was_skipped(self):
        assert analysis.report(make_result()).warnings == ("mod_wsgi did not run: not there",)

    def test_a_percentile_with_fewer_than_ten_samples_above_is_not_given(self):
        assert analysis.pooled_percentile([{"buckets": [[1, 100]]}], 99) is None
        assert analysis.pooled_percentile([{"buckets": [[1, 985], [7, 15]]}] * 2, 99) == 7

    def test_without_the_baseline_there_is_no_ratio(self):
        result = make_result()
        result["rounds"] = [entry for entry in result["rounds"] if entry["cell"] != "c-handler"]
        report = analysis.report(result)
        assert {row.cell for row in report.rows} == {"luapool", "mod_lua"}
        assert all(row.ratio is None for row in report.rows)
        assert "luapool" in table.text(report, "")

    def test_the_table_fits_a_terminal(self):
        result = make_result(cost={"c-handler": 30, "luapool": 30.1, "mod_lua-server": 9999})
        result["experiment"].update(comparisons=[], past=[])
        text = table.text(analysis.report(result), "")
        assert max(map(len, text.splitlines())) <= 120
        assert re.search(r"^ luapool +20,000 +0\.4 +0\.9 +\d\d\.\d +9\.0 +0 1\.0\d \(", text, re.M)

    def test_the_page_is_whole_and_fetches_nothing(self):
        result = make_result()
        text = page.html(analysis.report(result), result)
        assert "A &lt;title&gt;" in text and "Listen &lt;here&gt;" in text and "Some &lt;CPU&gt;" in text
        assert not re.search(r"https?://|<script|@import|url\(|<link|<img", text)
        drawings = re.findall(r"<svg.*?</svg>", text, re.S)
        assert len(drawings) == 4
        for drawing in drawings:
            assert len(ElementTree.fromstring(drawing).findall(".//circle[@class='middle']")) == 6

    def test_a_foreign_file_is_refused_by_name(self, tmp_path):
        for text in ("[]", "{}", "no json"):
            (tmp_path / "r.json").write_text(text)
            with pytest.raises(analysis.ResultError, match=r"r\.json"):
                results.read(tmp_path / "r.json")

    def test_a_result_gets_a_name_of_its_own_or_the_one_asked_for(self):
        assert results.target("out", make_result()) == Path("out/try-20261130-120000.json")
        assert results.target("out/x.json", make_result()) == Path("out/x.json")


class TestPlots:
    @pytest.mark.parametrize("largest, ticks", [
        (0, [0, 1]), (95, [0, 20, 40, 60, 80, 100]), (240, [0, 50, 100, 150, 200, 250]), (1, [0, .2, .4, .6, .8, 1])])
    def test_ticks_are_round(self, largest, ticks):
        assert svg.ticks_to(largest) == pytest.approx(ticks)

    def test_ticks_always_reach_the_largest_value(self):
        for i in range(1, 2000):
            ticks = svg.ticks_to(i * 0.37)
            assert ticks[-1] >= i * 0.37 and 3 <= len(ticks) <= 7

    def test_numbers_on_an_axis(self):
        assert [svg.short(value) for value in (0, 0.30000000000000004, 250, 20000)] == ["0", "0.3", "250", "20k"]


class TestCompare:
    def test_the_same_again_shows_no_difference(self):
        found = compare.differences(make_result(seed=1), make_result(seed=2))
        assert found and all("no difference seen; would have seen" in one.text for one in found)

    def test_a_dearer_version_is_named(self):
        dearer = make_result(rounds=12, seed=2, cost={"c-handler": 30, "luapool": 62, "mod_lua": 150})
        found = {(one.cell, one.metric): one.text for one in compare.differences(make_result(rounds=12), dearer)}
        assert re.match(r"B is [12]\.\d\d x dearer|B is \d+ % to \d+ % dearer", found["luapool", "cpu_us"])
        assert "no difference" in found["c-handler", "cpu_us"]

    def test_the_table_names_both_and_their_differences(self):
        other = make_result(seed=2)
        other["machine"]["kernel"] = "6.9"
        text = compare.text(make_result(), other, "one.json", "two.json")
        assert "A: one.json" in text and "B: two.json" in text and "different kernel: 6.1 and 6.9" in text

    def test_nothing_in_common_is_an_error(self):
        other = make_result(cost={"c-handler": 1})
        other["rounds"] = []
        with pytest.raises(analysis.ResultError, match="share no"):
            compare.differences(make_result(), other)


class TestRun:
    def test_the_drivers_buckets_are_joined_within_one_percent(self):
        exact = {5: 5, 4095: 4095, 4096: 4096, 6 * 2048: 2048 << 5, 6 * 2048 + 7: (2048 + 7) << 5}
        for index, low in exact.items():
            [[middle, count]] = driver.coarse_buckets([[index, 3]])
            assert count == 3 and abs(middle - low) <= low / 128
        joined = driver.coarse_buckets([[6 * 2048 + i, 1] for i in range(32)])
        assert [count for _, count in joined] == [16, 16]

    def test_each_round_holds_every_turn_once_in_an_order_of_its_own(self):
        made = orders(list(range(24)), 12, seed=4)
        assert all(sorted(order) == list(range(24)) for order in made)
        assert len({tuple(order) for order in made}) == 12
        assert made == orders(list(range(24)), 12, seed=4) != orders(list(range(24)), 12, seed=5)

    def test_progress_tells_what_remains(self):
        now = [0.0]
        stream = io.StringIO()
        progress = Progress(4, stream, clock=lambda: now[0])
        now[0] = 30.0
        progress.step("x")
        progress.line("round 1")
        assert stream.getvalue() == "round 1, 1:30 to go\n"

    def test_cpu_time_includes_children_alive_and_ended(self):
        spin = "import time\nwhile time.process_time() < 0.1: pass\n"
        script = ("import subprocess, sys\n" + spin + "subprocess.run([sys.executable, '-c', %r])\n"
                  "print('ready', flush=True); sys.stdin.read()" % spin)
        with subprocess.Popen([sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              start_new_session=True) as child:
            child.stdout.readline()
            used = procfs.cpu_ns(child.pid)
            assert procfs.memory(child.pid).pss > 1 << 20
            child.stdin.close()
        assert 0.19e9 < used < 10e9
        with pytest.raises(ProcessLookupError):
            procfs.cpu_ns(child.pid)


def run_rig(*arguments, cwd):
    stage = os.environ["INTERPOOL_STAGE"]
    driver = next(Path(stage).rglob("bin/httpdrive"))
    env = {**os.environ, "PYTHONPATH": "%s:%s" % (BENCH, SOURCES / "tests"), "INTERPOOL_HTTPDRIVE": str(driver)}
    return subprocess.run([sys.executable, "-m", "rig", *arguments], env=env, cwd=cwd, capture_output=True, text=True,
                          timeout=120, check=False)


@pytest.mark.skipif("INTERPOOL_STAGE" not in os.environ, reason="needs the staged driver: run make check")
class TestTinyRun:
    def test_one_cell_from_command_line_to_page(self, tmp_path):
        done = run_rig("run", "hello", "--cells", "static", "--mpms", "event", "--rounds", "2", "--seconds", "0.1",
                     "--seed", "7", "--results", "out/one.json", cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert re.search(r"^ static +[\d,]+ ", done.stdout, re.M)
        stored = json.loads((tmp_path / "out/one.json").read_text())
        assert [entry["round"] for entry in stored["rounds"]] == [1, 2]
        for entry in stored["rounds"]:
            assert entry["ok"] > 0 and sum(entry["failures"].values()) == 0
            assert 1e3 < entry["server_cpu_ns"] / entry["ok"] < 1e7
            assert sum(count for _, count in entry["buckets"]) == entry["ok"]
        assert "</html>" in (tmp_path / "out/one.html").read_text()
        again = run_rig("report", "out/one.json", cwd=tmp_path)
        assert again.returncode == 0 and again.stdout == done.stdout
        shutil.copy(tmp_path / "out/one.json", tmp_path / "two.json")
        compared = run_rig("compare", "out/one.json", "two.json", cwd=tmp_path)
        assert compared.returncode == 0 and "event/static" in compared.stdout

    def test_a_wrong_answer_stops_the_run_before_anything_is_measured(self, tmp_path):
        (tmp_path / "wrong.toml").write_text(GOOD.replace("Hello World!", "Hello Moon!!"))
        done = run_rig("run", "wrong.toml", "--mpms", "event", cwd=tmp_path)
        assert done.returncode == 2
        assert re.search(r"event/a answered /hello.txt with status 200 and 12 bytes", done.stderr)
        assert not (tmp_path / "results").exists()

    @pytest.mark.parametrize("arguments", [("report", ""), ("compare", "", "")])
    def test_a_result_that_was_not_named_is_asked_for(self, tmp_path, arguments):
        done = run_rig(*arguments, cwd=tmp_path)
        assert done.returncode == 2 and "name a stored result: A=results/NAME.json" in done.stderr

    def test_a_mistake_on_the_command_line_is_a_message(self, tmp_path):
        done = run_rig("run", "hello", "--cells", "cobol", cwd=tmp_path)
        assert (done.returncode, done.stdout) == (2, "")
        assert done.stderr.startswith("bench: CELLS: there is no 'cobol'; choose from c-handler, static")
