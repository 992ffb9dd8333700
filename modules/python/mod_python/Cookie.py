# SPDX-License-Identifier: Apache-2.0
"""mod_python's `Cookie`: plain, signed and marshalled cookies.

    Cookie.add_cookie(req, "name", "value", path="/")
    Cookie.get_cookie(req, "name", Cookie.SignedCookie, secret="...")

Signatures are HMAC-SHA256. What a client sends is never trusted: a cookie that can't be parsed is
left out, one whose signature is wrong becomes what `mismatch` says.
"""

import base64
import hmac
import marshal
import re
import time

DOWNGRADE = 0  # a wrongly signed cookie is given as a plain Cookie
IGNORE = 1  # ... is left out
EXCEPTION = 3  # ... raises CookieError

_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_FORBIDDEN = re.compile(r"[;\x00-\x1f\x7f]")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


class CookieError(Exception):
    """A cookie that can't be made, or whose signature is wrong."""


def _date(seconds):
    """The date of a cookie, whatever the locale."""
    t = time.gmtime(seconds)
    return "%s, %02d-%s-%04d %02d:%02d:%02d GMT" % (_DAYS[t.tm_wday], t.tm_mday, _MONTHS[t.tm_mon - 1], t.tm_year,
                                                   t.tm_hour, t.tm_min, t.tm_sec)


def _check(what, text):
    if _FORBIDDEN.search(text):
        raise CookieError("%s may not contain ';' or control characters: %r" % (what, text))
    return text


class Cookie:
    """A name, a value, and attributes (path, domain, expires, max_age, secure, httponly, samesite, ...).
    str(cookie) is the value of a Set-Cookie header."""

    TEXTS = ("version", "path", "domain", "comment", "max_age", "samesite", "commentURL", "port")
    FLAGS = ("secure", "httponly", "discard")
    DOWNGRADE, IGNORE, EXCEPTION = DOWNGRADE, IGNORE, EXCEPTION
    _ATTRIBUTES = {name.lower(): name for name in (*TEXTS, *FLAGS, "expires")}
    __slots__ = (*TEXTS, *FLAGS, "name", "value", "_expires")

    def __init__(self, name, value, **attributes):
        if not _NAME.fullmatch(name):
            raise CookieError("%r can't be the name of a cookie" % name)
        self.name = name
        self.value = value
        for attribute, given in attributes.items():
            if attribute.lower() not in self._ATTRIBUTES:
                raise CookieError("a cookie has no attribute %r" % attribute)
            setattr(self, self._ATTRIBUTES[attribute.lower()], given)

    @property
    def expires(self):
        """When the cookie ends: set as seconds since 1970, or as a date like 'Thu, 01-Jan-1970 00:00:00 GMT'."""
        return getattr(self, "_expires", None)

    @expires.setter
    def expires(self, when):
        if isinstance(when, (int, float)):
            when = _date(when)
        elif not re.fullmatch(r"\w{3}, \d\d[- ]\w{3}[- ]\d{4} \d\d:\d\d:\d\d GMT", when):
            raise ValueError("expires must be seconds, or like %r" % _date(0))
        self._expires = when

    def text(self):
        """The value as it is sent."""
        return self.value if isinstance(self.value, str) else str(self.value)

    def __str__(self):
        parts = ["%s=%s" % (self.name, _check("the value", self.text()))]
        if self.expires is not None:
            parts.append("expires=" + self.expires)
        for attribute in self.TEXTS:
            value = getattr(self, attribute, None)
            if value is not None:
                label = "Max-Age" if attribute == "max_age" else attribute
                parts.append("%s=%s" % (label, _check(attribute, str(value))))
        parts += [flag for flag in self.FLAGS if getattr(self, flag, False)]
        return "; ".join(parts)

    def __repr__(self):
        return "<%s: %s>" % (type(self).__name__, self)

    @classmethod
    def parse(cls, header, names=None):
        """{name: cookie} of a Cookie header, of all or of those in `names`. Of one name the first counts."""
        cookies = {}
        for name, text in _pairs(header, names):
            cookies.setdefault(name, cls(name, text))
        return cookies


