"""How often this script has run where its globals are kept."""
from mod_python import apache

calls = 0


def handler(req):
    global calls
    calls += 1
    req.write(str(calls))
    return apache.OK
