# SPDX-License-Identifier: Apache-2.0
"""PythonHandler: which functions are called, what their answers and their errors become."""
import pytest

RESULTS = ("ok", "ok_in_numbers", "declined", "done", "gone", "enum", "announces", "none", "text", "true", "odd", "huge", "returned", "returned_pair",
           "returned_wrong", "returned_nothing", "raises", "leaves", "interrupts", "unprintable", "surrogate", "late",
           "missing", "assigns", "no_field")


def location(path, *lines):
    """A <Location> that Python answers."""
    return "\n".join([f"<Location {path}>", "SetHandler mod_python", *lines, "</Location>", ""])


def get(server, path):
    from harness.client import fetch
    return fetch(server.port, path)


class TestResults:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = "PythonPath \"['{docroot}'] + sys.path\"\n" + "".join(
        location(f"/{name}", f"PythonHandler results::{name}") for name in RESULTS) + \
        location("/debug", "PythonHandler results::raises", "PythonDebug On") + \
        location("/nomodule", "PythonHandler no_such_module") + \
        location("/publisher", "PythonHandler mod_python.publisher") + \
        location("/imports", "PythonHandler imports_missing") + \
        location("/badpath", "PythonHandler results::ok", "PythonPath \"sys.pth\"")

    @pytest.mark.parametrize("name,status,body", [
        ("ok", 200, "ok\n"), ("ok_in_numbers", 200, "two hundred\n"), ("done", 200, "done\n"), ("returned_pair", 201, "made\n")])
    def test_answers(self, server, name, status, body):
        answer = get(server, f"/{name}")
        assert (answer.status, answer.text) == (status, body)

    @pytest.mark.parametrize("name,status", [("gone", 410), ("enum", 409), ("returned", 406), ("declined", 404)])
    def test_a_status_is_answered_by_httpds_page(self, server, name, status):
        answer = get(server, f"/{name}")
        assert answer.status == status
        assert "not to be seen" not in answer.text

    @pytest.mark.parametrize("name,log", [
        ("none", "PP013: .*returned NoneType"), ("text", "PP013: .*returned str"), ("true", "PP013: .*returned bool"),
        ("odd", r"PP013: .*/results.py:\d+: .*returned 42"), ("announces", "PP013: .*returned 100"), ("huge", r"PP013: .*returned \d{19}, not a status"),
        ("returned_wrong", "PP013: .*returned str"), ("returned_nothing", "PP013: SERVER_RETURN takes"),
        ("raises", r"PP010: .*/results.py:\d+: ValueError: secret <b>1</b> \| Traceback .*in raises"),
        ("leaves", "PP010: .*SystemExit: 3"), ("interrupts", "PP010: .*KeyboardInterrupt"),
        ("unprintable", r"PP010: .*Unprintable: <exception str\(\) failed>"),
        ("surrogate", r"PP010: .*ValueError: lone .*udcff and .*ud800"),
        ("missing", "PP010: AttributeError: module '.*/results.py' contains no 'missing'"),
        ("assigns", r"PP010: .*/results.py:\d+: ZeroDivisionError"),
        ("nomodule", "PP010: ModuleNotFoundError: No module named 'no_such_module', which PythonHandler names"),
        ("publisher", "PP010: ModuleNotFoundError: No module named 'mod_python.publisher', which PythonHandler names"),
        ("no_field", r"PP010: \S+/results.py:\d+: KeyError: 'no_such_field' \| Traceback .*util.py"),
        ("badpath", "PP010: <PythonPath>:1: AttributeError: module 'sys' has no attribute 'pth'"),
        ("imports", r"PP010: \S+/imports_missing.py:1: ModuleNotFoundError: No module named 'no_such_module' "
                    r"\| Traceback \S+ \S+ \S+ \S+ \| File \"\S+/imports_missing.py\", line 1, in <module>")])
    def test_failures_are_logged_once_and_tell_the_client_nothing(self, server, name, log):
        mark = server.log.mark()
        with server.expect_log(log):
            answer = get(server, f"/{name}")
        assert answer.status == 500
        assert "PP01" not in answer.text and "secret" not in answer.text and "not to be seen" not in answer.text
        assert len([line for line in server.log.since(mark) if "PP01" in line]) == 1

    def test_debug_shows_the_traceback_escaped(self, server):
        with server.expect_log("PP010: "):
            answer = get(server, "/debug")
        assert answer.status == 500
        assert "Traceback" in answer.text and "secret &lt;b&gt;1&lt;/b&gt;" in answer.text
        assert "<b>1" not in answer.text

    def test_nothing_is_added_to_a_response_on_its_way(self, server):
        from harness.client import Truncated
        with server.expect_log("PP010: .*too late"):
            with pytest.raises(Truncated) as error:
                get(server, "/late")
        assert error.value.partial.status == 200

    def test_the_server_goes_on(self, server):
        with server.expect_log("PP010: ", 20):
            assert {get(server, "/raises").status for _ in range(20)} == {500}
        assert get(server, "/ok").status == 200


