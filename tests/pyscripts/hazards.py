"""What scripts should rather not do inside a server."""
import atexit
import datetime
import os
import signal
import tempfile
import threading
import time

from mod_python import apache


def handler(req):
    req.write(str(datetime.date(2026, 11, 30)))
    return apache.OK


def fork(req):
    try:
        child = os.fork()
    except RuntimeError as error:
        req.write(f"refused: {error}")
        return apache.OK
    if child == 0:
        os._exit(0)
    os.waitpid(child, 0)
    req.write("forked")
    return apache.OK


def signals(req):
    before = signal.getsignal(signal.SIGTERM)
    signal.signal(signal.SIGTERM, lambda *_: None)
    req.write(str(signal.getsignal(signal.SIGTERM) == before))
    return apache.OK


def thread(req):
    """Leaves a thread behind that is not a daemon and never ends."""
    threading.Thread(target=lambda: [time.sleep(0.01) for _ in iter(int, 1)]).start()
    req.write("left")
    return apache.OK


def thread_logs(req):
    """Leaves threads behind that use the server for ever."""
    def use():
        while True:
            req.server.log_error("busy", apache.APLOG_DEBUG)
            apache.log_error("busy", apache.APLOG_DEBUG)
    for _ in range(3):
        threading.Thread(target=use).start()
    req.write("left")
    return apache.OK


def at_exit(req):
    atexit.register(lambda: open(req_folder + f"/ended.{os.getpid()}", "w", encoding="utf-8").close())
    req.write("registered")
    return apache.OK


def at_exit_hangs(req):
    atexit.register(time.sleep, 60)
    req.write("registered")
    return apache.OK


def busy(req):
    req.content_type = "text/plain"
    req.write("x" * 10000)
    req.flush()
    while True:
        sum(range(1000))


def later(req):
    """A thread that uses req when the request is over."""
    def use():
        time.sleep(0.2)
        try:
            req.write("too late")
        except RuntimeError as error:
            seen.append(str(error))
    threading.Thread(target=use).start()
    return apache.OK


def seen_later(req):
    req.write("\n".join(seen))
    return apache.OK


seen = []
req_folder = os.environ.get("INTERPOOL_TEST_FOLDER", "/nonexistent")


def lends(req):
    """Lets httpd send a file that is gone afterwards; or one that never was there."""
    handle, path = tempfile.mkstemp()
    os.write(handle, b"lent")
    os.close(handle)
    req.headers_out["X-Path"] = path
    req.register_cleanup(os.unlink, path)
    req.filename = path if not req.args else path + req.args
    if not req.args:
        req.finfo = apache.stat(path, apache.APR_FINFO_MIN)
    return apache.DECLINED


def adds(req):
    """Writes more when it has answered."""
    req.register_cleanup(lambda _: req.write("more", 1))
    req.register_cleanup(lambda _: req.flush())
    return apache.HTTP_GONE
