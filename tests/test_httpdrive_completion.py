# SPDX-License-Identifier: Apache-2.0
"""The completion script that is installed, asked as bash asks it."""
import re
import shutil
import subprocess

import pytest

from test_httpdrive import DRIVER, text

SCRIPT = DRIVER.parent.parent / "share/bash-completion/completions/httpdrive"
pytestmark = pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")

ASK = """
compopt() { :; }      # works within a completion only
source "$1"; shift
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1))
$(complete -p httpdrive | sed 's/.*-F \\([^ ]*\\) .*/\\1/')
printf '%s\\n' "${COMPREPLY[@]}"
"""


def complete(*words, folder=None):
    """What is offered for the last word."""
    done = subprocess.run(["bash", "-uc", ASK, "ask", SCRIPT.absolute(), "httpdrive", *words],
                          capture_output=True, text=True, cwd=folder, timeout=30)
    assert done.returncode == 0 and not done.stderr, done.stderr
    return set(done.stdout.split("\n")) - {""}


def options():
    """(letter or None, long name or None, argument or None) of each line of --help."""
    found = re.findall(r"^  (?:(-\w)(?:, )?|    )(--[\w.-]+)?(?: ('[^']*'|[^ ]+))?(?:  +|$)", text("--help"), re.MULTILINE)
    assert len(found) > 50
    return [tuple(part or None for part in option) for option in found]


def test_all_options_are_offered():
    offered = complete("-")
    assert offered == {name or letter for letter, name, _ in options()}
    assert complete("--tls-r") == {"--tls-resume"}


def test_values_are_offered_where_they_can_be_known(tmp_path):
    (tmp_path / "a file").touch()
    for letter, name, argument in options():
        for option in filter(None, (letter, name)):
            offered = complete(option, "", folder=tmp_path)
            if argument is None:
                assert offered <= {"compare", "merge"}, option
                continue
            words = {word for word in argument.split("|") if word.islower() and word.isalpha()}
            files = {"a file"} if {"FILE", "PATH"} & set(argument.split("|")) else set()
            assert offered == words | files, option
    assert complete("--json", "=", folder=tmp_path) == complete("--json", "=", "a", folder=tmp_path) == {"a file"}


def test_commands_and_their_files(tmp_path):
    (tmp_path / "one.json").touch()
    assert complete("") == {"compare", "merge"} and complete("me") == {"merge"}
    assert complete("merge", "--json", "all.json", "o", folder=tmp_path) == {"one.json"}
    assert complete("compare", "A", "=", "o", folder=tmp_path) == {"one.json"}
    assert complete("http://localhost/", "") == set()
