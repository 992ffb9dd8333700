"""Answers with the names of the modules that may not be imported here."""
import importlib


def handler(req):
    for name in ("colorsys", "wsgiref", "wsgiref.util", "xml", "xml.sax", "numpy"):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError:
            pass
        except ImportError as error:
            assert "PythonOwnGILDeny" in str(error)
            req.write(f"{name} ")
    return 0
