"""Never ends by itself; the query says how."""


def forever():
    while True:
        pass


def handler(req):
    if req.args == "catch":
        while True:
            try:
                forever()
            except Exception:
                pass
    forever()
