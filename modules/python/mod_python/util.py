# SPDX-License-Identifier: Apache-2.0
"""mod_python's `util`: forms, redirects, query strings. Names and values are str; files are bytes.

A form's body is read whole, up to PythonBodyLimit, and taken apart by the C parsers of `_apache`.
"""

import inspect
import io
import re
from html import escape
from urllib.parse import quote

import _apache
from _apache import SERVER_RETURN, parse_qsl

from mod_python import apache

__all__ = ["Field", "FieldList", "FieldStorage", "StringField", "apply_fs_data", "parse_header", "parse_qs",
           "parse_qsl", "redirect"]


def parse_qs(qs, keep_blank_values=0, strict_parsing=0):
    """{name: [value, ...]} of a query string."""
    fields = {}
    for name, value in parse_qsl(qs, keep_blank_values, strict_parsing):
        fields.setdefault(name, []).append(value)
    return fields


def _text(value):
    """The str of what a form holds as bytes."""
    return value.decode("utf-8", "surrogateescape") if isinstance(value, (bytes, bytearray)) else value


def parse_header(line):
    """(value, {parameter: value}) of a header such as 'text/html; charset="utf-8"'; all in lower case but the
    parameters' values."""
    value, *parts = _split_parameters(_text(line))
    parameters = {}
    for part in parts:
        name, mark, text = part.partition("=")
        if mark:
            parameters[name.strip().lower()] = _unquote(text.strip())
    return value.strip().lower(), parameters


def _split_parameters(line):
    """The parts of `line` between the semicolons that stand in no quotes."""
    parts, begin, quoted, at = [], 0, False, 0
    while at < len(line):
        if line[at] == "\\" and quoted:
            at += 1
        elif line[at] == '"':
            quoted = not quoted
        elif line[at] == ";" and not quoted:
            parts.append(line[begin:at])
            begin = at + 1
        at += 1
    return [*parts, line[begin:]]


def _unquote(text):
    if len(text) < 2 or text[0] != '"' or text[-1] != '"':
        return text
    return text[1:-1].replace("\\\\", "\0").replace("\\", "").replace("\0", "\\")


def _header_table(lines):
    """The table of a part's headers; a line that begins with a blank continues the one before."""
    table = apache.make_table()
    for line in re.sub(r"\r?\n[ \t]+", " ", lines).split("\n"):
        name, mark, value = line.partition(":")
        if mark:
            table.add(name.strip(), value.strip())
    return table


class _Part:
    """How the part of a form that a field comes from was described."""

    name = None
    filename = None
    type = "text/plain"
    type_options = {}
    disposition = "form-data"
    disposition_options = {}
    _headers = ""

    @property
    def headers(self):
        """A table; made when asked for."""
        if isinstance(self._headers, str):
            self._headers = _header_table(self._headers)
        return self._headers

    @headers.setter
    def headers(self, headers):
        self._headers = headers

    def _describe(self, name, filename, kind, headers):
        """What a multipart form says of this part."""
        self.name = name
        self.filename = filename or None
        if kind:
            self.type, self.type_options = parse_header(kind)
        self.disposition_options = {"name": name} if filename is None else {"name": name, "filename": filename}
        self.headers = headers
        return self


class Field(_Part):
    """A field of a form that is a file: `file`, open at its start, and its bytes, `value`."""

    def __init__(self, name, file=None, ctype="text/plain", type_options=None, disp="form-data", disp_options=None,
                 headers=None):
        self.name = name
        self.file = file
        self.type = ctype
        self.type_options = type_options or {}
        self.disposition = disp
        self.disposition_options = disp_options or {}
        self.filename = self.disposition_options.get("filename")
        if headers is not None:
            self.headers = headers

    @property
    def value(self):
        """The whole file, which is at its start afterwards."""
        if self.file is None:
            return None
        self.file.seek(0)
        value = self.file.read()
        self.file.seek(0)
        return value

    def __repr__(self):
        return "Field(%r, %r)" % (self.name, self.value)


class StringField(str, _Part):
    """A field that is a str, with the attributes of a Field."""

    _file = None

    def __new__(cls, value, name=None):
        self = super().__new__(cls, _text(value))
        self.name = name
        return self

    @property
    def ctype(self):
        """Another name of `type`, which a Field has not."""
        return self.type

    @property
    def disp_options(self):
        """Another name of `disposition_options`, which a Field has not."""
        return self.disposition_options

    @property
    def value(self):
        """The value itself."""
        return str(self)

    @property
    def file(self):
        """The value as a file of bytes."""
        if self._file is None:
            self._file = io.BytesIO(self.encode("utf-8", "surrogateescape"))
        return self._file

    @file.setter
    def file(self, file):
        self._file = file


