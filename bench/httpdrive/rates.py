# SPDX-License-Identifier: Apache-2.0
"""Does `httpdrive --rate` keep its rate? Told by the server: a private httpd writes down when each request came.

    make bench-rates RATES_FLAGS="--rates 1000,20000 --seconds 10"

For each rate, evenly and with --poisson, printed: how many requests were due, how many came; the rate of those that
came, (n - 1) / (last - first), and its error against the rate asked for (evenly) or the plan's own (--poisson, whose
number of arrivals is random, n +- sqrt n); the second whose count was furthest from the plan; how long after the plan
requests came; and the variance of the counts in 10 ms divided by their mean, which is 1 for a Poisson process.
"""
import argparse
import json
import math
import os
import re
import statistics
import subprocess
import sys

from harness.httpd import Httpd, Sizes
from hello_folder import hello_folder

DRIVER = os.environ.get("INTERPOOL_HTTPDRIVE", "httpdrive")
HEAD = ("| rate | due | came | came/s | error | worst second | behind the plan: p50, p99, max (ms) | variance/mean | "
        "driver busy | late | |\n|---|---|---|---|---|---|---|---|---|---|---|")


def drive(url, rate, poisson, options):
    command = [DRIVER, "-q", "--json", "-", "--rate", str(rate), "-t", str(options.seconds), "-c", str(options.connections),
               *(["--poisson"] if poisson else []), url]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-2000:]}{done.stderr}")
    return json.loads(done.stdout)


def percentile(ordered, percent):
    return ordered[max(0, math.ceil(len(ordered) * percent / 100) - 1)]


def dispersion(arrivals, width):
    """Variance / mean of the counts in intervals of this width."""
    counts = [0] * int((arrivals[-1] - arrivals[0]) / width)
    for arrival in arrivals:
        index = int((arrival - arrivals[0]) / width)
        if index < len(counts):
            counts[index] += 1
    return statistics.pvariance(counts) / statistics.mean(counts)


def describe(rate, poisson, result, arrivals, seconds):
    """One row of the table; arrivals are seconds in ascending order."""
    loop, n = result["open_loop"], len(arrivals)
    seen = (n - 1) / (arrivals[-1] - arrivals[0])
    if poisson:
        # Between the first and the last of n arrivals lie n - 1 gaps, but the plan goes on to the end of the time.
        error, worst, behind = n / loop["scheduled"] - 1, "", ""
    else:
        error = seen / rate - 1
        # The plan's clock against the server's: no request can be early, so the least late one is on time.
        late = sorted(arrival - k / rate for k, arrival in enumerate(arrivals))
        late = [value - late[0] for value in late]
        behind = ", ".join(f"{1000 * value:.3f}" for value in (percentile(late, 50), percentile(late, 99), late[-1]))
        counts = [0] * math.ceil(seconds)
        for arrival in arrivals:
            counts[min(int(arrival - arrivals[0]), len(counts) - 1)] += 1
        worst = f"{max((count - rate for count in counts), key=abs):+.0f}"
    notes = "CLIENT-BOUND" if result["client"]["bound"] else ""
    print(f"| {rate:g}{' Poisson' if poisson else ''} | {loop['scheduled']} | {n} | {seen:.2f} | {100 * error:+.4f} % | "
          f"{worst} | {behind} | {dispersion(arrivals, 0.01):.2f} | {result['client']['busy']:.2f} | {loop['late']} | "
          f"{notes} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rates", default="1000,20000")
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--connections", type=int, default=128)
    parser.add_argument("--kinds", default="even,poisson")
    options = parser.parse_args()
    with hello_folder("rates") as (folder, docroot):
        log = folder / "arrivals.log"
        conf = f'MaxKeepAliveRequests 0\nBufferedLogs On\nCustomLog "{log}" "%U %{{begin:usec}}t"\n'
        print(HEAD)
        for rate in options.rates.split(","):
            for kind in options.kinds.split(","):
                # A server for each: what it logged is complete when it has ended.
                with Httpd("event", workdir=folder / "run", conf=conf, docroot=docroot,
                           sizes=Sizes(processes=2, threads=options.connections)) as server:
                    result = drive(server.url + "/hello.txt", float(rate), kind == "poisson", options)
                arrivals = sorted(int(time) / 1e6 for time in re.findall(r"^/hello.txt (\d+)$", log.read_text(), re.M))
                log.unlink()
                describe(float(rate), kind == "poisson", result, arrivals, options.seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
