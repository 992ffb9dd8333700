"""A module that takes 20 MB in each interpreter."""
import who

_DATA = bytes(20 << 20)


def handler(req):
    assert _DATA
    return who.compute(req)
