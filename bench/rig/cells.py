# SPDX-License-Identifier: Apache-2.0
"""What each kind of cell needs from the machine, and the configuration that makes one server of it."""
import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Dict, Optional, Tuple

from harness.httpd import has_module, moduledir

from .experiment import Cell, Servers


@dataclass(frozen=True)
class Kind:
    """pieces: files of conf/ to include; module: a peer's module in httpd's folder, and the Debian package
    that brings it."""
    pieces: Tuple[str, ...] = ()
    module: str = ""
    package: str = ""


KINDS: Dict[str, Kind] = {
    "c-handler": Kind(),
    "static": Kind(),
    "luapool": Kind(("luapool",)),
    "pypool": Kind(("pypool",)),
    "mod_lua": Kind(("mod_lua",), "lua", "apache2-bin"),
    "mod_python": Kind(("mod_python",), "python", "libapache2-mod-python"),
    "mod_wsgi": Kind(("mod_wsgi",), "wsgi", "libapache2-mod-wsgi-py3"),
}


def missing(cell: Cell) -> Optional[str]:
    """Why the cell cannot run on this machine, in words; None when it can. The Python that runs this is the one
    that mod_pypool was built with."""
    kind = KINDS[cell.kind]
    if kind.module and not has_module(kind.module):
        return "mod_%s.so is not installed (Debian: apt-get install %s)" % (kind.module, kind.package)
    if cell.python and sys.version_info[:2] < tuple(map(int, cell.python.split("."))):
        return "it needs Python %s or later, this is %d.%d" % (cell.python, *sys.version_info[:2])
    if cell.kind in ("luapool", "pypool"):
        file = Path(moduledir(), "mod_%s.so" % cell.kind)
        if not file.exists():
            return "%s is not there: run make first" % file
    if cell.kind == "c-handler" and not c_handler().exists():
        return "%s is not there: run make bench, which builds it" % c_handler()
    return None


def c_handler() -> Path:
    """The module with the C handlers, built for measurements (environment INTERPOOL_C_HANDLER)."""
    return Path(os.environ.get("INTERPOOL_C_HANDLER", "bench/.libs/mod_benchhandler.so")).absolute()


def configuration(cell: Cell, servers: Servers) -> str:
    """The lines that follow conf/'s pieces in the cell's httpd.conf."""
    lines = ["ListenBacklog %d" % servers.backlog]
    if cell.kind == "c-handler":
        lines.append('LoadModule benchhandler_module "%s"' % c_handler())
    return "\n".join(lines) + "\n" + cell.conf.strip() + "\n"
