# SPDX-License-Identifier: Apache-2.0
"""The same script under mod_python and under mod_pypool, where mod_python is installed: what it sees is the same."""
import json

import pytest

from harness.client import fetch
from harness.httpd import has_module, load_module

CONF = """<Directory {docroot}>
SetHandler mod_python
PythonHandler ask
PythonOption one 1
PythonDebug On
</Directory>
"""
SAME = (
    "req.method", "req.method_number", "req.uri", "req.args", "req.path_info", "req.unparsed_uri", "req.the_request",
    "req.protocol", "req.proto_num", "req.hostname", "req.header_only", "req.assbackwards", "req.proxyreq", "req.handler",
    "req.status", "req.status_line", "req.user", "req.ap_auth_type", "req.content_type", "req.content_encoding",
    "req.content_languages", "req.allowed", "req.allowed_methods", "req.allowed_xmethods", "req.main", "req.prev", "req.next",
    "req.phase", "req.extension", "req.filename.endswith('/ask.py')", "req.canonical_filename == req.filename",
    "req.finfo[apache.FINFO_SIZE] == req.finfo.size", "req.finfo.filetype == apache.APR_REG", "req.read_body >= 0",
    "req.read_chunked", "req.expecting_100", "req.eos_sent", "req.sent_bodyct", "req.bytes_sent", "req.range", "req.clength",
    "req.no_cache", "req.no_local_copy", "req.chunked", "req.mtime", "req.used_path_info", "req.vlist_validator",
    "req.useragent_ip", "req.useragent_addr[0]", "req.parsed_uri[apache.URI_PATH]", "req.parsed_uri[apache.URI_QUERY]",
    "len(req.parsed_uri)", "req.headers_in['host']", "req.headers_in.get('X-A')", "'x-a' in req.headers_in",
    "req.headers_in.get('nothing')", "sorted(k for k in req.headers_in if k != 'X-Ask')", "len(req.headers_in)",
    "req.get_options()", "req.get_config()", "req.get_options().items()", "req.document_root().endswith('/htdocs')",
    "req.auth_name()", "req.auth_type()", "req.get_remote_host(apache.REMOTE_NOLOOKUP)",
    "req.get_remote_host(apache.REMOTE_NOLOOKUP, 1)", "req.construct_url('/x')", "req.is_https()", "req.meets_conditions()",
    "req.connection.client_ip", "req.connection.aborted", "req.connection.keepalives", "req.connection.local_ip",
    "req.server.server_hostname", "req.server.port", "req.server.timeout", "req.server.keep_alive_max", "req.server.is_virtual",
    "req.server.limit_req_line", "req.server.path", "req.server.names", "req.server.next", "req.hlist.handler",
    "apache.OK, apache.DECLINED, apache.DONE", "apache.mpm_query(apache.AP_MPMQ_IS_THREADED)",
    "apache.exists_config_define('FOREGROUND')", "apache.server_root() == apache.server_root()",
    "apache.stat('/tmp', apache.APR_FINFO_NORM).filetype == apache.APR_DIR", "apache.table({'a': 'b'})",
    "apache.table([('a', 'b')])['A']", "(lambda t: (t.add('a', '2'), t['A'], t.get('a'), len(t), t.items(), t.keys()))"
    "(apache.table({'a': '1'}))", "util.parse_qs('a=1&b=2&a=3') == util.parse_qs('a=1&b=2&a=3')",
    "req.update_mtime(5)", "req.set_last_modified()", "(req.set_content_length(5), req.headers_out['Content-Length'], req.headers_out.__delitem__('Content-Length'))",
    "setattr(req, 'status', 404) or req.status", "setattr(req, 'mine', 1) or req.mine", "req.add_common_vars()",
    "req.subprocess_env['REMOTE_ADDR']", "req.write('')", "req.flush()", "req.discard_request_body()",
    "apache.resolve_object(module=apache, obj_str='OK.real')", "apache.resolve_object(module=apache, obj_str='none', silent=1)",
    "issubclass(apache.SERVER_RETURN, Exception)", "apache.module_mtime(__import__('json')), apache.module_mtime(__import__('sys'))",
)
NUMBERS = ("sorted((n, v) for n, v in vars(apache).items() if type(v) is int and n.isupper() and n not in "
           "('MODULE_MAGIC_NUMBER_MINOR',))")

FORM = (b'--B\r\nContent-Disposition: form-data; name="a"\r\n\r\nx\r\n'
        b'--B\r\nContent-Disposition: form-data; name="blank"\r\nContent-Type: TEXT/html; q="1"\r\n\r\n\r\n'
        b'--B\r\nContent-Disposition: form-data; name="none"; filename=""\r\nContent-Type: application/octet-stream\r\n\r\n\r\n'
        b'--B\r\nContent-Disposition: form-data; name="up"; filename="u.png"\r\nContent-Type: image/png\r\n\r\n\0\xff\r\n--B--\r\n')
