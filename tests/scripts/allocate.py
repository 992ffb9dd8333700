"""Takes and frees memory for ever."""


def handler(req):
    req.write("begun")
    req.flush()
    while True:
        held = [b"x" * (1000 + 10 * i) for i in range(100)]
        del held
