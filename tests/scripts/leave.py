"""Tries to end the process; the query says how."""
import os
import sys


def handler(req):
    if req.args == "hard":
        os._exit(3)
    sys.exit(3)
