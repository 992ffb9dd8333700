from mod_python import apache
import helper
import pack.part


def handler(req):
    req.content_type = "text/plain"
    import helper as again
    assert again is helper
    req.write(f"one {helper.NAME} {pack.part.NAME} {__name__}")
    return apache.OK
