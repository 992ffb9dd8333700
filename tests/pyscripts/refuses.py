"""As an extension that loads in the main interpreter only; its refusal is Python's own."""
from mod_python import apache

if apache.interpreter != "main_interpreter":
    raise ImportError("module refuses does not support loading in subinterpreters")


def handler(req):
    req.write(f"{apache.interpreter} {req.interpreter}")
    return apache.OK


def alone(req):
    import who
    return who.alone(req)
