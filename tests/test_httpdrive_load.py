# SPDX-License-Identifier: Apache-2.0
"""What the driver sends and how it counts: rates, shares, connections, exit codes. Nothing here passes or fails by how
fast the machine is."""
import json
import math
import os
import re
import resource
import selectors
import shutil
import signal
import socket
import subprocess
import threading
import time

import pytest

from badserver import BadServer
from test_httpdrive import DRIVER, check_laws, drive, failures, text


@pytest.fixture
def bad():
    with BadServer() as server:
        yield server


class ManyServer:
    """Answers on thousands of connections from one thread, and counts."""
    ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    def __enter__(self):
        self.limits = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (self.limits[1], self.limits[1]))
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.listener.setblocking(False)
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}/"
        self.requests = self.connections = 0
        self.errors = []
        self.stopping = False
        self.selector = selectors.DefaultSelector()
        self.selector.register(self.listener, selectors.EVENT_READ)
        self.thread = threading.Thread(target=self.serve)
        self.thread.start()
        return self

    def serve(self):
        while not self.stopping:
            for key, _ in self.selector.select(0.2):
                if key.fileobj is self.listener:
                    self.accept()
                else:
                    self.answer(key.fileobj)

    def accept(self):
        try:
            while True:
                sock, _ = self.listener.accept()
                sock.setblocking(False)
                self.connections += 1
                self.selector.register(sock, selectors.EVENT_READ)
        except BlockingIOError:
            pass

    def answer(self, sock):
        try:
            count = sock.recv(65536).count(b"\r\n\r\n")
            self.send(sock, self.ANSWER * count)
        except BlockingIOError:
            return  # a false alarm: it comes again
        except OSError as error:
            self.errors.append(repr(error))
            count = 0
        self.requests += count
        if not count:
            self.selector.unregister(sock)
            sock.close()

    def send(self, sock, data):
        """A kernel short of memory for sockets takes nothing for a moment: that is no reason to close."""
        while data:
            try:
                data = data[sock.send(data):]
            except BlockingIOError:
                time.sleep(0.001)

    def __exit__(self, *_):
        self.stopping = True
        self.thread.join()
        for key in list(self.selector.get_map().values()):
            key.fileobj.close()
        self.selector.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, self.limits)


@pytest.fixture
def many():
    with ManyServer() as server:
        yield server


class TestRate:
    def test_schedule_holds_exactly_what_the_rate_says(self, many):
        for rate, seconds, threads in ((1000, 1, 1), (333, 0.6, 2), (7, 1, 3), (1.5, 1, 1)):
            result = drive("--rate", rate, "-t", seconds, "-c", 64, "-j", threads, many.url)
            loop = result["open_loop"]
            assert loop["scheduled"] == math.ceil(rate * seconds), "due at 0, 1/rate, 2/rate..."
            assert loop["sent"] + loop["unsent"] == loop["scheduled"]
            assert loop["sent"] == result["requests"]["started"]

    def test_a_number_of_requests_is_sent_whole(self, many):
        result = drive("--rate", 2000, "-n", 3000, "-c", 128, "-j", 3, many.url)
        assert result["open_loop"]["scheduled"] == result["open_loop"]["sent"] == 3000 == many.requests
        assert result["open_loop"]["unsent"] == 0
        # The last one is due at 2999 / 2000 s; how much later its answer comes is the machine's affair.
        assert result["seconds"] >= 2999 / 2000

    def test_response_time_counts_from_the_due_time(self, bad):
        result = drive("--rate", 50, "-n", 20, "-c", 1, bad.url + "/slow?n=0.05")
        times = result["latency_ns"]
        # One connection serves 20 a second of the 50: request k waits for k others.
        assert times["response"]["max"] >= 19 * 50e6 - 19 * 20e6
        assert times["service"]["min"] >= 50e6
        assert result["open_loop"]["late"] >= 18

    def test_poisson_is_reproducible_and_has_its_mean(self, many):
        counts = [drive("--rate", 2000, "--poisson", "--seed", seed, "-t", 1, "-c", 64, many.url)
                  ["open_loop"]["scheduled"] for seed in (1, 1, 2)]
        assert counts[0] == counts[1] != counts[2]
        for count in counts:
            assert abs(count - 2000) < 5 * 2000 ** 0.5

    def test_poisson_sends_a_number_whole(self, many):
        result = drive("--rate", 3000, "--poisson", "-n", 2001, "-c", 100, "-j", 4, many.url)
        assert result["requests"]["ok"] == 2001 == many.requests


