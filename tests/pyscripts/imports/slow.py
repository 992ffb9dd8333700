"""Is long in loading."""
import time

from mod_python import apache

apache.log_error("loading", apache.APLOG_WARNING)
time.sleep(2)


def handler(req):
    return apache.OK
