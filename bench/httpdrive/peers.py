# SPDX-License-Identifier: Apache-2.0
"""What does a request cost the machine that sends it? httpdrive beside wrk, ab and h2load.

    make bench-peers PEERS_FLAGS="--rounds 12 --seconds 1 --connections 1,32,256"

All drive the same static file of one private httpd, in turns: a round measures each of them once, in an order that
changes from round to round. The figure is user + system CPU time of the client process (as the kernel accounts it when
the process ends) per good answer; starting it is part of that. Printed: medians over the rounds, and the ratio to each
peer's with its 95 % bootstrap interval.

The server has a thread for each connection and some to spare. With fewer, httpd's event MPM closes kept-alive
connections as soon as all threads are busy: what is measured then is reconnecting, and how a driver counts requests that
got no answer (ab: complete and failed).
"""
import argparse
import json
import os
import random
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from harness.httpd import Httpd, Sizes
from hello_folder import hello_folder
from rig import stats

# One thread each, so that the figures mean the same.
KEPT = {
    "httpdrive": ["{httpdrive}", "-q", "--json", "-", "-t", "{seconds}", "-c", "{c}", "{url}"],
    "wrk": ["wrk", "-t", "1", "-d", "{seconds}s", "-c", "{c}", "{url}"],
    "ab": ["ab", "-q", "-k", "-t", "{seconds}", "-n", "2000000", "-c", "{c}", "{url}"],
    "h2load": ["h2load", "--h1", "-t", "1", "-D", "{seconds}", "-c", "{c}", "{url}"],
}
NEW = {
    "httpdrive": [*KEPT["httpdrive"][:-1], "--no-keepalive", "{url}"],
    "wrk": [*KEPT["wrk"][:-1], "-H", "Connection: close", "{url}"],
    "ab": [word for word in KEPT["ab"] if word != "-k"],
    # h2load stops when the server closes: it has no such mode.
}
COUNTS = {
    "httpdrive": lambda out: json.loads(out)["requests"]["ok"],
    "wrk": lambda out: int(re.search(r"(\d+) requests in", out)[1]),
    "ab": lambda out: int(re.search(r"Complete requests:\s+(\d+)", out)[1])
    - int(re.search(r"Failed requests:\s+(\d+)", out)[1]),
    "h2load": lambda out: int(re.search(r"(\d+) succeeded", out)[1]),
}


def measure(tool, command):
    """CPU microseconds per request of one run."""
    with tempfile.TemporaryFile("w+") as out:
        process = subprocess.Popen(command, stdout=out, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        text = out.read()
    if process.returncode:
        raise SystemExit(f"{tool} ended with {process.returncode}: {' '.join(command)}\n{text[-2000:]}")
    return (used.ru_utime + used.ru_stime) * 1e6 / COUNTS[tool](text)


def rounds_of(tools, fill, rounds, chance, say):
    """{tool: one figure for each round}."""
    figures = {tool: [] for tool in tools}
    for number in range(rounds):
        for tool in chance.sample(list(tools), len(tools)):
            figures[tool].append(measure(tool, [word.format(**fill) for word in tools[tool]]))
        say(f"\r{fill['mode']}, c={fill['c']}: round {number + 1} of {rounds}   ")
    say("\n")
    return figures


def print_table(title, figures, seed):
    print(f"\n{title}\n\n| driver | CPU µs/request | httpdrive's part of it (95 %) | Wilcoxon p |\n|---|---|---|---|")
    ours = figures["httpdrive"]
    for tool, values in figures.items():
        middle = stats.estimate_median(values, seed)
        line = f"| {tool} | {middle.middle:.2f}" + (f" ({middle.low:.2f} to {middle.high:.2f})" if middle.low else "")
        if tool == "httpdrive":
            print(line + " | | |")
            continue
        ratio = stats.paired_ratio(ours, values, seed)
        interval = f" ({ratio.low:.3f} to {ratio.high:.3f})" if ratio.low else ""
        p = stats.wilcoxon_p([a - b for a, b in zip(ours, values)])
        print(f"{line} | {ratio.middle:.3f}{interval} | {p:.4f} |")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seconds", type=int, default=1, help="whole seconds: some peers know no others")
    parser.add_argument("--connections", default="1,32,256")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--results", help="write the figures there as JSON")
    options = parser.parse_args()
    chance, kept = random.Random(options.seed), {}
    say = (lambda text: print(text, end="", file=sys.stderr, flush=True)) if sys.stderr.isatty() else lambda text: None
    with hello_folder("peers") as (folder, docroot):
        conf = "MaxKeepAliveRequests 0\n"
        threads = max(int(c) for c in options.connections.split(",")) * 3 // 2
        with Httpd("event", workdir=folder / "run", conf=conf, docroot=docroot,
                   sizes=Sizes(processes=4, threads=max(32, -(-threads // 4)))) as server:
            for mode, all_tools in (("kept alive", KEPT), ("new connection each", NEW)):
                tools = {tool: command for tool, command in all_tools.items()
                         if tool == "httpdrive" or shutil.which(tool)}
                for c in options.connections.split(","):
                    fill = {"httpdrive": os.environ.get("INTERPOOL_HTTPDRIVE", "httpdrive"), "c": c, "mode": mode,
                            "seconds": str(options.seconds), "url": server.url + "/hello.txt"}
                    figures = rounds_of(tools, fill, options.rounds, chance, say)
                    print_table(f"{mode}, c={c}, {options.rounds} rounds of {options.seconds} s", figures, options.seed)
                    kept[f"{mode}, c={c}"] = figures
    if options.results:
        Path(options.results).write_text(json.dumps(kept, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
