"""Uses modules of the standard library that have C parts."""
import collections
import csv
import datetime
import decimal
import hashlib
import json
import logging
import re
import sqlite3
import struct
import urllib.parse
import xml.etree.ElementTree
import zoneinfo
import zlib

from mod_python import apache


def handler(req):
    now = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=1)
    assert decimal.Decimal("0.1") + decimal.Decimal("0.2") == decimal.Decimal("0.3")
    assert json.loads(json.dumps({"now": now.isoformat()}))["now"] == now.isoformat()
    assert re.sub("a+", "b", "caat") == "cbt"
    assert len(hashlib.sha256(str(now).encode()).hexdigest()) == 64
    assert zlib.decompress(zlib.compress(b"x" * 1000)) == b"x" * 1000
    assert struct.unpack("<I", b"\x01\0\0\0") == (1,)
    assert xml.etree.ElementTree.fromstring("<a><b/></a>")[0].tag == "b"
    assert urllib.parse.quote("a b") == "a%20b"
    assert next(csv.reader(["a,b"])) == ["a", "b"]
    assert collections.Counter("aab")["a"] == 2
    assert zoneinfo.ZoneInfo("UTC").utcoffset(None) == datetime.timedelta(0)
    logging.getLogger(__name__).debug("now")
    with sqlite3.connect(":memory:") as database:
        assert database.execute("select 1 + 1").fetchone() == (2,)
    req.write("fine")
    return apache.OK
