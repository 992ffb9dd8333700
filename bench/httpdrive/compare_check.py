# SPDX-License-Identifier: Apache-2.0
"""Does `httpdrive compare` say the truth? An httpd beside itself, then beside one that does 10 % more work.

    make bench-compare-check CHECK_FLAGS="--times 20 --rounds 12 --seconds 0.5"

Compares a server with itself, and with its slower twin, so many times each, and counts how often a difference was seen.
What makes the slower one slow is a number of configuration lines that cost CPU time for each request; how many are
needed is found first, from what many more of them cost.
"""
import argparse
import json
import os
import subprocess
import sys

from harness.httpd import Httpd, Sizes, load_module
from hello_folder import hello_folder

DRIVER = os.environ.get("INTERPOOL_HTTPDRIVE", "httpdrive")
LOAD = ["-c", "8", "-q"]


def burden(lines):
    """Configuration that looks at each request's URL so many times more."""
    return load_module("setenvif") + "".join(f'SetEnvIf Request_URI "^/nothing{i}.*[a-z]+$" nothing{i}\n'
                                             for i in range(lines))


def server(folder, name, lines, docroot):
    return Httpd("event", workdir=folder / name, docroot=docroot, sizes=Sizes(processes=1, threads=16),
                 conf="MaxKeepAliveRequests 0\n" + burden(lines))


def run(*arguments):
    done = subprocess.run([DRIVER, *arguments], capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"httpdrive ended with {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def ratio_of_cpu(a, b, rounds=8):
    """The server's CPU time per request, b / a."""
    result = run("compare", "--json", "-", *LOAD, "--rounds", str(rounds), "-t", "0.5", "--server-pid",
                 f"{a.pid},{b.pid}", f"A={a.url}/hello.txt", f"B={b.url}/hello.txt")
    return result["comparisons"][0]["server CPU/request"]["ratio"]


def find_burden(folder, a, docroot, target):
    """How many lines make a request `target` times as dear: each costs the same, and many cost more than the noise."""
    few, many = 300, 900
    extra = {}
    for lines in (few, many):
        with server(folder, f"try{lines}", lines, docroot) as b:
            extra[lines] = ratio_of_cpu(a, b) - 1
        print(f"{lines} lines: {100 * extra[lines]:+.1f} % CPU/request", file=sys.stderr)
    return max(10, round((target - 1) * (many - few) / max(extra[many] - extra[few], 0.1)))


def compare(a, b, options, with_cpu):
    pids = ["--server-pid", f"{a.pid},{b.pid}"] if with_cpu else []
    result = run("compare", "--json", "-", *LOAD, "--rounds", str(options.rounds), "-t", str(options.seconds), *pids,
                 f"A={a.url}/hello.txt", f"B={b.url}/hello.txt")
    return result["comparisons"][0]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=float, default=0.5)
    options = parser.parse_args()
    with hello_folder("compare") as (folder, docroot):
        with server(folder, "a", 0, docroot) as a:
            lines = find_burden(folder, a, docroot, 1.10)
            print(f"the slower one has {lines}", file=sys.stderr)
            with server(folder, "slower", lines, docroot) as slower:
                for name, b in (("itself", a), ("10 % slower", slower)):
                    found = [compare(a, b, options, with_cpu=True) for _ in range(options.times)]
                    print(f"{name}, {options.times} times {options.rounds} rounds of {options.seconds} s:")
                    for metric in ("requests/s", "median response", "server CPU/request"):
                        ratios = sorted(one[metric]["ratio"] for one in found)
                        print(f"  {metric:20} different {sum(one[metric]['different'] for one in found):2} times, "
                              f"ratios {ratios[0]:.3f} to {ratios[-1]:.3f}, median {ratios[len(ratios) // 2]:.3f}")
                    any_of = sum(any(part["different"] for part in one.values() if isinstance(part, dict))
                                 for one in found)
                    print(f"  any of them          different {any_of:2} times", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
