# SPDX-License-Identifier: Apache-2.0
"""Forms and other helpers of mod_python's `util`. Names and values are str; files are bytes."""

import io
import tempfile
from html import escape

import _apache
from _apache import parse_qsl  # noqa: F401

from mod_python import apache


def parse_qs(qs, keep_blank_values=0, strict_parsing=0):
    """{name: [value, ...]} of a query string."""
    fields = {}
    for name, value in parse_qsl(qs, keep_blank_values, strict_parsing):
        fields.setdefault(name, []).append(value)
    return fields
