# SPDX-License-Identifier: Apache-2.0
"""Describes an exception for the error log."""
import importlib
import os
import traceback

_OURS = os.path.dirname(__file__) + '/', '<frozen importlib', importlib.__file__


def _is_ours(step):
    """Whether a step of a traceback is in what loads handlers or serves them, not in a script."""
    return step.tb_frame.f_code.co_filename.startswith(_OURS)


def _message(error):
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # a broken __str__ must not hide the error
        text = '<exception str() failed>'
    return f'{name}: {text}' if text else name


def describe(error):
    """(file, line, message, traceback) of an exception; the file is None when no script's."""
    place, begin = (None, 0), error.__traceback__
    while begin is not None and _is_ours(begin):
        begin = begin.tb_next
    step = begin
    while step is not None:
        if not _is_ours(step):
            place = step.tb_frame.f_code.co_filename, step.tb_lineno or 0
        step = step.tb_next
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno or 0
    lines = traceback.format_exception(type(error), error, begin or error.__traceback__)
    return place + (_message(error), ''.join(lines))
