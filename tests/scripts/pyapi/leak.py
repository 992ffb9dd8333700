# SPDX-License-Identifier: Apache-2.0
"""Does one thing very often, and answers by how many blocks the Python heap, and bytes the process, grew.
(tracemalloc finds its thread state in a way that deadlocks outside the main interpreter.)"""
import gc
import json
import os
import sys

from mod_python import apache

CALLS = 2500


def fail(call, *args):
    try:
        call(*args)
    except (TypeError, ValueError, KeyError, AttributeError):
        pass


def deeds(req):
    table = apache.table({"a": "1", "B": "2"})
    table.add("a", "3")
    headers = req.headers_in
    return {
        "attributes": lambda: (req.uri, req.args, req.status, req.useragent_addr, req.request_time, req.parsed_uri,
                               req.allowed_methods and None, req.server.names, req.finfo, req.hlist, req.interpreter),
        "objects": lambda: (req.headers_in, req.notes, req.connection.client_ip, req.connection.notes, req.server.next,
                            req.main, req.prev, req.__dict__),
        "missing": lambda: fail(getattr, req, "nothing"),
        "read": lambda: (req.read(), req.readline(), req.readlines()),
        "lookups": lambda: (headers["Host"], headers.get("Host"), headers.get("nothing"), "Host" in headers, len(headers),
                            headers.keys(), headers.values(), headers.items(), list(headers), headers.has_key("x"),
                            repr(headers), headers == {"a": "b"}, headers == headers),
        "failures": lambda: (fail(headers.__getitem__, "nothing"), fail(headers.__getitem__, None),
                             fail(headers.__setitem__, "a", 5), fail(setattr, req, "status", "x"),
                             fail(setattr, req, "uri", None), fail(delattr, req, "uri"), fail(req.write, 5),
                             fail(req.write), fail(req.log_error), fail(apache.table, 5), fail(apache.table, {"a": 5})),
        "tables": lambda: (apache.table(table), table.copy(), table == table.copy(), apache.table([("a", "b")]),
                           table["a"], table.items(), req.get_options(), req.get_config()),
        "functions": lambda: (apache.server_root(), apache.mpm_query(apache.AP_MPMQ_IS_THREADED),
                              apache.exists_config_define("X"), apache.stat("/", apache.APR_FINFO_TYPE)),
        "attribute dict": lambda: setattr(req, "mine", object()),
    }


def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def handler(req):
    grown = {}
    for name, deed in deeds(req).items():
        for _ in range(200):
            deed()
        gc.collect()
        blocks, rss = sys.getallocatedblocks(), resident()
        for _ in range(CALLS):
            deed()
        gc.collect()
        grown[name] = [sys.getallocatedblocks() - blocks, resident() - rss]
    req.write(json.dumps(grown))
    return apache.OK