class TestHandlers:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = "PythonPath \"['{docroot}'] + sys.path\"\n" + \
        location("/line", "PythonHandler stack::first stack::second stack::last") + \
        location("/lines", "PythonHandler stack::first", "PythonHandler stack::last") + \
        location("/stop", "PythonHandler stack::first stack::stops stack::last") + \
        location("/class", "PythonHandler stack::Page.show") + \
        location("/bare", "PythonHandler stack::Bare.show") + \
        location("/static", "PythonHandler stack::Page.plain") + \
        location("/named", "PythonHandler stack::Page.named") + \
        location("/instance", "PythonHandler stack::instance") + \
        location("~ ^/ext", "PythonHandler stack::Page.named", "PythonHandler stack::Page.plain | .a .b.c") + \
        location("/program", "SetHandler python-program", "PythonHandler results") + \
        location("/outer", "PythonHandler stack::Page.named") + \
        location("/outer/inner", "PythonHandler stack::Page.plain") + \
        location("/outer/plain", "PythonDebug On") + \
        location("/without") + \
        location("/files.txt", "PythonHandler stack::Page.plain | .py")

    @pytest.mark.parametrize("path,body", [
        ("/line", "first,second,last"), ("/lines", "first,last"), ("/class", "/class by Page"),
        ("/bare", "/bare by Page"), ("/static", "static"), ("/named", "Page"), ("/instance", "static"),
        ("/ext", "Page"), ("/ext.x.a", "static"), ("/ext.x.b", "Page"), ("/ext.b.c", "static"), ("/ext.a.b.c", "static"),
        ("/outer", "Page"), ("/outer/inner", "static"), ("/outer/plain", "Page")])
    def test_the_named_functions_are_called(self, server, path, body):
        answer = get(server, path)
        assert (answer.status, answer.text) == (200, body)

    def test_a_handler_that_is_not_ok_ends_the_list(self, server):
        assert get(server, "/stop").status == 403

    def test_python_program_is_the_same_handler(self, server):
        with server.expect_log("contains no 'handler'"):
            assert get(server, "/program").status == 500

    def test_without_a_handler_nothing_is_sent(self, server):
        (server.docroot / "without").write_text("secret = 1\n")
        with server.expect_log("PP018: "):
            answer = get(server, "/without")
        assert answer.status == 500 and "secret" not in answer.text

    def test_a_file_without_a_handler_for_its_extension_is_a_file(self, server):
        (server.docroot / "files.txt").write_text("text\n")
        (server.docroot / "files.txt").chmod(0o644)
        assert get(server, "/files.txt").text == "text\n"


class TestMerging:
    MODULES = ("pypool",)
    SCRIPTS = "pyscripts"
    CONF = "PythonPath \"['{docroot}'] + sys.path\"\nPythonOption a 1\nPythonOption b 1\nPythonOption c 1\n" + \
        location("/a", "PythonHandler settings", "PythonOption b 2", "PythonOption c", "PythonOption d 4",
                 "PythonDebug On") + \
        location("/a/b", "PythonOption c 3", "PythonOption a", "PythonDebug Off", "PythonInterpreter x") + """
        <Directory {docroot}/one>
            PythonHandler settings
            PythonOption b dir
        </Directory>
        <Files last>
            PythonOption b file
        </Files>
        <Location /one/sub>
            SetHandler mod_python
            PythonOption d location
        </Location>
        <Location /one>
            SetHandler mod_python
        </Location>
        """

    @pytest.mark.parametrize("path,options,directives", [
        ("/a", {"a": "1", "b": "2", "d": "4"}, {"PythonDebug": "1"}),
        ("/a/b", {"b": "2", "c": "3", "d": "4"}, {"PythonDebug": "0", "PythonInterpreter": "x"}),
        ("/one/x", {"a": "1", "b": "dir", "c": "1"}, {}),
        ("/one/last", {"a": "1", "b": "file", "c": "1"}, {}),
        ("/one/sub", {"a": "1", "b": "dir", "c": "1", "d": "location"}, {})])
    def test_inner_sections_win(self, server, path, options, directives):
        answer = get(server, path)
        assert answer.status == 200
        got_options, got_directives = eval(answer.text)
        got_directives.pop("PythonPath")
        assert (got_options, got_directives) == (options, directives)


class TestConfiguration:
    @pytest.mark.parametrize("line,message", [
        ("PythonHandler", "a module is missing"),
        ("PythonHandler ::f", "not of the form"),
        ("PythonHandler a::", "not of the form"),
        ("PythonHandler a |", "no extension after"),
        ("PythonHandler a | py", "does not begin with a dot"),
        ("PythonGIL mine", "PythonGIL"),
        ("PythonInterpreters 0", "neither auto nor a number"),
        ("PythonInterpreters 4 often", "can only be exclusive"),
        ("PythonTimeLimit soon", "PythonTimeLimit"),
        ("PythonBodyLimit -1", "PythonBodyLimit"),
        ("PythonMemoryLimit many", "PythonMemoryLimit"),
        ("PythonMemoryLimit 31M", "less than 32M"),
        ("<VirtualHost *>\nPythonMemoryLimit 64M\n</VirtualHost>", "PythonMemoryLimit cannot occur within"),
        ("PythonHome /no/such/folder", "there is no folder /no/such/folder"),
        ("PythonDebug maybe", "PythonDebug")])
    def test_mistakes_stop_the_start(self, make_httpd, line, message):
        status, output = make_httpd(modules=("pypool",), scripts=None, conf=line + "\n").check_configuration()
        assert status != 0 and message in output
