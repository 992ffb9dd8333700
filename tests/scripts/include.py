"""A page whose server-side include asks for another script."""
from mod_python import apache


def handler(req):
    req.content_type = "text/html"
    req.write(f'before <!--#include virtual="{req.args}" --> after')
    return apache.OK
