def handler(req):
    req.write("secret words")
    this is not a program
