# SPDX-License-Identifier: Apache-2.0
"""A thread that waits for one answer only sleeps in recv() instead of epoll: everything else has to be as it was. The
server answers a connection's first five requests well, since the first one of a connection never waits that way."""
import signal
import subprocess
import time

import pytest

from badserver import BadServer
from test_httpdrive import BROKEN, DRIVER, GOOD, bucket_low, drive, failures
from test_httpdrive_load import interrupted


@pytest.fixture
def bad():
    with BadServer() as server:
        yield server


def waits(result):
    """How often epoll was asked."""
    return round(result["client"]["waits_per_request"] * (result["requests"]["started"] + result["warmup"]["started"]))


def slow_answers(result):
    """Answers that may have taken longer than one sleep."""
    service = result["histograms"]["service"]
    return sum(count for index, count in service["buckets"]
               if bucket_low(index, result["histograms"]["sub_buckets"]) > 9e6)


@pytest.mark.parametrize("options", [["-c", 1], ["-c", 4, "-j", 4], ["-c", 1, "--rate", 100000], ["-c", 1, "--body", "x"]],
                         ids=lambda options: " ".join(map(str, options)))
def test_epoll_is_asked_only_for_slow_answers(bad, options):
    result = drive("-n", 600, *options, bad.url + "/ok")
    assert failures(result) == {} and bad.requests["/ok"] == 600
    # Beside the first answer of each thread, and the last sleep before something else is due.
    assert waits(result) <= 3 * slow_answers(result) + 20


def test_unix_sockets_are_slept_on_too(tmp_path):
    with BadServer(path=str(tmp_path / "socket")) as local:
        result = drive("-n", 300, f"unix:{tmp_path}/socket:http://localhost/ok")
        assert failures(result) == {} and local.requests["/ok"] == 300
        assert waits(result) <= 3 * slow_answers(result) + 20


def test_with_two_connections_epoll_says_which(bad):
    result = drive("-n", 200, "-c", 2, bad.url + "/ok")
    assert failures(result) == {} and waits(result) >= 50


@pytest.mark.parametrize("path,length", GOOD, ids=[path for path, _ in GOOD])
def test_answers_cut_anywhere(bad, path, length):
    after = "&after=5" if "?" in path else "?after=5"
    result = drive("-n", 60, bad.url + path + after)
    assert failures(result) == {}
    at_first = min(60, 5 * bad.connections)
    assert result["bytes"]["body"] == at_first * 12 + (60 - at_first) * length
    assert result["connections"]["opened"] == bad.connections


# Not those of a connection closed before its answer: on a reused one, that is no fault of the server.
LATER = [(path, outcome) for path, outcome in BROKEN if not outcome.endswith("before-answer")]


@pytest.mark.parametrize("path,outcome", LATER, ids=[path for path, _ in LATER])
def test_the_sixth_answer_of_each_connection_is_broken(bad, path, outcome):
    result = drive("-n", 60, bad.url + path + "?after=5", code=1)
    # A whole answer with another status keeps its connection, on which all further ones are like it.
    assert failures(result) == {outcome: 55 if outcome == "status" else 10}
    assert bad.requests[path] == 60


@pytest.mark.parametrize("path", ["/closed?after=5", "/reset?n=1&after=5"])
def test_a_dropped_connection_is_reopened(bad, path):
    result = drive("-n", 60, bad.url + path)
    assert failures(result) == {} and result["requests"]["resent"] == 11
    result = drive("-n", 60, "--body", "x", bad.url + path, code=1)
    assert failures(result) == {"reused-closed": 10}


def test_a_silent_close_between_requests_loses_nothing(bad):
    result = drive("-n", 60, bad.url + "/closes-after?n=6")
    assert failures(result) == {} and result["requests"]["ok"] == 60
    assert result["connections"]["opened"] == bad.connections >= 10


@pytest.mark.parametrize("path,outcome", [("/never", "timeout-answer"), ("/stall-in", "timeout-body")])
@pytest.mark.parametrize("timeout", [0.003, 0.013, 0.025, 0.5])
def test_deadlines_are_kept(bad, path, outcome, timeout):
    result = drive("-n", 18, "-s", timeout, bad.url + path + "?after=5", code=1)
    counted = failures(result)
    # The shortest of them may end other requests too, on a slow machine.
    assert counted[outcome] == 3 if timeout > 0.1 else set(counted) <= {outcome, "timeout-answer", "timeout-connect"}
    slowest = result["latency_ns"]["response"]["max"]
    assert timeout * 1e9 <= slowest < 20e9, "not the default of 30 s"


def test_slow_answers_are_waited_for(bad):
    result = drive("-n", 12, bad.url + "/slow?n=0.03")
    assert failures(result) == {}
    assert result["latency_ns"]["service"]["min"] >= 30e6
    assert waits(result) <= 4 * 12, "it does not wake up again and again"


def test_time_limit_ends_it(bad):
    result = drive("-t", 0.4, bad.url + "/ok")
    assert 0.39 < result["seconds"] < 5 and failures(result) == {}
    result = drive("-t", 1.5, "--drain", 0, bad.url + "/never?after=5", code=1)
    assert result["requests"]["ok"] == 5 and result["requests"]["in_flight"] == 1
    assert result["requests"]["oldest_in_flight_seconds"] < 5


def test_interrupt_while_it_sleeps(bad):
    result = interrupted("-n", 10 ** 6, bad.url + "/ok", ready=lambda: bad.requests["/ok"] > 50)
    assert result["requests"]["ok"] == bad.requests["/ok"]
    result = interrupted("-n", 100, "--drain", 0.1, bad.url + "/never?after=5",
                         ready=lambda: bad.requests["/never"] == 6)
    assert result["requests"]["ok"] == 5 and result["requests"]["in_flight"] == 1


def test_a_warmup_ends_on_time(bad):
    result = drive("-n", 30, "--warmup", "300ms", bad.url + "/ok")
    assert result["warmup"]["seconds"] >= 0.3 and result["requests"]["ok"] == 30
    assert bad.requests["/ok"] == 30 + result["warmup"]["started"]


def test_stopped_and_continued(bad):
    """A stop signal ends a sleep with an error that says nothing about the connection."""
    process = subprocess.Popen([DRIVER, "-q", "-n", "60", bad.url + "/slow?n=0.02"], stdout=subprocess.PIPE, text=True)
    for _ in range(8):
        time.sleep(0.03)
        process.send_signal(signal.SIGSTOP)
        process.send_signal(signal.SIGCONT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 0 and "started 60 = ok 60 + in flight 0" in out
