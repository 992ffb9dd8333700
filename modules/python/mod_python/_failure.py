# SPDX-License-Identifier: Apache-2.0
"""Describes an exception for the error log."""
import importlib
import traceback

from mod_python import _loader

_LOADING = importlib.__file__, _loader.__file__


def _is_loading(step):
    """Whether a step of a traceback is in what loads handlers: none of the script's doing."""
    path = step.tb_frame.f_code.co_filename
    return path in _LOADING or path.startswith('<frozen importlib')


def _message(error):
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # a broken __str__ must not hide the error
        text = '<exception str() failed>'
    return f'{name}: {text}' if text else name


def describe(error):
    """(file, line, message, traceback) of an exception; None for what there isn't."""
    place, begin = (None, 0), error.__traceback__
    while begin is not None and _is_loading(begin):
        begin = begin.tb_next
    step = begin
    while step is not None:
        if not _is_loading(step):
            place = step.tb_frame.f_code.co_filename, step.tb_lineno or 0
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno or 0
    elif begin is None:
        return place + (_message(error), None)
    return place + (_message(error), ''.join(traceback.format_exception(type(error), error, begin)))
