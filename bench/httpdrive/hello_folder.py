# SPDX-License-Identifier: Apache-2.0
"""What the private servers of the driver's measurements serve."""
import contextlib
import os
import tempfile
from pathlib import Path

BODY = b"Hello World!"


@contextlib.contextmanager
def hello_folder(purpose):
    """A temporary folder for what a measurement needs, and one in it with the file hello.txt, which holds BODY; servers
    may read both. `purpose` becomes a part of the name."""
    with tempfile.TemporaryDirectory(prefix=f"interpool-{purpose}-") as name:
        os.chmod(name, 0o755)
        folder = Path(name)
        docroot = folder / "files"
        docroot.mkdir()
        (docroot / "hello.txt").write_bytes(BODY)
        yield folder, docroot
