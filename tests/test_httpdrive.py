# SPDX-License-Identifier: Apache-2.0
"""The driver against a server that misbehaves: every request has one outcome and is counted exactly."""
import base64
import json
import os
import re
import resource
import shutil
import signal
import socket
import struct
import subprocess
import sys
import time
import zlib
from pathlib import Path

import pytest

from badserver import BadServer

DRIVER = Path(os.environ.get("INTERPOOL_STAGE", "stage")) / "usr/local/bin/httpdrive"


@pytest.fixture
def bad():
    with BadServer() as server:
        yield server


def check_laws(result):
    """What holds for every run whatever happened."""
    requests, outcomes = result["requests"], result["outcomes"]
    assert requests["started"] == sum(outcomes.values()) + requests["in_flight"]
    assert requests["conserved"] is True
    assert result["wall_seconds"] >= result["seconds"] >= 0 and result["requests_per_second"] >= 0
    assert requests["ok"] == outcomes["ok"]
    assert requests["failed"] == sum(outcomes.values()) - outcomes["ok"]
    answered = sum(outcomes[name] for name in ("ok", "status", "length-mismatch", "body-mismatch"))
    assert sum(result["status"].values()) == answered
    timed_out = sum(count for name, count in outcomes.items() if name.startswith("timeout-"))
    assert result["latency_ns"]["response"]["count"] == answered + timed_out
    connections = result["connections"]
    assert connections["carried"] + connections["opened"] == connections["closed"] + connections["alive"]
    assert connections["opened"] <= connections["attempts"] + connections["wanted"]  # some began in the warm-up
    for histogram in result["histograms"].values():
        if isinstance(histogram, dict):
            assert sum(count for _, count in histogram["buckets"]) == histogram["count"]
    seconds = result["series"]["seconds"]
    assert sum(second["completed"] for second in seconds) == sum(outcomes.values())
    assert sum(second["failed"] for second in seconds) == requests["failed"]


def drive(*arguments, code=0, **options):
    """Runs the driver and returns its JSON; the exit code has to be `code` (None: any)."""
    done = subprocess.run([DRIVER, "--json", "-", "-q", *map(str, arguments)], stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, timeout=60, **options)
    assert "Sanitizer" not in done.stderr, done.stderr
    assert code is None or done.returncode == code, (done.returncode, done.stdout[-2000:], done.stderr)
    result = json.loads(done.stdout)
    check_laws(result)
    return result


