"""Imports a module that lies beside this one and that PythonOwnGILDeny names."""


def handler(req):
    try:
        import vendored
        req.write(vendored.NAME)
    except ImportError as error:
        assert "PythonOwnGILDeny" in str(error)
        req.write("refused")
    return 0
