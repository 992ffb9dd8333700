"""Requests within requests, and threads that use them."""
import threading
import time

from mod_python import apache

_kept = []


def outer(req):
    req.internal_redirect(req.args)
    return apache.OK


def asks(req):
    """From a thread, for which the handler waits."""
    seen = []
    thread = threading.Thread(target=lambda: seen.extend([req.prev.uri, req.uri]))
    thread.start()
    thread.join()
    req.write(" ".join(seen))
    return apache.OK


def kept(req):
    """What earlier requests left says of itself."""
    said = set()
    for other in _kept:
        try:
            said.add(other.uri)
        except RuntimeError:
            said.add("over")
    _kept.append(req)
    req.write(" ".join(said) or "over")
    return apache.OK


def asks_while_one_writes(req):
    """A thread sends much, and another one uses the request around."""
    asked = []
    writer = threading.Thread(target=req.write, args=(bytes(1 << 25),))
    asker = threading.Thread(target=lambda: asked.append(req.prev.uri))
    writer.start()
    time.sleep(0.5)
    asker.start()
    time.sleep(0.5)
    apache.log_error(f"within: {len(asked)} have asked", apache.APLOG_WARNING)
    writer.join()
    asker.join()
    apache.log_error("within: all have asked", apache.APLOG_WARNING)
    return apache.OK
