# SPDX-License-Identifier: Apache-2.0
"""One load from several machines: parts, start, merging. Machines are processes, or network namespaces."""
import json
import os
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from badserver import BadServer
from test_httpdrive import DRIVER, check_laws, drive, text


@pytest.fixture
def bad():
    with BadServer() as server:
        yield server


def parts_of_a_load(tmp_path, url, prefix=lambda i: [], segments=4, only=range(4)):
    """Four drivers, each with its part of 200 requests a second, at the same time; the files they wrote."""
    start = time.time() + 1.5
    files = [tmp_path / f"part{i}.json" for i in only]
    running = [subprocess.Popen([*prefix(i), str(DRIVER), "-q", "--rate", "200", "--poisson", "--seed", "7", "-t", "2",
                                 "-c", "16", "--segment", f"{i}/{segments}", "--start-at", str(start), "--json",
                                 str(tmp_path / f"part{i}.json"), url], stdout=subprocess.DEVNULL) for i in only]
    assert [process.wait(timeout=60) for process in running] == [0] * len(running)
    for file in files:
        check_laws(json.loads(file.read_text()))
    return files


def merge(files, *options, code=0):
    done = subprocess.run([DRIVER, "merge", "--json", "-", *options, *map(str, files)], capture_output=True, text=True,
                          timeout=60)
    assert done.returncode == code, done.stderr
    return json.loads(done.stdout) if code == 0 else done.stderr


def check_merged(merged, files):
    parts = [json.loads(file.read_text()) for file in files]
    check_laws(merged)
    for path in (("requests", "started"), ("requests", "ok"), ("open_loop", "scheduled"), ("connections", "opened"),
                 ("latency_ns", "response", "count"), ("bytes", "body")):
        values = []
        for result in [merged, *parts]:
            for key in path:
                result = result[key]
            values.append(result)
        assert values[0] == sum(values[1:]), path
    assert merged["latency_ns"]["response"]["max"] == max(part["latency_ns"]["response"]["max"] for part in parts)
    assert merged["requests_per_second"] == pytest.approx(sum(part["requests_per_second"] for part in parts))
    assert len(merged["parts"]) == len(parts)


def test_four_parts_merge_to_one_load(bad, tmp_path):
    files = parts_of_a_load(tmp_path, bad.url + "/ok")
    merged = merge(files)
    check_merged(merged, files)
    assert merged["options"]["connections"] == 16
    assert 300 < merged["open_loop"]["scheduled"] < 500
    assert "both part 0 of 4" in merge([files[0], files[0]], code=2)
    partial = merge(files[:3])
    assert partial["ended_by"] == "partial: 3 of 4 parts are here"


def test_constant_parts_have_the_schedule_of_one(bad, tmp_path):
    start = time.time() + 1
    files = [tmp_path / f"{i}.json" for i in range(3)]
    running = [subprocess.Popen([DRIVER, "-q", "--rate", "100", "-n", "100", "-c", "6", "-j", "2", "--segment", f"{i}/3",
                                 "--start-at", str(start), "--json", str(files[i]), bad.url + "/ok"],
                                stdout=subprocess.DEVNULL) for i in range(3)]
    assert [process.wait(timeout=60) for process in running] == [0, 0, 0]
    merged = merge(files)
    assert merged["open_loop"]["scheduled"] == 100 == merged["requests"]["ok"]


def test_merge_refuses_what_does_not_belong_together(bad, tmp_path):
    drive("-t", "0.3", bad.url + "/ok")
    for name, options in {"a": [], "b": [], "path": ["-m", "OPTIONS"]}.items():
        text("-t", "0.3", *options, "--json", tmp_path / name, bad.url + "/ok")
    assert "HD065" in merge([tmp_path / "a", tmp_path / "b"], code=2)
    assert "options.method differs" in merge([tmp_path / "a", tmp_path / "path"], code=2)
    (tmp_path / "x").write_text('{"httpdrive": "1", "format": 1}')
    (tmp_path / "y").write_text("[1, 2")
    assert "HD061" in merge([tmp_path / "x"], code=2)
    assert "byte 6" in merge([tmp_path / "y"], code=2)
    assert "No such file" in merge([tmp_path / "none"], code=2)