class SignedCookie(Cookie):
    """A cookie whose value the client can read, but not change."""

    __slots__ = ("_secret",)

    def __init__(self, name, value, secret=None, **attributes):
        if not secret:
            raise CookieError("a signed cookie needs a secret")
        super().__init__(name, value, **attributes)
        self._secret = secret

    @staticmethod
    def _sign(secret, name, text):
        key = secret.encode("utf-8") if isinstance(secret, str) else bytes(secret)
        # The name's length keeps ("a", "bc") apart from ("ab", "c").
        message = "%d:%s%s" % (len(name), name, text)
        return hmac.new(key, message.encode("utf-8", "surrogateescape"), "sha256").hexdigest()

    def text(self):
        """The signature, then the value."""
        text = self.encode()
        return self._sign(self._secret, self.name, text) + text

    def encode(self):
        """The value as text."""
        return super().text()

    @classmethod
    def decode(cls, text):
        """The value back from encode()."""
        return text

    @classmethod
    def parse(cls, header, secret=None, mismatch=DOWNGRADE, names=None):
        """As Cookie.parse; `mismatch` says what a wrong signature gives."""
        if not secret:
            raise CookieError("a signed cookie needs a secret")
        cookies = {}
        for name, text in _pairs(header, names):
            cookie = cls._verified(name, text, secret, mismatch)
            if cookie is not None:
                cookies.setdefault(name, cookie)
        return cookies

    @classmethod
    def _verified(cls, name, text, secret, mismatch):
        """The cookie a client sent; None leaves it out."""
        signature, text_signed = text[:64], text[64:]
        expected = cls._sign(secret, name, text_signed)
        if hmac.compare_digest(signature.encode("utf-8", "surrogateescape"), expected.encode()):
            return cls(name, cls.decode(text_signed), secret)
        if mismatch == EXCEPTION:
            raise CookieError("the signature of cookie %r is wrong" % name)
        return None if mismatch == IGNORE else Cookie(name, text)


class MarshalCookie(SignedCookie):
    """A signed cookie whose value is anything that marshal takes: numbers, texts, lists, dicts, ..."""

    __slots__ = ()

    def encode(self):
        """The value, marshalled, as text without characters that a header could not hold."""
        return base64.b64encode(marshal.dumps(self.value)).decode("ascii")

    @classmethod
    def decode(cls, text):
        """Only ever called for text with a right signature."""
        return marshal.loads(base64.b64decode(text))


def _pairs(header, names):
    """(name, value) of each cookie of a header, of those in `names` unless that is None; attributes of RFC 2109
    ($Path, ...) are none."""
    for part in header.split(";"):
        name, mark, text = part.partition("=")
        name, text = name.strip(), text.strip()
        if mark and _NAME.fullmatch(name) and not name.startswith("$") and (names is None or name in names):
            yield name, text[1:-1] if len(text) > 1 and text[0] == text[-1] == '"' else text


def add_cookie(req, cookie, value="", **attributes):
    """Has the response set a cookie: one that was made before, or a name with a value and attributes."""
    if not isinstance(cookie, Cookie):
        cookie = Cookie(cookie, value, **attributes)
    text = str(cookie)
    if "Set-Cookie" not in req.headers_out:
        req.headers_out.add("Cache-Control", 'no-cache="set-cookie"')
    req.headers_out.add("Set-Cookie", text)


def get_cookies(req, Class=Cookie, **options):
    """{name: cookie} of the request; `options` are those of Class.parse."""
    header = req.headers_in.get("Cookie")
    return Class.parse(header, **options) if header else {}


def get_cookie(req, name, Class=Cookie, **options):
    """The request's cookie of that name, or None. No other is looked at."""
    return get_cookies(req, Class, names=[name], **options).get(name)
