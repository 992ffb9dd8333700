"""As many bytes as the query says, in pieces of 64 KiB."""
from mod_python import apache


def handler(req):
    req.content_type = "application/octet-stream"
    left = int(req.args)
    piece = b"0123456789abcdef" * 4096
    while left > 0:
        req.write(piece[:left])
        left -= len(piece)
    return apache.OK
