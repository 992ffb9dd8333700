"""Meets the refusal when a request is being served already."""
from mod_python import apache


def handler(req):
    import refuses
    return refuses.handler(req)
