"""Has no function handler."""


def another(req):
    pass