def text(*arguments, code=0, **options):
    """Runs the driver and returns what it prints on both streams."""
    done = subprocess.run([DRIVER, *map(str, arguments), "-q"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          text=True, timeout=60, **options)
    assert done.returncode == code, (done.returncode, done.stdout)
    return done.stdout


def failures(result):
    return {name: count for name, count in result["outcomes"].items() if count and name != "ok"}


# path, body length: all of these are good answers
GOOD = [("/ok", 12), ("/chunked-one", 12), ("/chunked-two", 12), ("/chunked-trailers", 12), ("/dribble", 12),
        ("/nospace", 12), ("/lowercase", 12), ("/zero", 0), ("/empty204", 0), ("/unchanged304", 0), ("/interim", 12),
        ("/foreign", 12), ("/http10", 12), ("/http10-alive", 12), ("/close-delimited", 22), ("/same-lengths", 12),
        ("/long-line", 12), ("/large?n=300000", 300000)]


@pytest.mark.parametrize("path,length", GOOD, ids=[path for path, _ in GOOD])
@pytest.mark.parametrize("keepalive", [[], ["--no-keepalive"]], ids=["keepalive", "new"])
def test_good_answers_are_taken_whole(bad, path, length, keepalive):
    result = drive("-n", 60, "-c", 3, "-j", 2, *keepalive, bad.url + path)
    assert failures(result) == {}
    assert result["bytes"]["body"] == 60 * length
    assert bad.requests[path.partition("?")[0]] == 60
    assert result["connections"]["opened"] == bad.connections


# path, outcome of each of the requests, what the keep-alive connection count tells
BROKEN = [("/short", "short-body"), ("/short-head", "short-body"), ("/short-chunk", "short-body"),
          ("/reset?n=1", "reset-before-answer"), ("/reset-in", "reset-in-answer"), ("/closed", "closed-before-answer"),
          ("/error500", "status"), ("/garbage", "bad-head"), ("/two-lengths", "bad-head"),
          ("/endless-head", "head-too-long"), ("/bad-chunk", "bad-chunk"), ("/excess", "excess-bytes")]


@pytest.mark.parametrize("path,outcome", BROKEN, ids=[path for path, _ in BROKEN])
@pytest.mark.parametrize("keepalive", [[], ["--no-keepalive"]], ids=["keepalive", "new"])
def test_every_broken_answer_is_counted_once(bad, path, outcome, keepalive):
    result = drive("-n", 30, "-c", 3, *keepalive, bad.url + path, code=1)
    assert failures(result) == {outcome: 30}
    assert bad.requests[path.partition("?")[0]] == 30


def test_lengths_may_vary(bad):
    result = drive("-n", 100, "-c", 5, bad.url + "/vary")
    assert failures(result) == {}
    assert result["bytes"]["body"] == 50 * 10 + 50 * 11


def test_verify_length_finds_other_lengths(bad):
    result = drive("-n", 100, "--verify", "length", bad.url + "/wrong-length?n=10", code=1)
    assert failures(result) == {"length-mismatch": 10}


def test_verify_first_finds_other_bodies(bad):
    result = drive("-n", 100, "-c", 4, "-j", 2, "--verify", "first", bad.url + "/wrong-body?n=10", code=1)
    assert failures(result) == {"body-mismatch": 10}


def test_verify_file_compares_every_byte(bad, tmp_path):
    (tmp_path / "hello").write_bytes(b"Hello World!")
    result = drive("-n", 50, "--verify", tmp_path / "hello", bad.url + "/wrong-body?n=5", code=1)
    assert failures(result) == {"body-mismatch": 10}
    result = drive("-n", 50, "--verify", tmp_path / "hello", bad.url + "/wrong-length?n=5", code=1)
    assert failures(result) == {"length-mismatch": 10}
    drive("-n", 50, "--verify", tmp_path / "hello", bad.url + "/dribble")


def test_half_of_the_answers_are_errors(bad):
    result = drive("-n", 100, "-c", 4, bad.url + "/half500", code=1)
    assert failures(result) == {"status": 50}
    assert result["status"] == {"200": 50, "500": 50}


def test_expect_says_which_statuses_are_good(bad):
    drive("-n", 20, "--expect", "200,5xx", bad.url + "/half500")
    result = drive("-n", 20, "--expect", "500", bad.url + "/ok", code=1)
    assert failures(result) == {"status": 20}
    drive("-n", 20, "--max-fail", 10, bad.url + "/half500")


def test_silent_close_reopens_and_loses_nothing(bad):
    result = drive("-n", 100, "-c", 4, bad.url + "/closes-after?n=5")
    assert failures(result) == {}
    assert bad.requests["/closes-after"] == 100
    assert result["connections"]["opened"] == bad.connections >= 20


def test_request_on_a_dropped_connection_is_resent_and_counted_apart(bad):
    result = drive("-n", 100, "-c", 1, bad.url + "/drops-after?n=9")
    assert failures(result) == {}
    assert result["requests"]["resent"] == 11
    assert bad.requests["/drops-after"] == 100 + 11


def test_dropped_requests_are_failures_when_they_may_not_be_resent(bad):
    result = drive("-n", 100, "--no-resend", bad.url + "/drops-after?n=9", code=1)
    assert failures(result) == {"reused-closed": 10}
    result = drive("-n", 100, "--body", "x", bad.url + "/drops-after?n=9", code=1)
    assert failures(result) == {"reused-closed": 10}


def test_announced_close_is_no_failure(bad):
    result = drive("-n", 100, bad.url + "/says-close-after?n=10")
    assert failures(result) == {}
    assert result["requests"]["resent"] == 0
    assert result["connections"]["opened"] == 10 == bad.connections
    assert result["connections"]["requests_each"] == {"min": 10, "median": 10, "max": 10}


def test_resets_on_reused_connections_are_resent(bad):
    result = drive("-n", 90, bad.url + "/reset?n=10")
    assert failures(result) == {}
    assert result["requests"]["resent"] == bad.requests["/reset"] - 90 > 0


@pytest.mark.parametrize("path,outcome", [("/never", "timeout-answer"), ("/stall-in", "timeout-body")])
def test_timeouts_are_counted_and_stay_in_the_histogram(bad, path, outcome):
    result = drive("-n", 4, "-c", 2, "-s", "300ms", bad.url + path, code=1)
    assert failures(result) == {outcome: 4}
    assert 0.3e9 <= result["latency_ns"]["response"]["min"]
    assert result["latency_ns"]["response"]["max"] < 30e9


def test_one_hanging_request_does_not_stop_the_others(bad):
    result = drive("-n", 200, "-c", 4, "-s", "1", bad.url + "/hang-once", code=1)
    assert failures(result) == {"timeout-answer": 1}
    assert result["outcomes"]["ok"] == 199
    assert result["latency_ns"]["response"]["max"] >= 1e9


def test_one_stall_is_seen_as_one_slow_request(bad):
    result = drive("-n", 100, bad.url + "/stall-once?n=0.5")
    slow = [count for index, count in result["histograms"]["response"]["buckets"]
            if bucket_low(index, result["histograms"]["sub_buckets"]) > 400e6]
    assert slow == [1]


def bucket_low(index, sub):
    shift = max(index // sub - 1, 0)
    return index if index < 2 * sub else (index - shift * sub) << shift


def test_time_limit_ends_on_a_silent_server(bad):
    result = drive("-t", "0.5", "-c", 3, "--drain", "0.2", bad.url + "/never", code=1)
    assert result["requests"]["in_flight"] == 3 == result["requests"]["started"]
    assert result["requests"]["oldest_in_flight_seconds"] >= 0.5
    assert 0.4 < result["seconds"] < 5


def test_drain_waits_for_answers_under_way(bad):
    result = drive("-t", "0.2", "-c", 2, "--drain", 10, bad.url + "/slow?n=0.5")
    assert result["requests"]["started"] == result["requests"]["ok"] == 2
    assert result["requests"]["completed_in_time"] == 0


@pytest.mark.parametrize("n,c,j", [(1, 1, 1), (7, 10, 3), (1000, 10, 3), (999, 32, 2), (64, 64, 4)])
def test_n_is_exact(bad, n, c, j):
    result = drive("-n", n, "-c", c, "-j", j, bad.url + "/ok")
    assert result["requests"]["started"] == result["requests"]["ok"] == n == bad.requests["/ok"]
    assert result["connections"]["opened"] == bad.connections <= c


def test_whichever_of_n_and_t_comes_first(bad):
    assert drive("-n", 10, "-t", 30, bad.url + "/ok")["requests"]["started"] == 10
    assert drive("-t", 30, "-n", 10, bad.url + "/ok")["requests"]["started"] == 10
    result = drive("-n", 10 ** 9, "-t", "0.3", "-c", 2, bad.url + "/ok")
    assert result["requests"]["started"] == bad.requests["/ok"] - 20
    assert 0.29 < result["seconds"] < 0.31


def test_warmup_is_not_part_of_the_result(bad):
    result = drive("-n", 50, "-c", 2, "--warmup", "30r", bad.url + "/ok")
    assert result["requests"]["started"] == 50
    assert result["warmup"]["started"] >= 30
    assert bad.requests["/ok"] == 50 + result["warmup"]["started"]
    assert result["connections"]["carried"] == 2 and result["connections"]["opened"] == 0
    result = drive("-n", 50, "-c", 2, "--warmup", "0.2s", bad.url + "/ok")
    assert result["warmup"]["seconds"] >= 0.2 and result["requests"]["started"] == 50
    result = drive("-n", 50, "-c", 3, "--warmup", "auto", bad.url + "/ok")
    assert result["warmup"]["started"] >= 3 and result["warmup"]["seconds"] >= 1


def test_new_connection_for_each_request(bad):
    result = drive("-n", 60, "-c", 4, "--no-keepalive", bad.url + "/ok")
    assert result["connections"]["opened"] == result["connections"]["closed"] == 60 == bad.connections


def test_requests_per_connection(bad):
    result = drive("-n", 60, "--per-connection", 10, bad.url + "/ok")
    assert result["connections"]["opened"] == 6 == bad.connections


def test_tally_counts_the_values_of_a_header(bad):
    result = drive("-n", 90, "-c", 3, "--tally", "x-worker", bad.url + "/tally?n=3")
    assert result["tally"] == {"header": "x-worker", "values": {"0": 30, "1": 30, "2": 30}}


def test_head_is_answered_without_a_body(bad):
    result = drive("-n", 20, "-i", bad.url + "/ok")
    assert result["bytes"]["body"] == 0 and failures(result) == {}


def test_open_loop_keeps_its_rate(bad):
    result = drive("--rate", 200, "-t", 2, "-c", 8, bad.url + "/ok", code=None)
    loop = result["open_loop"]
    assert loop["scheduled"] == 400 == loop["sent"] + loop["unsent"]
    assert loop["sent"] == result["requests"]["started"] == bad.requests["/ok"]


def test_open_loop_with_a_slow_server_says_what_it_could_not_send(bad):
    result = drive("--rate", 100, "-t", 1, "-c", 2, bad.url + "/slow?n=0.1", code=0)
    loop = result["open_loop"]
    assert loop["scheduled"] == 100 and loop["unsent"] > 50 and loop["late"] > 0
    assert result["latency_ns"]["response"]["max"] > 2 * result["latency_ns"]["service"]["max"]


def test_open_loop_sends_exactly_n(bad):
    result = drive("--rate", 500, "-n", 100, "-c", 50, "-j", 3, "--poisson", bad.url + "/ok")
    assert result["requests"]["ok"] == 100 == bad.requests["/ok"]


def test_closed_port_ends_with_a_clear_error():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/"
        result = drive("-n", 5, "-c", 1, url, code=3)
        assert failures(result) == {"refused": 5}
        assert result["errors"] == [{"outcome": "refused", "errno": "ECONNREFUSED", "reason": "Connection refused",
                                     "count": 5}]
        result = drive("-n", 1000000, "-c", 4, url, code=3)
        assert result["requests"]["started"] < 200, "it waits between attempts"
        assert result["ended_by"] == "no connection could be made"
        assert "HD051: nothing could connect" in text("-n", 2, url, code=3)


def test_interrupt_prints_the_report(bad):
    process = subprocess.Popen([DRIVER, "--json", "-", "-q", "-t", "60", "-c", "2", bad.url + "/ok"],
                               stdout=subprocess.PIPE, text=True)
    while not bad.requests["/ok"]:
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=30)
    assert process.returncode == 130
    result = json.loads(out)
    check_laws(result)
    assert result["requests"]["ok"] > 0 and result["ended_by"] == "interrupted"


def test_too_few_descriptors_are_named_before_the_start(bad):
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    out = text("-n", 1000, "-c", 100, bad.url + "/ok", code=2, preexec_fn=limit)
    assert "HD003" in out and "ulimit -n" in out
    assert bad.connections == 0


def test_ipv6_and_unix_sockets(tmp_path):
    with BadServer(host="::1") as six:
        drive("-n", 20, six.url + "/ok")
        assert six.requests["/ok"] == 20
    with BadServer(path=str(tmp_path / "socket")) as local:
        drive("-n", 20, f"unix:{tmp_path}/socket:http://localhost/ok")
        drive("-n", 20, "--unix", tmp_path / "socket", "http://localhost/ok")
        assert local.requests["/ok"] == 40


def test_a_full_queue_of_a_unix_socket_is_waited_for(tmp_path):
    """Where TCP would wait, connect() to a UNIX socket says EAGAIN."""
    with BadServer(path=str(tmp_path / "socket"), backlog=1) as local:
        result = drive("-n", 200, "-c", 20, "--no-keepalive", f"unix:{tmp_path}/socket:http://localhost/ok")
        assert failures(result) == {} and local.requests["/ok"] == 200


def test_usage_errors_name_the_option():
    assert "-n: 'many' is not a count" in text("-n", "many", "http://127.0.0.1/", code=2)
    assert "--rat is not an option" in text("--rat", "5", "http://127.0.0.1/", code=2)
    assert "the URL is missing" in text("-n", "5", code=2)
    assert "port" in text("http://127.0.0.1:99999/", code=2)
    assert "HD010" in text("http://no-such-host.invalid/", code=2)


def test_text_report_has_abs_names(bad):
    out = text("-n", 100, "-c", 4, bad.url + "/ok")
    for name in ("Server Software:        bad/1.0", "Complete requests:      100", "Failed requests:        0",
                 "Requests per second:", "Time per request:", "Transfer rate:", "Concurrency Level:      4",
                 "HTML transferred:       1200 bytes"):
        assert name in out
    assert "started 100 = ok 100 + in flight 0" in out


def shape(report):
    """A report with its numbers taken out, line by line, without the banner and the judgement lines."""
    lines = report.partition("Benchmarking")[2].splitlines()[1:]
    return [re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", line)).strip() for line in lines
            if not re.match(r"(WARNING|ERROR|       deviation|        These)", line)]


@pytest.mark.skipif(not shutil.which("ab"), reason="ab is not installed")
@pytest.mark.parametrize("options", [[], ["-k"], ["-l"], ["-S"], ["-d"], ["-i"], ["-p"], ["-C", "a=1", "-H", "X: y"]],
                         ids=lambda o: " ".join(o) or "plain")
def test_ab_layout_has_abs_lines(bad, options, tmp_path):
    (tmp_path / "body").write_text("hello")
    options = options + [str(tmp_path / "body")] if options == ["-p"] else options
    command = [*options, "-q", "-n", "200", "-c", "4", bad.url + "/ok"]
    theirs = subprocess.run(["ab", *command], capture_output=True, text=True, timeout=60, check=True).stdout
    ours = subprocess.run([DRIVER, "--ab", *command], capture_output=True, text=True, timeout=60, check=True).stdout
    assert shape(ours) == shape(theirs)


def test_ab_csv_and_gnuplot_files(bad, tmp_path):
    result = drive("--ab", "-n", 200, "-c", 4, "-e", tmp_path / "e", "-g", tmp_path / "g", bad.url + "/ok")
    rows = (tmp_path / "e").read_text().splitlines()
    assert rows[0] == "Percentage served,Time in ms" and len(rows) == 102
    assert float(rows[101].split(",")[1]) == pytest.approx(result["latency_ns"]["response"]["max"] / 1e6, abs=0.001)
    rows = [row.split("\t") for row in (tmp_path / "g").read_text().splitlines()]
    assert rows[0] == ["starttime", "seconds", "ctime", "dtime", "ttime", "wait"] and len(rows) == 201
    for _, second, setup, processing, total, wait in rows[1:]:
        assert abs(float(second) - time.time()) < 100
        assert float(setup) + float(processing) == pytest.approx(float(total), abs=0.002)
        assert float(wait) <= float(processing)
    seconds = [row[1] for row in rows[1:]]
    assert seconds == sorted(seconds), "in the order of time, not of duration"


def table(html):
    """{name: cells} of ab's table, and all its tags without the numbers."""
    html = html[html.index("<table"):]
    rows = re.findall(r"<tr[^>]*><th[^>]*>([^<]*):</th>(.*?)</tr>", html)
    return ({name: re.findall(r"<td[^>]*>([^<]*)</td>", cells) for name, cells in rows},
            re.sub(r"\s+", " ", re.sub(r"\d+(\.\d+)?", "#", html)))


@pytest.mark.skipif(not shutil.which("ab"), reason="ab is not installed")
@pytest.mark.parametrize("options", [[], ["-k"], ["-l"], ["-i"], ["-p", "BODY"], ["-y", "class=r", "-z", "class=c"]],
                         ids=lambda o: " ".join(o) or "plain")
def test_ab_html_table_has_abs_rows(bad, options, tmp_path):
    (tmp_path / "body").write_text("hello")
    command = [*(str(tmp_path / "body") if o == "BODY" else o for o in options), "-w", "-q", "-n", "200", "-c", "4"]
    for path in ("/ok", *(["/error500"] if not options else [])):
        theirs, ours = (table(subprocess.run([*tool, *command, bad.url + path], capture_output=True, text=True,
                                             timeout=60).stdout) for tool in (["ab"], [DRIVER, "--ab"]))
        assert theirs[1] == ours[1]
        for name in ("Server Software", "Document Length", "Complete requests", "Failed requests", "HTML transferred"):
            assert theirs[0][name] == ours[0][name]


def test_error_statuses_are_no_failures_in_abs_reports(bad, tmp_path):
    """Text and table agree, as in ab; the exit code and every other report call them failed."""
    plain = text("--ab", "-k", "-n", 40, bad.url + "/half500", code=1)
    html = table(text("--ab", "-w", "-k", "-n", 40, bad.url + "/half500", code=1))[0]
    for name, count in (("Complete requests", "40"), ("Failed requests", "0"), ("Non-2xx responses", "20")):
        assert re.search(rf"^{name}: +{count}$", plain, re.M)
        assert html[name] == [count]
    plain = text("--ab", "-k", "-n", 40, bad.url + "/short", code=1)
    html = text("--ab", "-w", "-k", "-n", 40, bad.url + "/short", code=1)
    reasons = "(Connect: 0, Receive: 0, Length: 40, Exceptions: 0)"
    assert table(html)[0]["Failed requests"] == ["40"] and reasons in html and reasons in plain


def test_ab_html_table(bad):
    out = text("-w", "-x", "border=1", "-n", 20, bad.url + "/ok")
    assert "<table border=1>" in out and out.rstrip().endswith("</table>")
    assert "Complete requests:</th><td colspan=2 bgcolor=white>20</td>" in out


def read_zigzag(data):
    at, values = 0, []
    while at < len(data):
        value = shift = 0
        while True:
            byte = data[at]
            at += 1
            value |= (byte & 0x7f if shift < 56 else byte) << shift
            shift += 7
            if byte < 0x80 or shift > 56:
                break
        values.append((value >> 1) ^ -(value & 1))
    return values


def test_csv_hgrm_and_hlog_hold_all_requests(bad, tmp_path):
    names = [f"--{kind}={tmp_path / kind}" for kind in ("csv", "hgrm", "hlog")]
    result = drive("--rate", 100, "-t", 2, "-c", 8, *names, bad.url + "/ok")
    completed = result["requests"]["completed"]
    rows = [row.split(",") for row in (tmp_path / "csv").read_text().splitlines()]
    assert rows[0][:4] == ["second", "epoch", "completed", "failed"]
    assert sum(int(row[2]) for row in rows[1:]) == completed
    lines = (tmp_path / "hgrm").read_text().splitlines()
    levels = [line.split() for line in lines[2:] if not line.startswith("#")]
    assert int(levels[-1][2]) == completed and float(levels[-1][1]) == 1
    assert [float(level[0]) for level in levels] == sorted(float(level[0]) for level in levels)
    count = 0
    for line, second in zip([line for line in (tmp_path / "hlog").read_text().splitlines() if line[0].isdigit()],
                            result["series"]["seconds"]):
        packed = base64.b64decode(line.split(",")[3])
        cookie, length = struct.unpack(">II", packed[:8])
        plain = zlib.decompress(packed[8:8 + length])
        head = struct.unpack(">IIIIqqd", plain[:40])
        assert (cookie, head[0], head[1], head[3]) == (0x1c849314, 0x1c849313, len(plain) - 40, 2)
        index, buckets = 0, []
        for value in read_zigzag(plain[40:]):
            if value > 0:
                buckets.append([index, value])
            index += 1 if value > 0 else -value
        assert buckets == second["buckets"]
        count += sum(n for _, n in buckets)
    assert count == completed


@pytest.mark.skipif(not shutil.which("chromium"), reason="chromium is not installed")
def test_html_page_draws_its_plots_in_a_browser(bad, tmp_path):
    drive("--rate", 200, "-t", 2, "-c", 8, f"--html={tmp_path}/page.html", "--label", "<b>&'\"</script>",
          bad.url + "/half500", code=1)
    assert "http:" not in (tmp_path / "page.html").read_text().replace(bad.url, "").replace("http://127", "")
    done = subprocess.run(["chromium", "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path}/c",
                           "--enable-logging=stderr", "--dump-dom", f"file://{tmp_path}/page.html"],
                          capture_output=True, text=True, timeout=120)
    assert "CONSOLE" not in done.stderr, done.stderr
    assert done.stdout.count("<svg viewBox=\"0 0 900 260\"") == 3 and done.stdout.count("<polyline") >= 7
    assert "httpdrive: &lt;b&gt;&amp;'\"&lt;/script&gt;" in done.stdout
    assert "NaN" not in done.stdout and "undefined" not in done.stdout.partition("<script")[0]


def test_compare_measures_in_turns(bad):
    out = text("compare", "-r", 6, "-n", 20, "--warmup", "1r", f"A={bad.url}/ok", f"B={bad.url}/slow?n=0.02")
    assert re.search(r"B: [\d.]+ % to [\d.]+ % less than A", out) or "no difference seen" in out
    done = subprocess.run([DRIVER, "compare", "-q", "--json", "-", "-r", "6", "-n", "20", "--warmup", "1r",
                           f"A={bad.url}/ok", f"B={bad.url}/slow?n=0.02", f"C={bad.url}/slow?n=0.02"],
                          capture_output=True, text=True, timeout=120)
    result = json.loads(done.stdout)
    assert [side["name"] for side in result["sides"]] == ["A", "B", "C"]
    assert all(len(side["requests/s"]) == 6 for side in result["sides"])
    for comparison in result["comparisons"]:
        assert comparison["requests/s"]["high"] < 0.5 and comparison["median response"]["low"] > 2


def test_compare_of_stored_results(bad, tmp_path):
    for i in range(5):
        text("-n", 20, "--json", tmp_path / f"a{i}.json", bad.url + "/ok")
        text("-n", 20, "--json", tmp_path / f"b{i}.json", bad.url + "/slow?n=0.02")
    out = text("compare", f"before={tmp_path}/a*.json", f"after={tmp_path}/b*.json")
    assert "after against before" in out and "Mann-Whitney" in out
    assert re.search(r"median response +after: .* longer than before", out)
    assert "either all sides are URLs" in text("compare", "A=http://127.0.0.1/", "B=x.json", code=2)
    assert "is not NAME=URL" in text("compare", "http://127.0.0.1/", "B=x.json", code=2)


def test_large_bodies_go_over_kept_connections(bad, tmp_path):
    (tmp_path / "body").write_bytes(b"0123456789" * 50000)
    result = drive("-n", 20, "-c", 3, "-u", tmp_path / "body", "--verify", tmp_path / "body", bad.url + "/echo")
    assert failures(result) == {} and result["connections"]["opened"] == 3
    assert result["bytes"]["body"] == 20 * 500000


def test_an_answer_before_the_body_was_sent_is_taken(bad, tmp_path):
    """The server may close before its answer is read: then the reset comes first, and is counted as one."""
    (tmp_path / "body").write_bytes(b"x" * 10000000)
    result = drive("-n", 4, "-p", tmp_path / "body", "--expect", "413", bad.url + "/early", code=None)
    assert set(failures(result)) <= {"reset-before-answer", "reset-in-answer"}


def system_calls(tmp_path, *arguments):
    """How often each system call was made."""
    subprocess.run(["strace", "-f", "-c", "-S", "calls", "-o", tmp_path / "calls", DRIVER, "-q", *map(str, arguments)],
                   check=True, capture_output=True, timeout=60)
    rows = [line.split() for line in (tmp_path / "calls").read_text().splitlines()]
    return {row[-1]: int(row[3]) for row in rows if len(row) >= 5 and row[3].isdigit()}


@pytest.mark.skipif(not shutil.which("strace"), reason="strace is not installed")
def test_a_request_costs_two_system_calls_and_a_connection_six(bad, tmp_path):
    """Beside its share of the waits, which depends on how many answers come at a time."""
    n = 500
    calls = system_calls(tmp_path, "-n", n, "-c", 8, bad.url + "/ok")
    assert calls["sendto"] + calls["recvfrom"] <= 2 * n + 40
    assert calls["epoll_ctl"] <= 8 + 4 and calls["socket"] <= 8 + 4
    calls = system_calls(tmp_path, "-n", n, "-c", 8, "--no-keepalive", bad.url + "/ok")
    assert sum(calls.get(name, 0) for name in ("socket", "connect", "sendto", "recvfrom", "epoll_ctl",
                                               "setsockopt", "getsockopt")) <= 5.2 * n


def test_every_option_is_documented():
    usage = text("--help")
    docs = (Path(__file__).parent.parent / "docs/httpdrive.md").read_text()
    assert f"```\n{usage}```\n" in docs, "docs/httpdrive.md shows another --help"
    manual = (Path(__file__).parent.parent / "bench/httpdrive/httpdrive.1").read_text().replace("\\-", "-")
    for option in re.findall(r"--[a-z][a-z0-9.-]*", usage):
        assert option in manual, option


def test_server_cpu_and_memory_are_measured(bad):
    result = drive("-n", 300, "-c", 2, "--server-pid", os.getpid(), bad.url + "/ok")
    server = result["server"]
    assert server["cpu_seconds"] > 0 and server["pss_bytes"] > 1000000 and server["processes"] >= 1
    assert "no such process" in text("--server-pid", 2 ** 22 + 1, bad.url + "/ok", code=2)


if __name__ == "__main__":
    sys.exit(pytest.main([__file__]))
