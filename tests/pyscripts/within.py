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


def includes(req):
    """What mod_include finds in it calls adds()."""
    req.add_output_filter("INCLUDES")
    req.write(f'(<!--#include virtual="/adds?{req.args}" --> ')
    req.flush()
    req.write(")")
    return apache.OK


def includes_at_last(req):
    """The same when the handler is done."""
    req.add_output_filter("INCLUDES")
    req.write(f'(<!--#include virtual="/adds?{req.args}" --> )')
    return apache.OK


def again(req):
    """Redirects a request that was redirected before."""
    req.internal_redirect("/plain")
    (req.prev or req).internal_redirect("/plain")
    return apache.OK


def cleans(req):
    """Something on behalf of the request before, which no script serves."""
    req.prev.register_cleanup(lambda what: apache.log_error(f"within: {what}", apache.APLOG_WARNING), "cleaned")
    req.write("cleans")
    return apache.OK


def in_thread(req):
    """A thread redirects."""
    thread = threading.Thread(target=req.internal_redirect, args=("/asks",))
    thread.start()
    thread.join()
    return apache.OK


def plain(req):
    req.write("plain")
    return apache.OK


def adds(req):
    """To the request around."""
    args = {"write": [bytes(1 << 18)], "flush": [], "sendfile": [__file__], "internal_redirect": ["/kept"],
            "add_output_filter": ["INCLUDES"]}[req.args]
    try:
        getattr(req.main, req.args)(*args)
    except RuntimeError as error:
        req.write(str(error))
    return apache.OK