class TestShares:
    @pytest.mark.parametrize("c,j", [(7, 3), (5, 2), (1, 4), (10, 4), (3, 3)])
    def test_connections_need_not_divide_by_threads(self, bad, c, j):
        result = drive("-n", 211, "-c", c, "-j", j, bad.url + "/slow?n=0.002")
        assert result["requests"]["ok"] == 211 == bad.requests["/slow"]
        assert result["connections"]["opened"] == c == bad.connections
        assert len(result["client"]["threads"]) == min(c, j)

    @pytest.mark.parametrize("options", [[], ["--no-keepalive"], ["--rate", "5"], ["-c", "9", "-j", "4"], ["--ab"]])
    def test_one_request(self, bad, options):
        result = drive("-n", 1, *options, bad.url + "/ok")
        assert result["requests"]["ok"] == 1 == bad.requests["/ok"] == bad.connections

    def test_urls_are_chosen_by_weight(self, bad, tmp_path):
        (tmp_path / "urls").write_text(f"# three kinds\n3 /ok\n\n  0.5 /vary\r\n{bad.url}/tally?n=2\n")
        result = drive("-n", 1800, "-c", 4, "--seed", 11, "--urls", tmp_path / "urls", bad.url)
        started = {target["path"].partition("?")[0]: target["started"] for target in result["targets"]}
        assert started == {path: bad.requests[path] for path in ("/ok", "/vary", "/tally")}
        assert sum(started.values()) == 1800
        for path, share in (("/ok", 3 / 4.5), ("/vary", 0.5 / 4.5), ("/tally", 1 / 4.5)):
            assert abs(started[path] - 1800 * share) < 5 * (1800 * share * (1 - share)) ** 0.5

    def test_a_percentile_of_few_answers_is_not_printed(self, bad, tmp_path):
        (tmp_path / "urls").write_text("20 /ok\n1 /vary\n")
        out = text("-n", 2400, "-c", 2, "--seed", 3, "--urls", tmp_path / "urls", bad.url)
        assert re.search(r"^/ok +2\d+ +2\d+ +[\d.]+ \w+ +[\d.]+ \w+$", out, re.M)
        assert re.search(r"^/vary +1\d\d +1\d\d +[\d.]+ \w+ +-$", out, re.M)

    def test_urls_come_from_standard_input_too(self, bad):
        result = drive("-n", 10, "--urls", "-", input=f"{bad.url}/ok\n")
        assert result["requests"]["ok"] == 10 == bad.requests["/ok"]

    def test_faults_in_a_list_of_urls_name_the_line(self, bad, tmp_path):
        for lines, message in (("/ok\nx /ok\n", "HD014: --urls line 2"), ("/ok\nhttp://other.test/\n", "HD015: --urls line 2"),
                               ("# nothing\n", "HD016"), ("0 /ok\n", "HD014: --urls line 1")):
            (tmp_path / "urls").write_text(lines)
            assert message in text("--urls", tmp_path / "urls", bad.url, code=2)
        assert "HD016" in text("--urls", tmp_path / "none", bad.url, code=2)

    def test_ramp_opens_connections_little_by_little(self, bad):
        result = drive("-t", 3, "--ramp", 2, "-c", 20, bad.url + "/slow?n=0.02")
        seconds = result["series"]["seconds"]
        assert sum(second["opened"] for second in seconds) == result["connections"]["opened"] == 20
        # A slow machine is later than the plan, never earlier.
        assert seconds[0]["opened"] <= 11


