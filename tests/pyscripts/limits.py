"""Handlers that want too much."""
import gc
import re
import time

from mod_python import apache


def fine(req):
    req.write("fine")
    return apache.OK


def spin(req):
    while True:
        pass


def backtrack(req):
    """For seconds in one call, which never gives the GIL up; then it goes on."""
    req.log_error("backtracking", apache.APLOG_WARNING)
    re.match("(a|a)*$", "a" * 25 + "b")
    spin(req)


def stubborn(req):
    """Catches what stops it, twice."""
    for _ in range(3):
        try:
            while True:
                pass
        except BaseException:
            req.log_error("stubborn goes on", apache.APLOG_INFO)
    return apache.OK


class Endless(Exception):
    def __str__(self):
        while True:
            pass


def endless_error(req):
    raise Endless()


def endless_cleanup(req):
    req.register_cleanup(spin, req)
    return fine(req)


def nap(req):
    time.sleep(0.25)
    return fine(req)


def hog(req):
    kept = []
    while True:
        kept.append(bytes(1 << 20))


def hog_small(req):
    kept = []
    while True:
        kept.append([len(kept)])


def hog_once(req):
    return bytes(1 << 40)


def collect(req):
    gc.collect()
    return fine(req)
