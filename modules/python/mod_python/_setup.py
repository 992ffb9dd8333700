# SPDX-License-Identifier: Apache-2.0
"""Makes a new interpreter fit to live inside httpd, and ends it."""
import atexit
import os
import re
import signal
import sys
import threading  # noqa: F401  imported first here, so that its main thread is not a request's

_alone = True  # whether this is the only interpreter of the process
_child = os.getpid()


class _Refuse:
    """An import hook that refuses modules which would end the process in an own-GIL interpreter."""

    def __init__(self, names):
        self._names = frozenset(names)

    def find_spec(self, name, path=None, target=None):
        parts = name.split('.')
        # As mod_python._loader renames a package.
        parts[0] = re.sub('^_mp_[0-9a-f]{12}_', '', parts[0])
        if any('.'.join(parts[:i + 1]) in self._names for i in range(len(parts))):
            raise ImportError(f'module {name} does not support loading in subinterpreters with an own GIL '
                              'on this Python (see PythonOwnGILDeny)', name=name)
        return None


def _log(text):
    from mod_python import apache
    apache.log_error(text, apache.APLOG_WARNING)


def _guard_signals():
    real = signal.signal

    def ignore(signalnum, handler):
        if os.getpid() != _child:  # a child process of the script's own may do as it likes
            return real(signalnum, handler)
        _log(f'PP110: signal.signal({signalnum!r}, ...) is ignored: signals belong to httpd')
        return signal.getsignal(signalnum)

    ignore.__doc__ = real.__doc__
    signal.signal = ignore
    # Without a handler SIGALRM ends the process.
    _guard_alarm('alarm', 0)
    _guard_alarm('setitimer', (0.0, 0.0))


def _guard_alarm(name, before):
    real = getattr(signal, name)

    def ignore(*args):
        if os.getpid() != _child:
            return real(*args)
        _log(f'PP110: signal.{name}{args!r} is ignored: signals belong to httpd')
        return before

    ignore.__doc__ = real.__doc__
    setattr(signal, name, ignore)


def _guard_fork(name, main):
    real = getattr(os, name, None)
    if real is None:
        return

    def fork():
        if not (main and _alone) and os.getpid() == _child:
            raise RuntimeError(f'os.{name}() would crash here, since other interpreters exist in '
                               'this process; use subprocess, or multiprocessing with "spawn"')
        return real()

    fork.__doc__ = real.__doc__
    setattr(os, name, fork)


def prepare(index, own_gil, deny):
    """Once in each interpreter; `index` is 0 in the main one."""
    _guard_signals()
    _guard_fork('fork', index == 0)
    _guard_fork('forkpty', index == 0)
    names = deny.split()
    if (3, 12) <= sys.version_info < (3, 14):
        names.append('numpy')  # aborts the process; later versions raise ImportError themselves
    if own_gil and names:
        from mod_python import _loader
        hook = _Refuse(names)
        sys.meta_path.insert(0, hook)
        _loader.refuse = hook.find_spec


def not_alone():
    """In the main interpreter, before another one is made: os.fork() is refused from now on."""
    global _alone
    _alone = False


def shutdown():
    """The child ends: what was registered with atexit runs, and nothing else is torn down."""
    atexit._run_exitfuncs()
