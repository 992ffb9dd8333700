"""Prints the fields of the query (GET) or of the body (else), sorted by name; names and values in hex."""
from mod_python import apache, util


def encode(value):
    data = getattr(value, "value", value)
    if isinstance(data, str):
        data = data.encode("utf-8", "surrogateescape")
    return data.hex()


def handler(req):
    req.content_type = "text/plain"
    try:
        form = util.FieldStorage(req, keep_blank_values=1)
    except (apache.SERVER_RETURN, ValueError, OSError) as e:
        req.write(f"error: {e}")
        return apache.OK
    lines = []
    for name in form.keys():
        values = [encode(value) for value in form.getlist(name)]
        assert encode(form.getfirst(name)) == values[0]
        lines.append(f"{encode(name)}={','.join(values)}\n")
    req.write("".join(sorted(lines)))
    return apache.OK
