# SPDX-License-Identifier: Apache-2.0
"""Tables in Python: a mapping whose names have no case and may stand more than once."""
import json

import pytest

from harness.client import fetch


@pytest.fixture
def say(server):
    """Runs statements on the server; gives the reprs of what they say."""
    def run(*statements):
        text = "\n".join(statements).encode("utf-8", "surrogateescape").hex()
        response = fetch(server.port, "/table.py", headers=[("X-Do", text)])
        assert response.status == 200
        return json.loads(response.body)
    return run


class TestTable:
    MODULES = ("pypool",)
    SCRIPTS = "scripts/pyapi"
    MAKE = "t = apache.table({'One': '1', 'two': '2'}); t.add('one', 'more')"

    def test_finds_names_in_any_case(self, say):
        assert say(self.MAKE, "say(t['TWO'])", "say(t.get('Two'))", "say('tWo' in t)", "say('three' in t)",
                   "say(t.has_key('two'))", "say(t.get('three'))", "say(t.get('three', 3))", "say(t[b'two'])",
                   "say(t[bytearray(b'two')])") == \
            ["'2'", "'2'", "True", "False", "True", "None", "3", "'2'", "'2'"]

    def test_a_name_that_stands_twice_has_a_list(self, say):
        assert say(self.MAKE, "say(t['one'])", "say(t.get('one'))", "say(len(t))", "say(t.items())", "say(t.keys())",
                   "say(t.values())", "say(list(t))", "say(t)") == [
            "['1', 'more']", "'1'", "3", "[('One', '1'), ('two', '2'), ('one', 'more')]", "['One', 'two', 'one']",
            "['1', '2', 'more']", "['One', 'two', 'one']", "{'One': '1', 'two': '2', 'one': 'more'}"]

    def test_lists_can_be_stored(self, say):
        assert say(self.MAKE, "t['two'] = t['one']", "say(t['two'])", "t['two'] = ('x',)", "say(t['two'])", "t['two'] = []",
                   "say('two' in t)", "say(t.items())") == [
            "['1', 'more']", "'x'", "False", "[('One', '1'), ('one', 'more')]"]

    def test_set_replaces_all(self, say):
        assert say(self.MAKE, "t['ONE'] = 'only'", "say(t.items())", "t['new'] = b'\\xff'", "say(t['new'])") == [
            "[('One', 'only'), ('two', '2')]", "'\\udcff'"]

    def test_deletes(self, say):
        assert say(self.MAKE, "del t['ONE']", "say(t.items())", "del t['not there']", "say(t.pop('two'))", "say(t.pop('two', 5))",
                   "t.pop('two')", "say(t)") == ["[('two', '2')]", "'2'", "5", "KeyError: 'two'", "{}"]

    def test_popitem_empties_it(self, say):
        assert say(self.MAKE, "say(t.popitem())", "say(t.popitem())", "t.popitem()") == [
            "('One', ['1', 'more'])", "('two', '2')", "KeyError: 'popitem(): the table is empty'"]

    def test_setdefault(self, say):
        assert say(self.MAKE, "say(t.setdefault('two', 'x'))", "say(t.setdefault('three', 'x'))", "say(t.setdefault('four'))",
                   "say(t['three'], )", "say(t['four'])") == ["'2'", "'x'", "''", "'x'", "''"]

    def test_update_and_constructor(self, say):
        assert say("t = apache.table([('a', 'b'), (b'c', 'd')])", "say(t)", "t.update({'A': 'x', 'e': 'f'})", "say(t)",
                   "t.update([('e', 'g')])", "say(t)", "u = apache.table(); u.add('m', '1'); u.add('M', '2')", "t.update(u)",
                   "say(t['m'])", "say(apache.table(t) == t)", "say(apache.table())", "say(apache.table(u).items())",
                   "t.update(((n, 'v') for n in 'pq'))", "say((t['p'], t['q']))") == [
            "{'a': 'b', 'c': 'd'}", "{'a': 'x', 'c': 'd', 'e': 'f'}", "{'a': 'x', 'c': 'd', 'e': 'g'}", "['1', '2']", "True",
            "{}", "[('m', '1'), ('M', '2')]", "('v', 'v')"]

    def test_compares(self, say):
        assert say(self.MAKE, "say(t == {'ONE': ['1', 'more'], 'Two': '2'})", "say(t == {'one': '1', 'two': '2'})",
                   "say(t != t.copy())", "say(t == 5)", "say(apache.table() == {})", "say({} == apache.table())", "t < t",
                   "hash(t)", "say(bool(apache.table()))", "say(t == {5: None})") == [
            "True", "False", "False", "False", "True", "True",
            "TypeError: '<' not supported between instances of '_apache.table' and '_apache.table'",
            "TypeError: unhashable type: '_apache.table'", "False", "False"]

    def test_copy_is_apart(self, say):
        assert say(self.MAKE, "c = t.copy()", "c['two'] = 'x'; t.clear()", "say((t, c))", "say(type(c) is apache.table)") == [
            "({}, {'One': '1', 'two': 'x', 'one': 'more'})", "True"]

    def test_may_change_while_it_is_walked(self, say):
        assert say(self.MAKE, "for n in t: t[n + '!'] = 'x'; del t[n]", "say(sorted(t))", "i = t.iteritems(); t.clear()",
                   "say(len(list(i)))", "say([list(m()) for m in (t.iterkeys, t.itervalues, t.iteritems)])") == [
            "['One!', 'two!']", "2", "[[], [], []]"]

    def test_names_what_is_wrong(self, say):
        assert say(self.MAKE, "t[5]", "t['a'] = 5", "t['a'] = None", "t['a'] = ['x', None]", "t[''] = 'x'",
                   "t['a\\n'] = 'x'", "t['a'] = 'x\\0y'", "t['nothing']", "t['\\ud800']", "t['a'] = '\\ud800'", "say('a' in t)",
                   "apache.table(5)", "apache.table([('a',)])", "apache.table(a='b')", "apache.table({'a': object})", "say(t)") == [
            "TypeError: a table's name must be str or bytes-like, not int", "TypeError: a must be str or bytes-like, not int",
            "TypeError: a must be str or bytes-like, not NoneType", "TypeError: a must be str or bytes-like, not NoneType",
            "ValueError: '': a table's name must not be empty",
            "ValueError: a table's name: must not contain LF", "ValueError: a: must not contain NUL", "KeyError: 'nothing'",
            "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed",
            "UnicodeEncodeError: 'utf-8' codec can't encode character '\\ud800' in position 0: surrogates not allowed", "False",
            "TypeError: 'int' object is not iterable", "ValueError: a table takes (name, value) pairs, not ('a',)",
            "TypeError: table() takes no keyword arguments", "TypeError: a must be str or bytes-like, not type",
            "{'One': '1', 'two': '2', 'one': 'more'}"]

    def test_wrong_numbers_of_arguments(self, say):
        answers = say(self.MAKE, "t.get()", "t.update()", "t.add('a')", "t.setdefault()", "t.pop()", "t.clear(1)", "t.has_key()")
        assert [a.split(":")[0] for a in answers] == ["TypeError"] * 7

    def test_large(self, say):
        assert say("t = apache.table()", "for i in range(5000): t['n%d' % i] = str(i)", "say(len(t))", "say(t['N4999'])",
                   "say(t.copy() == t)", "t['big'] = 'x' * 1000000", "say(len(t['big']))") == ["5000", "'4999'", "True", "1000000"]

    def test_request_tables_are_tables(self, say):
        assert say("say(type(req.notes) is apache.table)", "req.notes['a'] = 'b'", "say(req.notes.copy())",
                   "say(apache.table(req.notes)['a'])", "req.subprocess_env.add('E', '1'); req.subprocess_env.add('E', '2')",
                   "say(req.subprocess_env['E'])", "say(req.headers_in['host'])", "req.headers_in['X-New'] = 'n'",
                   "say(req.headers_in['x-new'])") == [
            "True", "{'a': 'b'}", "'b'", "['1', '2']", "'localhost'", "'n'"]
