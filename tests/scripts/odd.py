"""Raises an exception that is not like others; the query says which."""


class Evil(Exception):
    def __str__(self):
        raise ValueError("secret words")

    __repr__ = __str__


class Liar(Exception):
    def __str__(self):
        return 42


class Base(BaseException):
    pass


class Deep(Exception):
    def __str__(self):
        return str(self)


def chain():
    error = None
    for _ in range(2000):
        error, last = ValueError("secret words"), error
        error.__cause__ = last
    return error


VALUES = {
    "plain": lambda: Exception("secret words"),
    "none": lambda: Exception(None),
    "empty": Exception,
    "evil": Evil,
    "liar": Liar,
    "deep": Deep,
    "base": lambda: Base("secret words"),
    "exit": lambda: SystemExit(3),
    "interrupt": KeyboardInterrupt,
    "generator": GeneratorExit,
    "stop": StopIteration,
    "memory": MemoryError,
    "chain": chain,
    "nul": lambda: Exception("secret\0words"),
    "bytes": lambda: Exception(b"secret \xff words"),
    "surrogate": lambda: Exception("secret \udcff\ud800 words"),
    "lines": lambda: Exception("secret\nwords\r\n[fake] log line"),
    "long": lambda: Exception("secret words " * 100000),
    "group": lambda: ExceptionGroup("secret words", [ValueError(1)]),
    "code": lambda: 42,
}


def handler(req):
    raise VALUES[req.args]()