class TestRequest:
    @pytest.fixture
    def seen(self, bad):
        """What the server was asked at /ok: (request, its body)."""
        requests = []
        ok = bad.behaviours.ok

        def remember(sock, request):
            requests.append(request)
            ok(sock, request)
        bad.behaviours.ok = remember
        return requests

    def test_headers_cookies_and_authentication(self, bad, seen):
        drive("-n", 2, "-C", "a=1", "-C", "b=2", "-H", "Accept: text/x", "-H", "X-Empty:", "-A", "me:pass word",
              bad.url + "/ok")
        assert len(seen) == 2
        for request in seen:
            assert request.headers["cookie"] == "a=1; b=2"
            assert request.headers["accept"] == "text/x"
            assert request.headers["x-empty"] == ""
            assert request.headers["authorization"] == "Basic bWU6cGFzcyB3b3Jk"
            assert request.headers["host"] == bad.url.removeprefix("http://")

    def test_a_header_given_takes_the_place_of_the_drivers_own(self, bad, seen):
        drive("-n", 1, "-H", "host: www.example.test", "-H", "User-Agent: me", bad.url + "/ok")
        head = seen[0].head.lower()
        assert head.count("\r\nhost:") == 1 and seen[0].headers["host"] == "www.example.test"
        assert head.count("\r\nuser-agent:") == 1 and seen[0].headers["user-agent"] == "me"

    def test_credentials_in_the_url(self, bad, seen):
        drive("-n", 1, bad.url.replace("//", "//m%65:p%40ss@") + "/ok")
        assert seen[0].headers["authorization"] == "Basic bWU6cEBzcw=="
        assert "@" not in seen[0].headers["host"]

    @pytest.mark.parametrize("options,method", [(["--body", "hello"], "POST"), (["-p", "FILE"], "POST"),
                                                (["-u", "FILE"], "PUT"), (["--body", "hello", "-m", "PATCH"], "PATCH")])
    def test_bodies(self, bad, seen, tmp_path, options, method):
        (tmp_path / "body").write_bytes(b"hello")
        drive("-n", 3, "-T", "text/x", *(str(tmp_path / "body") if o == "FILE" else o for o in options), bad.url + "/ok")
        assert [(r.method, r.body, r.headers["content-type"], r.headers["content-length"]) for r in seen] == \
            [(method, b"hello", "text/x", "5")] * 3

    def test_line_ends_in_options_are_refused(self, bad):
        for options in (["-H", "A: b\r\nX: y"], ["-C", "a\nb"], ["-T", "a\r\nb"], ["-m", "GET /"], ["-H", "none"]):
            assert "HD020" in text(*options, bad.url + "/ok", code=2)
        assert not bad.requests

    def test_http10_closes_unless_it_is_kept(self, bad, seen):
        drive("-n", 4, "--http1.0", "--no-keepalive", bad.url + "/ok")
        assert {request.version for request in seen} == {"HTTP/1.0"} and bad.connections == 4
        drive("-n", 4, "--http1.0", bad.url + "/ok")
        assert bad.connections == 5 and seen[-1].headers["connection"].lower() == "keep-alive"


