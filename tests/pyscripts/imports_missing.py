import no_such_module


def handler(req):
    return no_such_module