def test_a_result_read_back_is_the_same(bad, tmp_path):
    text("-n", 50, "-c", 2, "--tally", "Server", "--json", tmp_path / "a", bad.url + "/half500", code=1)
    one, again = json.loads((tmp_path / "a").read_text()), merge([tmp_path / "a"], "--max-fail", "100")
    for key in ("outcomes", "status", "errors", "latency_ns", "histograms", "connections", "bytes", "tally"):
        assert again[key] == one[key], key
    assert again["series"]["seconds"] == one["series"]["seconds"]


def can_make_namespaces():
    return os.geteuid() == 0 and shutil.which("ip") and subprocess.run(
        "ip netns add hd-try && ip -n hd-try link set lo up; made=$?; ip netns del hd-try; exit $made",
        shell=True, capture_output=True).returncode == 0


@pytest.fixture
def network(request):
    """A server's network namespace and four drivers', each joined to the server's by a wire."""
    if not can_make_namespaces():
        pytest.skip("network namespaces cannot be made here")
    tag = f"hd{os.getpid()}"
    names = [f"{tag}s", *(f"{tag}d{i}" for i in range(4))]

    def ip(command):
        subprocess.run(["ip", *command.split()], check=True, capture_output=True)
    try:
        for name in names:
            ip(f"netns add {name}")
            ip(f"-n {name} link set lo up")
        for i, name in enumerate(names[1:]):
            ip(f"-n {names[0]} link add w{i} type veth peer name w netns {name}")
            ip(f"-n {names[0]} addr add 192.0.2.{4 * i + 1}/30 dev w{i}")
            ip(f"-n {name} addr add 192.0.2.{4 * i + 2}/30 dev w")
            ip(f"-n {names[0]} link set w{i} up")
            ip(f"-n {name} link set w up")
            ip(f"-n {name} route add default via 192.0.2.{4 * i + 1}")
        yield names
    finally:
        for name in names:
            subprocess.run(["ip", "netns", "del", name], capture_output=True)


def test_four_machines_make_the_load_of_one(network, tmp_path):
    server = subprocess.Popen(["ip", "netns", "exec", network[0], sys.executable, Path(__file__).parent / "badserver.py",
                               "0.0.0.0"], stdout=subprocess.PIPE, text=True)
    try:
        port = server.stdout.readline().rpartition(":")[2].strip()
        url = f"http://192.0.2.1:{port}/ok"
        enter = [["ip", "netns", "exec", name] for name in network[1:]]
        files = parts_of_a_load(tmp_path, url, prefix=lambda i: enter[i])
        merged = merge(files)
        check_merged(merged, files)
        (tmp_path / "one").mkdir()
        alone = json.loads(parts_of_a_load(tmp_path / "one", url, prefix=lambda i: enter[i], segments=1,
                                           only=[0])[0].read_text())
        # Two Poisson processes of the same rate over 2 s: their counts differ by chance only.
        counts = merged["open_loop"]["scheduled"], alone["open_loop"]["scheduled"]
        assert abs(counts[0] - counts[1]) < 5 * sum(counts) ** 0.5
        assert merged["requests"]["failed"] == alone["requests"]["failed"] == 0
    finally:
        server.kill()
        server.wait()


def test_rank_comes_from_the_launcher(bad):
    for names in (("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"), ("PMI_RANK", "PMI_SIZE"),
                  ("SLURM_PROCID", "SLURM_NTASKS"), ("JOB_COMPLETION_INDEX", "JOB_COMPLETIONS")):
        env = {key: value for key, value in os.environ.items() if not key.startswith(("OMPI", "PMI", "SLURM", "JOB"))}
        result = drive("-n", 10, "-c", 4, "--segment", "auto", bad.url + "/ok",
                       env={**env, names[0]: "2", names[1]: "4"})
        assert (result["options"]["segment"], result["options"]["segments"]) == (2, 4)
        assert result["requests"]["ok"] == 2 and result["options"]["connections"] == 1
    assert "HD021" in text("-n", 10, "-c", 4, "--segment", "auto", bad.url + "/ok", code=2, env=env)