class TestJudgement:
    def test_percentiles_are_those_of_the_sorted_samples(self, bad, tmp_path):
        result = drive("-n", 1500, "-c", 3, "-g", tmp_path / "all", bad.url + "/ok")
        samples = sorted(float(row.split("\t")[4]) * 1e6 for row in (tmp_path / "all").read_text().splitlines()[1:])
        assert len(samples) == 1500
        response = result["latency_ns"]["response"]
        for percent in (50, 66, 75, 80, 90, 95, 98, 99):
            exact = samples[-(-1500 * percent // 100) - 1]
            # A bucket is 1/2048 of its value wide; the file has microseconds.
            assert response[f"p{percent}"] == pytest.approx(exact, rel=1 / 2048, abs=1000)
        assert response["min"] == pytest.approx(samples[0], abs=1000)
        assert response["max"] == pytest.approx(samples[-1], abs=1000)
        assert response["mean"] == pytest.approx(sum(samples) / 1500, rel=0.01, abs=1000)

    def test_tally_counts_each_value(self, bad):
        result = drive("-n", 101, "-c", 4, "-j", 2, "--tally", "x-worker", bad.url + "/tally?n=7")
        expected = {}
        for number in range(1, 102):
            expected[str(number % 7)] = expected.get(str(number % 7), 0) + 1
        assert result["tally"] == {"header": "x-worker", "values": expected}

    def test_thresholds_have_their_exit_codes(self, bad):
        drive("-n", 2000, "-c", 2, "--p99-max", "60s", bad.url + "/ok")
        drive("-n", 2000, "-c", 2, "--p99-max", "1us", bad.url + "/ok", code=5)
        drive("-n", 20, "--max-fail", 9, bad.url + "/half500", code=1)
        drive("-n", 20, "--max-fail", 10, bad.url + "/half500")

    def test_verify_counts_only_whole_answers(self, bad):
        result = drive("-n", 20, "--verify", "first", bad.url + "/short", code=1)
        assert failures(result) == {"short-body": 20}
        result = drive("-n", 20, "--verify", "length", "--expect", "500", bad.url + "/error500")
        assert failures(result) == {}


def interrupted(*arguments, ready, number=signal.SIGINT):
    """Starts the driver, sends the signal when ready() says so, and returns its JSON."""
    process = subprocess.Popen([DRIVER, "--json", "-", "-q", *map(str, arguments)], stdout=subprocess.PIPE, text=True)
    try:
        while not ready():
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(number)
        out, _ = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 130
    result = json.loads(out)
    check_laws(result)
    assert result["ended_by"] == "interrupted"
    return result


class TestInterrupt:
    def test_in_an_open_loop(self, bad):
        result = interrupted("--rate", 200, "-t", 60, "-c", 8, bad.url + "/ok", ready=lambda: bad.requests["/ok"] > 20)
        loop = result["open_loop"]
        assert loop["sent"] + loop["unsent"] == loop["scheduled"] < 60 * 200
        assert loop["sent"] == bad.requests["/ok"]

    def test_while_nobody_answers(self, bad):
        result = interrupted("-n", 100, "-c", 5, "--drain", "200ms", bad.url + "/never",
                             ready=lambda: bad.requests["/never"] == 5)
        assert result["requests"]["in_flight"] == 5 == result["requests"]["started"]

    def test_in_the_drain(self, bad):
        began = time.monotonic()
        result = interrupted("-t", 0.2, "-c", 3, "--drain", "25s", bad.url + "/never",
                             ready=lambda: bad.requests["/never"] == 3 and time.monotonic() - began > 0.6)
        assert result["requests"]["in_flight"] == 3, "their deadline is after 30 s, the drain after 25 s"
        assert result["requests"]["oldest_in_flight_seconds"] < 20

    def test_in_the_drain_of_a_number(self, bad):
        result = interrupted("-n", 3, "-c", 3, bad.url + "/never", ready=lambda: bad.requests["/never"] == 3)
        assert result["requests"]["in_flight"] == 3

    def test_in_the_warm_up(self, bad):
        result = interrupted("-n", 100, "--warmup", "60s", bad.url + "/ok", ready=lambda: bad.requests["/ok"])
        assert result["requests"]["started"] == 0 and result["warmup"]["started"] > 0

    def test_while_connecting_is_refused(self):
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            began = time.monotonic()
            result = interrupted("-t", 60, f"http://127.0.0.1:{unused.getsockname()[1]}/",
                                 ready=lambda: time.monotonic() - began > 0.5)
            assert result["requests"]["ok"] == 0 < result["outcomes"]["refused"]

    def test_text_report_is_printed_too(self, bad):
        process = subprocess.Popen([DRIVER, "-q", "-t", "60", bad.url + "/ok"], stdout=subprocess.PIPE, text=True)
        while not bad.requests["/ok"]:
            time.sleep(0.01)
        process.send_signal(signal.SIGTERM)
        out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        assert "Complete requests:" in out and "interrupted" in out


class TestUnreached:
    """Requests that did not get through, and why."""

    def test_a_server_that_does_not_read(self, tmp_path):
        (tmp_path / "body").write_bytes(b"x" * 20_000_000)
        with socket.create_server(("127.0.0.1", 0)) as silent:
            result = drive("-n", 3, "-c", 3, "-s", 0.4, "-p", tmp_path / "body",
                           f"http://127.0.0.1:{silent.getsockname()[1]}/", code=1)
        assert failures(result) == {"timeout-send": 3}
        assert result["latency_ns"]["response"]["min"] >= 0.4e9

    def test_a_full_listen_queue(self):
        with socket.create_server(("127.0.0.1", 0), backlog=0) as full:
            result = drive("-n", 12, "-c", 12, "-s", 0.5, f"http://127.0.0.1:{full.getsockname()[1]}/", code=1)
        outcomes = failures(result)
        assert set(outcomes) == {"timeout-connect", "timeout-answer"} and sum(outcomes.values()) == 12
        assert outcomes["timeout-connect"] >= 9

    def test_an_address_of_another_machine_as_source(self, bad):
        result = drive("-n", 3, "-B", "192.0.2.7", bad.url + "/ok", code=3)
        assert failures(result) == {"connect-failed": 3}
        assert [error["errno"] for error in result["errors"]] == ["EADDRNOTAVAIL"]

    @pytest.mark.skipif(not shutil.which("unshare"), reason="unshare is not installed")
    def test_no_way_to_the_server(self):
        if subprocess.run(["unshare", "-n", "true"], capture_output=True).returncode:
            pytest.skip("no network namespace can be made")
        done = subprocess.run(["unshare", "-n", DRIVER, "-q", "--json", "-", "-n", "3", "http://127.0.0.1:80/"],
                              capture_output=True, text=True, timeout=60)
        result = json.loads(done.stdout)
        check_laws(result)
        assert done.returncode == 3 and failures(result) == {"unreachable": 3}
        assert "HD051: nothing could connect to 127.0.0.1 port 80: Network is unreachable" in done.stderr


URL = "http://127.0.0.1:1/"
FAULTS = [(["--unix", "/" + "x" * 200, URL], "HD011: the path of the UNIX socket is too long"),
          (["-X", "proxy:none", URL], "HD012: proxy 'proxy:none': 'none' is no port"),
          (["ftp://127.0.0.1/"], "HD013: URL 'ftp://127.0.0.1/': only http:// and https:// are known"),
          (["--expect", "200,nine", URL], "HD017: --expect: 'nine'"),
          (["--verify", "NONE", URL], "HD018: --verify NONE: No such file or directory"),
          (["-p", "NONE", URL], "HD019: body NONE: No such file or directory"),
          (["-u", "/", URL], "HD019: body /: Is a directory"),
          (["--server-pid", "NONE", URL], "HD040: --server-pid NONE: No such file or directory"),
          (["merge", "NONE"], "HD060: NONE: No such file or directory"),
          (["compare", "A=" + URL, "B"], "HD070: 'B' is not NAME=URL or NAME=FILES"),
          (["compare", "A=" + URL, "B=x.json"], "HD070: either all sides are URLs or none is"),
          (["-n", "0", URL], "HD005: -n: '0' is not a count"),
          (["--rate", "nan", URL], "HD005: --rate: 'nan' is not a number above 0"),
          (["--nonsense", URL], "HD005: --nonsense is not an option"), (["--poisson", URL], "HD005: --poisson needs --rate"),
          (["-i", "-p", "x", URL], "HD005: -i cannot be combined"), ([URL, URL], "HD005: one URL is enough")]


class TestUsage:
    @pytest.mark.parametrize("arguments,message", FAULTS, ids=[message[:5] + "-" + words[0] for words, message in FAULTS])
    def test_a_fault_is_one_line_with_its_tag(self, tmp_path, arguments, message):
        out = text(*arguments, code=2, cwd=tmp_path)
        assert out.startswith("httpdrive: " + message) and out.count("\n") == 1

    @pytest.mark.parametrize("option", ["--json", "--csv", "--html", "--hgrm", "--hlog", "-e", "-g"])
    def test_a_report_that_cannot_be_written_is_named_before_the_load(self, bad, tmp_path, option):
        out = text(option, tmp_path / "none/report", bad.url + "/ok", code=2)
        assert out == f"httpdrive: HD050: {tmp_path}/none/report: No such file or directory\n"
        assert not bad.requests

    def test_reports_go_to_pipes_too(self, bad, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        process = subprocess.Popen([DRIVER, "-q", "-n", "5", "--json", tmp_path / "pipe", bad.url + "/ok"],
                                   stdout=subprocess.DEVNULL)
        assert json.loads((tmp_path / "pipe").read_text())["requests"]["ok"] == 5
        assert process.wait(60) == 0

    def test_options_without_effect_are_named(self, bad):
        warnings = drive("-n", 1, "-P", "me:secret", "--tls-verify", "--spin", bad.url + "/ok")["warnings"]
        for warning in ("-P has no effect without -X", "options about TLS have no effect on http://",
                        "--spin has no effect without --rate"):
            assert warning in warnings
        assert not any("no effect" in warning for warning in drive("-n", 1, bad.url + "/ok")["warnings"])

    def test_compare_refuses_reports_it_does_not_have(self, bad, tmp_path):
        assert "HD005: compare has one report" in text("compare", "--csv", tmp_path / "x", f"A={bad.url}/ok",
                                                       f"B={bad.url}/ok", code=2)
        assert "HD050" in text("compare", "--json", tmp_path / "none/x", f"A={bad.url}/ok", f"B={bad.url}/ok", code=2)
        assert not bad.requests


class TestLimits:
    def test_ten_thousand_connections_within_64_mib(self, many):
        wanted = 10000
        if many.limits[1] < wanted + 500:
            wanted = many.limits[1] - 500
        if wanted < 1000:
            pytest.skip(f"the limit of descriptors is {many.limits[1]}")
        process = subprocess.Popen([DRIVER, "--json", "-", "-q", "-t", "100", "-s", "100", "-c", str(wanted), "-j", "2",
                                    many.url],
                                   stdout=subprocess.PIPE, text=True)
        try:
            while many.connections < wanted or many.requests < 2 * wanted:
                assert process.poll() is None
                time.sleep(0.05)
            with open(f"/proc/{process.pid}/status") as status:
                peak = next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        finally:
            process.kill()
            process.wait()
        result = json.loads(out)
        check_laws(result)
        assert failures(result) == {}, (result["errors"], many.errors)
        # A machine under pressure may reset one: then its request was resent on another connection.
        assert result["connections"]["opened"] == wanted + result["requests"]["resent"], many.errors
        if "libasan" not in os.environ.get("LD_PRELOAD", ""):
            assert peak <= 64 * 1024, "KiB"

    def test_soft_limit_of_descriptors_is_raised(self, many):
        def limit():
            resource.setrlimit(resource.RLIMIT_NOFILE, (64, many.limits[1]))
        result = drive("--warmup", "auto", "-n", 400, "-c", 200, many.url, preexec_fn=limit)
        assert many.connections >= 200 and failures(result) == {}

    def test_port_that_closes_in_between_is_waited_for(self):
        """The server goes away and comes back: nothing is lost, the time between is not spun away."""
        with socket.create_server(("127.0.0.1", 0)) as listener:
            address = listener.getsockname()
        process = subprocess.Popen([DRIVER, "--json", "-", "-q", "-t", "60", "-c", "2", f"http://127.0.0.1:{address[1]}/"],
                                   stdout=subprocess.PIPE, text=True)
        time.sleep(0.5)
        answered = 0
        with socket.create_server(address) as listener:
            while answered < 20:
                sock, _ = listener.accept()
                with sock:
                    if sock.recv(65536):
                        sock.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok")
                        answered += 1
            process.send_signal(signal.SIGINT)
            out, _ = process.communicate(timeout=60)
        assert process.returncode == 130
        result = json.loads(out)
        check_laws(result)
        assert result["requests"]["ok"] == 20
        assert 0 < result["outcomes"]["refused"] < 200, "it waits between attempts"