class FieldList(list):
    """The fields of a form, in the order they came."""


class FieldStorage:
    """The fields of the query string and of the body: those of one name are one field, or a list.

    `file_callback(filename)` may give the file to which an upload is written, `field_callback()` that of
    any other field of a multipart form. A body that is no form is left for the handler to read.
    """

    def __init__(self, req, keep_blank_values=0, strict_parsing=0, file_callback=None, field_callback=None):
        self.list = FieldList()
        try:
            for name, value in parse_qsl(req.args or "", keep_blank_values, strict_parsing):
                self.add_field(name, value)
            kind = req.headers_in.get("Content-Type")
            if kind is None and req.method == "POST":
                kind = "application/x-www-form-urlencoded"
            if kind and _apache.is_form(kind):
                for part in _apache.parse_form(kind, req.read(), keep_blank_values, strict_parsing):
                    self._add_part(*part, file_callback, field_callback)
        except ValueError as error:
            req.log_error("the form of %s can't be parsed: %s" % (req.uri, error), apache.APLOG_INFO)
            raise SERVER_RETURN(apache.HTTP_BAD_REQUEST) from error

    def _add_part(self, name, value, filename, kind, headers, file_callback, field_callback):
        """Adds one of the fields that parse_form gives; those of an urlencoded form have no headers."""
        if headers is None:
            self.add_field(name, value)
            return
        file = None
        if filename is not None and file_callback:
            file = file_callback(filename)
        elif filename is None and field_callback:
            file = field_callback()
        if file is not None:
            file.write(value)
            file.seek(0)
        if filename:
            field = Field(name, io.BytesIO(value) if file is None else file)
        else:  # also where no file was chosen
            field = StringField(value)
            field.file = file
        self.list.append(field._describe(name, filename, kind, headers))

    def add_field(self, key, value):
        """One more field, whatever is there."""
        self.list.append(StringField(value, key))

    def _named(self, key):
        return [field for field in self.list if field.name == key]

    def __getitem__(self, key):
        found = self._named(key)
        if not found:
            raise KeyError(key)
        return found[0] if len(found) == 1 else found

    def __setitem__(self, key, value):
        fields = [StringField(item, key) for item in (value if isinstance(value, (list, tuple)) else [value])]
        del self[key]
        self.list.extend(fields)

    def __delitem__(self, key):
        self.list[:] = [field for field in self.list if field.name != key]

    def __contains__(self, key):
        return any(field.name == key for field in self.list)

    has_key = __contains__

    def __len__(self):
        return len(self.keys())

    def __iter__(self):
        return iter(self.keys())

    def __bool__(self):
        return bool(self.list)

    def keys(self):
        """The names, each once, in the order they came."""
        return list(dict.fromkeys(field.name for field in self.list))

    def items(self):
        """(name, field) for every field."""
        return [(field.name, field) for field in self.list]

    def get(self, key, default=None):
        """The field of that name, a list when there are several."""
        return self[key] if key in self else default

    def getfirst(self, key, default=None):
        """The first field of that name."""
        return next((field for field in self.list if field.name == key), default)

    def getlist(self, key):
        """All fields of that name."""
        return self._named(key)

    def clear(self):
        """Removes every field."""
        self.list.clear()

    def __repr__(self):
        return "FieldStorage(%r)" % self.items()


def apply_fs_data(object, fs, **args):
    """Calls `object` with those fields of the form that it has parameters for, and with `args`; what does not tell
    its parameters, as some builtins, gets none."""
    try:
        parameters = inspect.signature(object).parameters.values()
    except ValueError:
        return object()
    for name in fs:
        if name not in args:
            args[name] = fs[name]
    if not any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        by_name = {parameter.name for parameter in parameters
                   if parameter.kind in (parameter.POSITIONAL_OR_KEYWORD, parameter.KEYWORD_ONLY)}
        args = {name: value for name, value in args.items() if name in by_name}
    return object(**args)


def redirect(req, location, permanent=0, text=None):
    """Ends the handler with a redirection to `location`."""
    if req.sent_bodyct:
        raise OSError("redirect: the header has already been sent")
    location = quote(location, safe="%/:=&?~#+!$,;'@()*[]", errors="surrogateescape")
    req.err_headers_out["Location"] = location
    req.status = apache.HTTP_MOVED_PERMANENTLY if permanent else apache.HTTP_MOVED_TEMPORARILY
    if text is None:
        req.content_type = "text/html; charset=utf-8"
        text = '<p>The document has moved <a href="%s">here</a></p>\n' % escape(location)
    req.write(text)
    raise SERVER_RETURN(apache.OK)
