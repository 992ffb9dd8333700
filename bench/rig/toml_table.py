# SPDX-License-Identifier: Apache-2.0
"""One table of a TOML file, read with checks: each key has a type and a range, and no key is unknown.

Knows nothing of what the keys mean. Every mistake goes to the caller's fail(key, message), which raises.
"""
from typing import Any, Callable, Dict, List, Optional, Tuple


class Table:
    """One table of the file: hands out its keys with checks and remembers which were not asked for."""

    def __init__(self, fail: Callable[[str, str], Any], where: str, values: Dict[str, Any]):
        self._fail, self.where, self.values = fail, where, values
        self.asked = set()

    def at(self, key: str) -> str:
        return "%s.%s" % (self.where, key) if self.where else key

    def fail(self, key: str, message: str):
        self._fail(self.at(key), message)

    def done(self):
        for key in self.values:
            if key not in self.asked:
                self.fail(key, "unknown key; known here: %s" % ", ".join(sorted(self.asked)))

    def take(self, key: str, kinds, described: str, default):
        self.asked.add(key)
        value = self.values.get(key, default)
        if value is None:
            self.fail(key, "is missing")
        if not isinstance(value, kinds) or isinstance(value, bool) != (kinds is bool):
            self.fail(key, "must be %s, not %r" % (described, value))
        return value

    def text(self, key: str, default: Optional[str] = None) -> str:
        return self.take(key, str, "a string", default)

    def flag(self, key: str, default: bool) -> bool:
        return self.take(key, bool, "true or false", default)

    def number(self, key: str, default: Optional[int], low: int, high: int) -> int:
        return self.within(key, self.take(key, int, "a whole number", default), low, high)

    def real(self, key: str, default: Optional[float], low: float, high: float) -> float:
        return float(self.within(key, self.take(key, (int, float), "a number", default), low, high))

    def within(self, key, value, low, high):
        if not low <= value <= high:
            self.fail(key, "must be between %s and %s, not %s" % (low, high, value))
        return value

    def choice(self, key: str, offered, default: Optional[str] = None) -> str:
        value = self.text(key, default)
        if value != default and value not in offered:
            self.fail(key, "there is no %r; choose from %s" % (value, ", ".join(offered)))
        return value

    def choices(self, key: str, offered) -> Tuple[str, ...]:
        values = self.take(key, list, "a list", list(offered))
        for value in values:
            if value not in offered:
                self.fail(key, "there is no %r; choose from %s" % (value, ", ".join(offered)))
        if not values:
            self.fail(key, "must not be empty")
        return tuple(values)

    def texts(self, key: str) -> Dict[str, str]:
        values = self.take(key, dict, "a table", {})
        for name, value in values.items():
            if not isinstance(value, str):
                self.fail("%s.%s" % (key, name), "must be a string, not %r" % (value,))
        return values

    def table(self, key: str) -> "Table":
        return Table(self._fail, self.at(key), self.take(key, dict, "a table", {}))

    def tables(self, key: str, at_least: int = 0) -> List["Table"]:
        values = self.take(key, list, "an array of tables ([[%s]])" % key, [])
        if len(values) < at_least:
            self.fail(key, "needs at least one [[%s]]" % key)
        for i, value in enumerate(values, 1):
            if not isinstance(value, dict):
                self.fail("%s[%d]" % (key, i), "must be a table, not %r" % (value,))
        return [Table(self._fail, "%s[%d]" % (self.at(key), i), value) for i, value in enumerate(values, 1)]
