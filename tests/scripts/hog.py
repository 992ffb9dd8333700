"""Takes all the memory it can get; the query says how."""
from mod_python import apache


def handler(req):
    if req.args == "string":
        s = "x"
        while True:
            s += s
    elif req.args == "catch":
        try:
            bytes(1 << 30)
            req.write("true")
        except MemoryError:
            req.write("false not enough memory")
        return apache.OK
    t = []
    while True:
        t.append([len(t)])
