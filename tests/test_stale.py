# SPDX-License-Identifier: Apache-2.0
"""A request object, or a part of it, that is used after its request: an error, and nobody else's response."""
import pytest

from harness.httpd import Sizes

PARTS = {"lua": {"read", "write", "puts", "method", "body", "get", "set", "note", "table"},
         "python": {"read", "write", "puts", "method", "body", "get", "set", "note", "table", "flush", "log"}}


class TestStale:
    SIZES = Sizes(threads=2, prefork=1)
    CONF = """
    <IfModule luapool_module>
        LuaScope server 1 1
    </IfModule>
    """

    @pytest.mark.parametrize("same_connection", [True, False], ids=["kept", "new"])
    def test_every_use_raises(self, site, server, same_connection):
        with site.connect() as c:
            assert c.get(site.path("/keep?keep")).text == "kept"
            if same_connection:
                answer = c.get(site.path("/keep?use"))
        if not same_connection:
            for _ in range(5):
                assert site.get("/hello").status == 200
            answer = site.get("/keep?use")
        assert answer.status == 200 and answer.get("X-Stale") is None
        *uses, own = answer.text.splitlines()
        assert own == "own: " + site.path("/keep")
        found = dict(line.split(": ", 1) for line in uses)
        assert set(found) == PARTS[site.lang]
        assert "worked" not in found.values(), found
        assert all("request" in message for message in found.values()), found
