"""Which interpreter answers."""
import os
import threading
import time

import mod_python.apache
from mod_python import apache

STARTED = time.time()


def handler(req):
    req.content_type = "text/plain"
    req.write(f"{os.getpid()} {id(mod_python.apache)} {apache.interpreter} {req.interpreter}")
    return apache.OK


def slow(req):
    time.sleep(0.3)
    return handler(req)


def hold(req):
    """Until there is a file of that name."""
    while not os.path.exists(req.args):
        time.sleep(0.02)
    return handler(req)


def compute(req):
    """For 20 ms."""
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass
    return handler(req)


_barrier = threading.Barrier(4)


def meet(req):
    """Goes on when four requests are in this interpreter at the same time."""
    _barrier.wait(timeout=30)
    req.write("met")
    return apache.OK


_inside = 0


def alone(req):
    """Fails when two requests are in the same interpreter."""
    global _inside
    _inside += 1
    assert _inside == 1
    time.sleep(0.05)
    _inside -= 1
    return handler(req)


def inner(req):
    """A request within a request."""
    req.internal_redirect("/inside")
    return apache.OK


def main_thread(req):
    req.write(f"{threading.main_thread().name} {threading.main_thread() is threading.current_thread()}")
    return apache.OK
