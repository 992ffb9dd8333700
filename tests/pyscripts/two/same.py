from mod_python import apache
import helper
import pack.part


def handler(req):
    req.content_type = "text/plain"
    import helper as again
    assert again is helper is apache.import_module("helper")
    other = {"one": "two", "two": "one"}[helper.NAME.split()[-1]]
    folder = __file__.rsplit("/", 2)[0] + "/" + other
    assert apache.import_module("helper", path=[folder]).NAME == "helper of " + other
    req.write(f"two {helper.NAME} {pack.part.NAME} {__name__}")
    return apache.OK
