# SPDX-License-Identifier: Apache-2.0
"""Fixtures. A test class gets one server for each MPM, shared by its tests:

    class TestHello:
        MODULES = ("luapool", "pypool")   # pieces of conf/, default both
        CONF = "LuaPoolMax 2"             # further configuration lines; {run}, {docroot} and {port} are filled in
        SCRIPTS = "scripts"               # folder beside this file, copied to the document root
        SIZES = Sizes(threads=4)          # see harness.httpd
        ALLOW = (r"AH00123",)             # faults in the log that are no surprise (better: server.expect_log)

        def test_body(self, site):        # runs for .lua and .py under each MPM: [prefork-lua] ...
            assert site.get("/hello").text == "Hello World!"

Asking for `server` instead of `site` runs the test once per MPM. After each test the log must hold no fault that
it did not expect; after each class the server must stop cleanly, with the parent's memory and descriptors back.
"""
import os
import signal
from pathlib import Path

import pytest

from harness.client import Connection, fetch
from harness.httpd import MPMS, PATIENCE, Httpd, Sizes

HERE = Path(__file__).parent
LANGUAGES = {"lua": "lua", "python": "py"}
TEST_SECONDS = 60 * PATIENCE


def pytest_configure():
    signal.signal(signal.SIGTERM, lambda *_: pytest.exit("terminated", 143))  # so that servers are stopped


def pytest_addoption(parser):
    parser.addoption("--mpm", default=",".join(MPMS), help="comma-separated MPMs to test under")
    parser.addoption("--servers", choices=("only", "none"), help="tests that run under the MPMs only; or none of them")
    parser.addoption("--keep", action="store_true", help="keep the servers' run folders")


def pytest_generate_tests(metafunc):
    if "mpm" in metafunc.fixturenames:
        wanted = metafunc.config.getoption("--mpm").split(",")
        assert set(wanted) <= set(MPMS), f"--mpm takes {', '.join(MPMS)}"
        # The very strings of MPMS: pytest compares parameters by identity when it looks for a fixture to share.
        metafunc.parametrize("mpm", [mpm for mpm in MPMS if mpm in wanted], indirect=True, scope="class")
    if "lang" in metafunc.fixturenames and "site_of" not in metafunc.fixturenames:
        metafunc.parametrize("lang", getattr(metafunc.cls, "LANGUAGES", LANGUAGES), scope="function")


def pytest_collection_modifyitems(config, items):
    wanted = config.getoption("--servers")
    if wanted:
        sorted_out = {True: [], False: []}
        for item in items:
            sorted_out[("mpm" in item.fixturenames) is (wanted == "only")].append(item)
        config.hook.pytest_deselected(items=sorted_out[False])
        items[:] = sorted_out[True]


def python_conf(folder, *names):
    """The lines that make files NAME.py of a folder handlers: the module of the file's name, whose handler() is called."""
    files = [f"<Files {name}.py>\nPythonHandler {name}\n</Files>" for name in names]
    return "\n".join(["<IfModule pypool_module>", f'<Directory "{folder}">', *files, "</Directory>", "</IfModule>"]) + "\n"


def script_conf(docroot):
    """The lines that make a folder's .lua and .py files handlers, where the modules are loaded."""
    lines = ["<IfModule luapool_module>", "AddHandler lua-script .lua", "</IfModule>",
             "<IfModule pypool_module>", "AddHandler mod_python .py", "</IfModule>"]
    text = "\n".join(lines) + "\n"
    for folder in sorted({path.parent for path in Path(docroot).rglob("*.py")}):
        place = ("{docroot}/" + folder.relative_to(docroot).as_posix()).removesuffix("/.")
        text += python_conf(place, *sorted(path.stem for path in folder.glob("*.py")))
    return text


def make_server(mpm, *, modules=("luapool", "pypool"), conf="", scripts="scripts", sizes=Sizes(), env=None):
    """A server that serves `scripts`; not yet started."""
    docroot = HERE / scripts if scripts else None
    server = Httpd(mpm, modules=modules, docroot=docroot, sizes=sizes, env=env)
    text = (script_conf(docroot) if docroot else "") + conf
    for name, value in (("run", server.run), ("docroot", server.docroot)):
        text = text.replace("{" + name + "}", str(value))
    server.conf = text.replace("{port}", "${INTERPOOL_PORT}")
    return server


@pytest.fixture(scope="class")
def mpm(request):
    """The MPM of this run of the class. (A fixture of its own, so that all tests of the class share a server.)"""
    return request.param


@pytest.fixture(scope="class")
def server(request, mpm):
    """The class's server under one MPM, running."""
    cls = request.cls
    httpd = make_server(mpm, modules=getattr(cls, "MODULES", ("luapool", "pypool")), conf=getattr(cls, "CONF", ""),
                        scripts=getattr(cls, "SCRIPTS", "scripts"), sizes=getattr(cls, "SIZES", Sizes()))
    for pattern in getattr(cls, "ALLOW", ()):
        httpd.log.allow(pattern)
    httpd.start()
    try:
        yield httpd
        httpd.check()
    finally:
        httpd.stop()
    httpd.check_log()
    if not (request.config.getoption("--keep") or "INTERPOOL_KEEP" in os.environ):
        httpd.remove()


@pytest.fixture
def make_httpd(mpm):
    """make_server() for tests that start servers of their own; all are stopped and checked at the end."""
    made = []

    def make(**options):
        made.append(make_server(mpm, **options))
        return made[-1]

    yield make
    for httpd in made:
        if httpd.pid:
            try:
                httpd.check()
            finally:
                httpd.stop()
        httpd.check_log()
        httpd.remove()


class Site:
    """A server seen through one language: "/hello" is hello.lua or hello.py there."""

    def __init__(self, server, lang):
        self.server = server
        self.lang = lang
        self.suffix = "." + LANGUAGES[lang]

    def path(self, target):
        """/hello?a=1 -> /hello.lua?a=1"""
        path, mark, args = target.partition("?")
        return path + self.suffix + mark + args

    def file(self, target):
        """The script behind a target."""
        return self.server.docroot / self.path(target).lstrip("/")

    def fetch(self, target, method="GET", **options):
        """One request on its own connection."""
        return fetch(self.server.port, self.path(target), method, **options)

    def get(self, target, **options):
        """GET on its own connection."""
        return self.fetch(target, **options)

    def post(self, target, body, **options):
        """POST on its own connection."""
        return self.fetch(target, "POST", body=body, **options)

    def connect(self, timeout=20.0):
        """A kept connection; use path() for its targets."""
        return Connection(self.server.port, timeout)


@pytest.fixture
def site(server, lang):
    """The class's server, for each language."""
    return Site(server, lang)


@pytest.fixture
def site_of(server):
    """site_of(lang), for tests whose cases differ between the languages."""
    return lambda lang: Site(server, lang)


def _time_is_up(*_):
    raise TimeoutError(f"the test took longer than {TEST_SECONDS} s")


@pytest.fixture(autouse=True)
def time_limit():
    """A test that hangs fails, so that its server is stopped and the others run."""
    signal.signal(signal.SIGALRM, _time_is_up)
    signal.alarm(TEST_SECONDS)
    yield
    signal.alarm(0)


@pytest.fixture(autouse=True)
def log_is_clean(request):
    """After a test: whatever its server logged as a fault was expected. (Reported once: by the test that caused it.)"""
    yield
    if "server" in request.fixturenames:
        httpd = request.getfixturevalue("server")
        faults = httpd.log.take_faults()
        if faults:
            pytest.fail(f"{len(faults)} unexpected lines in the error log:\n" + "\n".join(faults[:10]), pytrace=False)
