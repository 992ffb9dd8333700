# SPDX-License-Identifier: Apache-2.0
"""Results on disk: one JSON file with everything, and the page drawn from it."""
import json
from pathlib import Path
from typing import Any, Dict

from . import page
from .analysis import FORMAT, Report, ResultError


def target(asked: str, result: Dict[str, Any]) -> Path:
    """Where a result goes: asked itself when it names a .json file, else a new name in that folder."""
    path = Path(asked)
    if path.suffix == ".json":
        return path
    stamp = result["started"][:19].replace("-", "").replace(":", "").replace("T", "-")
    return path / ("%s-%s.json" % (result["experiment"]["name"], stamp))


def store(path: Path, result: Dict[str, Any]):
    """Writes the JSON. Raises OSError."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(result, ensure_ascii=False, separators=(",", ":")) + "\n", encoding="utf-8")


def draw(path: Path, result: Dict[str, Any], report: Report) -> Path:
    """Writes the page of the result stored in path beside it and returns its path. Raises OSError."""
    html = path.with_suffix(".html")
    html.write_text(page.html(report, result), encoding="utf-8")
    return html


def read(path: Path) -> Dict[str, Any]:
    """A stored result. Raises ResultError naming the file when it cannot be read as one."""
    try:
        result = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise ResultError("%s: %s" % (path, error)) from None
    if not isinstance(result, dict) or result.get("format") != FORMAT:
        raise ResultError("%s is not a result of this program (format %r)" % (path, FORMAT))
    return result
