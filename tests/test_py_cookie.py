# SPDX-License-Identifier: Apache-2.0
"""mod_python's `Cookie`."""
import json

import pytest

from harness.client import fetch


class TestCookies:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"

    @pytest.fixture
    def ask(self, server):
        """The reprs of expressions, and the response; `cookie` is the request's Cookie header."""
        def send(*expressions, cookie=None):
            headers = [("X-Ask", "\n".join(expressions).encode().hex())] + ([("Cookie", cookie)] if cookie else [])
            response = fetch(server.port, "/ask.py", headers=headers)
            assert response.status == 200, response.text
            return json.loads(response.body), response
        return send

    def test_are_sent(self, ask):
        _, response = ask("Cookie.add_cookie(req, 'a', 'b c', path='/', expires=0, secure=True, httponly=1, samesite='Lax')",
                          "Cookie.add_cookie(req, Cookie.Cookie('n', 'v', max_age=5, domain='x.example'))")
        assert response.get_all("Set-Cookie") == [
            "a=b c; expires=Thu, 01-Jan-1970 00:00:00 GMT; path=/; samesite=Lax; secure; httponly",
            "n=v; domain=x.example; Max-Age=5"]
        assert response.get_all("Cache-Control") == ['no-cache="set-cookie"']

    def test_are_read(self, ask):
        answers, _ = ask("sorted((n, c.value) for n, c in Cookie.get_cookies(req).items())", "Cookie.get_cookie(req, 'c').value",
                         "Cookie.get_cookie(req, 'nothing')", cookie=b'a=1; b="x y"; $Path=/; broken; =empty; a=2; c=\xff; d=')
        assert answers == ["[('a', '1'), ('b', 'x y'), ('c', '\\udcff'), ('d', '')]", "'\\udcff'", "None"]
        assert ask("Cookie.get_cookies(req)")[0] == ["{}"]

    def test_that_would_break_a_header_are_refused(self, ask):
        answers, response = ask(*("Cookie.add_cookie(req, %s)" % arguments for arguments in (
            "'a', 'b\\r\\nX: y'", "'a', 'b; path=/'", "'a', 'b', path='/; secure'", "'a b', 'c'", "'', 'c'", "'a', 'b', nonsense=1",
            "'a', 'b', expires='soon'")))
        assert [answer.split(":")[0] for answer in answers] == ["CookieError"] * 6 + ["ValueError"]
        assert response.get_all("Set-Cookie") == []
        assert ask("setattr(Cookie.Cookie('a', 'b'), 'nonsense', 1)")[0][0].startswith("AttributeError")

    @pytest.mark.parametrize("secret", ("'secret'", "b'secret'"))
    def test_signed(self, ask, secret):
        """P22: secrets of both types give one signature."""
        _, response = ask("Cookie.add_cookie(req, Cookie.SignedCookie('n', 'é v', %s))" % secret)
        sent = response.get("Set-Cookie")
        good = "(lambda c: (type(c).__name__, c.value))(Cookie.get_cookie(req, 'n', Cookie.SignedCookie, secret='secret'))"
        assert ask(good, cookie=sent)[0] == ["('SignedCookie', 'é v')"]
        for forged in (sent + "x", "n=é v", "n=", "n=" + "0" * 64 + "é v", sent.replace("n=", "m=") + "; n=x"):
            assert "('Cookie'" in ask(good, cookie=forged)[0][0]
        call = "Cookie.get_cookie(req, 'n', Cookie.SignedCookie, secret='%s', mismatch=Cookie.%s)"
        assert ask(call % ("wrong", "IGNORE"), call % ("wrong", "EXCEPTION"), "Cookie.SignedCookie('n', 'v')",
                   "Cookie.get_cookie(req, 'n', Cookie.SignedCookie)", cookie=sent)[0] == [
            "None", "CookieError: the signature of cookie 'n' is wrong", "CookieError: a signed cookie needs a secret",
            "CookieError: a signed cookie needs a secret"]

    def test_marshalled(self, ask):
        _, response = ask("Cookie.add_cookie(req, Cookie.MarshalCookie('n', {'a': [1, 'é', None]}, 'secret'))")
        read = "Cookie.get_cookie(req, 'n', Cookie.MarshalCookie, secret='%s').value"
        answers, _ = ask(read % "secret", cookie=response.get("Set-Cookie"))
        assert answers == ["{'a': [1, 'é', None]}"]
        answers, _ = ask("type(Cookie.get_cookie(req, 'n', Cookie.MarshalCookie, secret='wrong')).__name__",
                         cookie=response.get("Set-Cookie"))
        assert answers == ["'Cookie'"]

    def test_only_the_asked_for_is_looked_at(self, ask):
        """A browser sends cookies of others too."""
        _, response = ask("Cookie.add_cookie(req, Cookie.SignedCookie('sess', 'v', 'secret'))")
        sent = "_ga=GA1.1; " + response.get("Set-Cookie")
        call = "Cookie.get_cookie(req, '%s', Cookie.SignedCookie, secret='secret', mismatch=Cookie.Cookie.EXCEPTION).value"
        assert ask(call % "sess", call % "_ga", "sorted(Cookie.get_cookies(req, names=['sess', 'none']))",
                   "Cookie.get_cookie(req, 'sess', secret='secret')", cookie=sent)[0] == [
            "'v'", "CookieError: the signature of cookie '_ga' is wrong", "['sess']",
            "TypeError: Cookie.parse() got an unexpected keyword argument 'secret'"]

    @pytest.mark.parametrize("kind", ("SignedCookie", "MarshalCookie"))
    def test_parse_takes_its_arguments_by_place(self, ask, kind):
        text = "(lambda c: str(Cookie.%s('n', 'v', 'secret')))(0)" % kind
        parse = "{n: (type(c).__name__, c.value) for n, c in Cookie.%s.parse(%s + '; m=x', %%s).items()}" % (kind, text)
        answers, _ = ask(parse % "'secret'", parse % "'secret', Cookie.Cookie.IGNORE", parse % "'secret', Cookie.%s.EXCEPTION" % kind,
                         parse % "'wrong', mismatch=Cookie.Cookie.IGNORE", parse % "'secret', names=['n']", parse % "''")
        good = "'n': ('%s', 'v')" % kind
        assert answers == ["{%s, 'm': ('Cookie', 'x')}" % good, "{%s}" % good, "CookieError: the signature of cookie 'm' is wrong",
                           "{}", "{%s}" % good, "CookieError: a signed cookie needs a secret"]
        assert ask("sorted(Cookie.Cookie.parse('a=1; b=2', names=['b']))", "Cookie.Cookie.DOWNGRADE")[0] == ["['b']", "0"]

    def test_attributes_have_no_case(self, ask):
        assert ask("str(Cookie.Cookie('a', '1', Path='/', Max_Age=5, commentURL='x', HttpOnly=True, Expires=0))")[0] == [
            "'a=1; expires=Thu, 01-Jan-1970 00:00:00 GMT; path=/; Max-Age=5; commentURL=x; httponly'"]
