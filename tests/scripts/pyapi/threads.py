# SPDX-License-Identifier: Apache-2.0
"""Python threads that use req together, and one that outlives it."""
import threading
import time

from mod_python import apache

late = []


def write_lines(req, letter, count):
    for _ in range(count):
        req.write(letter * 79 + "\n")
        req.headers_out["X-" + letter] = letter
        req.notes[letter] = letter


def outlive(req):
    try:
        while True:
            req.uri
            time.sleep(0.001)
    except RuntimeError as error:
        late.append(str(error))


def handler(req):
    req.content_type = "text/plain"
    if req.args == "late":
        for _ in range(500):
            if late:
                break
            time.sleep(0.01)
        req.write(late.pop() if late else "the thread is still at it")
        return apache.OK
    if req.args == "outlive":
        threading.Thread(target=outlive, args=(req,)).start()
        time.sleep(0.02)
        return apache.OK
    threads = [threading.Thread(target=write_lines, args=(req, letter, 2000)) for letter in "abcd"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return apache.OK
