# SPDX-License-Identifier: Apache-2.0
"""The one line that moves while a run goes on; on something that is not a terminal, a line a round."""
import shutil
import sys
import time
from typing import TextIO


class Progress:
    """Counts steps towards a total and tells how long the rest will take."""

    def __init__(self, total: int, stream: TextIO = sys.stderr, clock=time.monotonic):
        self.total, self.stream, self.clock = total, stream, clock
        self.live = stream.isatty()
        self.restart()

    def restart(self):
        """The first step begins now."""
        self.done, self.started = 0, self.clock()

    def say(self, text: str):
        """Replaces the live line; says nothing where lines cannot be replaced."""
        if self.live:
            width = shutil.get_terminal_size().columns - 1
            self.stream.write("\r\033[K" + text[:width])
            self.stream.flush()

    def step(self, text: str):
        """One more step is done."""
        self.done += 1
        self.say("%3d %%  %s  %s" % (100 * self.done // self.total, self._remaining(), text))

    def line(self, text: str):
        """A line that stays, for streams that keep them."""
        if not self.live:
            self.stream.write("%s, %s\n" % (text, self._remaining()))
            self.stream.flush()

    def end(self):
        """Clears the live line."""
        if self.live:
            self.stream.write("\r\033[K")
            self.stream.flush()

    def _remaining(self) -> str:
        if not self.done:
            return ""
        seconds = (self.clock() - self.started) / self.done * (self.total - self.done)
        return "%d:%02d to go" % divmod(round(seconds), 60)
