# SPDX-License-Identifier: Apache-2.0
"""Describes an exception for the error log."""
import traceback


def _message(error):
    name = type(error).__name__
    try:
        text = str(error)
    except BaseException:  # a broken __str__ must not hide the error
        text = '<exception str() failed>'
    return f'{name}: {text}' if text else name


def describe(error):
    """(file, line, message, traceback) of an exception."""
    if isinstance(error, SyntaxError) and error.filename:
        place = error.filename, error.lineno or 0
    else:
        place, step = (None, 0), error.__traceback__
        while step is not None:
            place = step.tb_frame.f_code.co_filename, step.tb_lineno or 0
            step = step.tb_next
    lines = traceback.format_exception(type(error), error, error.__traceback__)
    return place + (_message(error), ''.join(lines))