def test_start_is_a_time_to_come(bad):
    for start, place in ((time.time() - 2, "ago"), (time.time() * 1000, "ahead, more than a day")):
        out = text("--start-at", f"{start:.3f}", "-n", 1, bad.url + "/ok", code=2)
        assert "HD004: --start-at" in out and place in out
    assert bad.connections == 0
    start = time.time() + 1.2
    result = drive("--start-at", f"{start:.3f}", "-t", 0.5, bad.url + "/ok")
    assert start <= result["started_epoch"] + 0.001
    assert result["warmup"]["started"] > 0, "it warms up while it waits"
    assert sum(bad.requests.values()) == result["warmup"]["started"] + result["requests"]["started"]


class TestTwoParts:
    """Two parts that belong together, and what a merge must not add, made from them."""

    @pytest.fixture(scope="class")
    def two(self, tmp_path_factory):
        with BadServer() as server:
            files = parts_of_a_load(tmp_path_factory.mktemp("two"), server.url + "/ok", segments=2, only=range(2))
        assert merge(files)["ended_by"] is None
        return files

    @pytest.fixture
    def parts(self, two, tmp_path):
        files = [Path(shutil.copy(file, tmp_path)) for file in two]

        def changed(change, code=2):
            result = json.loads(files[1].read_text())
            change(result)
            files[1].write_text(json.dumps(result))
            return merge(files, code=code)
        return changed

    def test_text_shows_each_machine(self, two, tmp_path):
        rates = []
        for file in two:
            result = json.loads(file.read_text())
            result["options"]["segments"] = 3
            (tmp_path / file.name).write_text(json.dumps(result))
            rates.append(f"{result['requests_per_second']:.2f}")
        out = text("merge", *(tmp_path / file.name for file in two))
        assert "partial: 2 of 3 parts are here" in out
        assert all(rate in out.partition("Machine ")[2] for rate in rates)

    def test_another_option(self, parts):
        assert "HD062" in (out := parts(lambda r: r["options"]["headers"].append("X: y"))) and "options.headers" in out

    def test_an_option_less(self, parts):
        assert "options.verify differs" in parts(lambda r: r["options"].pop("verify"))

    def test_another_server(self, parts):
        assert "target differs" in parts(lambda r: r["target"].update(port=1))

    def test_another_version(self, parts):
        assert "the version of httpdrive differs" in parts(lambda r: r.update(httpdrive="9"))

    def test_another_number_of_parts(self, parts):
        assert "options.segments differs" in parts(lambda r: r["options"].update(segments=3))

    def test_the_same_part_twice(self, parts):
        assert "HD063" in parts(lambda r: r["options"].update(segment=0))

    def test_another_time(self, parts):
        assert "HD065: only 0 %" in parts(lambda r: r.update(started_epoch=r["started_epoch"] + 100))

    def test_another_second(self, two, tmp_path):
        """Common to 99 % of a minute, but second 5 of the one is second 6 of the other."""
        for number, file in enumerate(two):
            result = json.loads(file.read_text())
            result.update(started_epoch=1e9 + 0.7 * number, seconds=60)
            (tmp_path / file.name).write_text(json.dumps(result))
        assert "HD066: the parts began 0.7 s apart" in merge([tmp_path / file.name for file in two], code=2)

    def test_an_unsynchronised_clock(self, parts):
        def away(result):
            result["machine"].update(host="elsewhere", clock_error_seconds=None)
        assert "HD064: the clock of elsewhere" in parts(away)

    def test_numbers_that_break_the_law(self, parts):
        assert "HD061" in parts(lambda r: r["requests"].update(started=r["requests"]["started"] + 1))

    def test_a_machine_at_its_limit_marks_the_sum(self, parts):
        merged = parts(lambda r: r["client"].update(bound=True, reasons=["it was busy"]), code=0)
        assert merged["client"]["bound"] is True
        assert merged["parts"][1]["client_bound"] is True