SAME_OF_A_FORM = (
    "[(f.name, type(f).__name__, f.filename, f.type, len(f.type_options), f.disposition, len(f.disposition_options), bool(f))"
    " for f in util.FieldStorage(req).list]",
    "[(f.value, f.file.read(), f.value) for f in util.FieldStorage(req).list if f.filename]",
    "(lambda io, got: (util.FieldStorage(req, file_callback=lambda *a: got.append(a) or io.BytesIO(),"
    " field_callback=lambda *a: got.append(a) or io.BytesIO()), got)[1])(__import__('io'), [])",
    "[sorted(f.headers.keys()) for f in util.FieldStorage(req).list]", "util.FieldStorage(req).keys()",
    "util.apply_fs_data(lambda up, more=1: (up.value, more), util.FieldStorage(req))", "util.apply_fs_data(dict, util.FieldStorage(req))",
)
PUBLIC = ("sorted(n for n, v in vars(%s).items() if n[0] != '_' and type(v) is not type(apache) and "
          "(getattr(v, '__module__', None) or 'mod_python').startswith(('mod_python', '_apache')))")
# What docs/python.md says is not here, and traces of Python 2.
NOT_OFFERED = {
    "apache": {"setup_cgi", "restore_nocgi", "CGIStdin", "CGIStdout", "NullIO", "CallBack", "init"},
    "util": {"PY2", "readBlockSize"},
    "Cookie": {"PY2", "metaCookie"},
    "util.FieldList": {"table"},
    "util.FieldStorage": {"parse_qsl_safely", "read_to_boundary"},
    "Cookie.SignedCookie": {"hexdigest", "unsign"},
    "Cookie.MarshalCookie": {"unmarshal"},
}


def ask(server, *expressions, form=None):
    """The reprs of the expressions, each asked for in a request of its own: one may end mod_python's child."""
    kind = [("Content-Type", "multipart/form-data; boundary=B")] if form else []
    answers = []
    for expression in expressions:
        response = fetch(server.port, "/ask.py/more?a=1" if not form else "/ask.py", "POST" if form else "GET", body=form,
                         headers=[*kind, ("X-A", "b"), ("X-Ask", expression.encode().hex())])
        answers.append(json.loads(response.body[response.body.index(b"["):])[0])
    return answers


@pytest.mark.skipif(not has_module("python"), reason="mod_python is not installed")
def test_script_sees_the_same(make_httpd):
    theirs = make_httpd(modules=(), scripts="scripts/pyapi", conf=load_module("python") + CONF)
    theirs.log.allow(r"mod_python")
    ours = make_httpd(modules=("pypool",), scripts="scripts/pyapi", conf=CONF)
    theirs.start()
    ours.start()
    their_answers, our_answers = (dict(zip(SAME, ask(server, *SAME))) for server in (theirs, ours))
    hidden = str(theirs.port), str(ours.port)
    different = {name: (answer, our_answers[name]) for name, answer in their_answers.items()
                 if answer.replace(*hidden) != our_answers[name]}
    assert different == {}
    constants, our_constants = (dict(eval(ask(server, NUMBERS)[0])) for server in (theirs, ours))
    assert {name: value for name, value in constants.items() if our_constants.get(name) != value} == {}
    for expression in SAME_OF_A_FORM:
        assert ask(ours, expression, form=FORM) == ask(theirs, expression, form=FORM)
    assert {name: missing(name, theirs, ours) for name in NOT_OFFERED} == NOT_OFFERED


def missing(name, theirs, ours):
    """The public names that a module or class of mod_python has and ours has not."""
    offered = (set(eval(ask(server, text % name)[0])) for server, text in ((theirs, PUBLIC), (ours, "dir(%s)")))
    return next(offered) - next(offered)


def test_module_mtime(make_httpd):
    server = make_httpd(modules=("pypool",), scripts="scripts/pyapi", conf=CONF)
    server.start()
    without = "apache.module_mtime(type(apache)('m'))"
    gone = "(lambda m: setattr(m, '__file__', '/none/m.py') or apache.module_mtime(m))(type(apache)('m'))"
    expected = (server.docroot / "ask.py").stat().st_mtime
    assert ask(server, without, gone) == ["0", "0"]
    assert float(ask(server, "apache.module_mtime(apache.import_module('ask', path=[%r]))" % str(server.docroot))[0]) == expected
