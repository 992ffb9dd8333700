"""Makes a file, then waits until another one is there: ?mine&theirs. Says whether it came."""
import os
import time

from mod_python import apache


def handler(req):
    folder = os.path.join(os.path.dirname(req.filename), "wait")
    mine, theirs = req.args.split("&")
    if mine:
        with open(os.path.join(folder, mine), "w", encoding="ascii"):
            pass
    deadline = time.monotonic() + 20
    while not os.path.exists(os.path.join(folder, theirs)):
        if time.monotonic() > deadline:
            req.write("nobody came")
            return apache.OK
        time.sleep(0.005)
    req.write("met " + theirs)
    return apache.OK
