"""What comes next in a file, as much as is wanted of it.

A reader looks at a window, decides where its batch ends, and takes that much. The window at an offset is the same whether the
file was read from its beginning or from there, so the batches are as well. Holds the window and, while it moves on, what is
left of the one before.
"""

import numpy as np

from ..documents import Source
from ..opening import Content

BOM = b"\xef\xbb\xbf"


class Windows:
    def __init__(self, source: Source, seek: int = 0) -> None:
        self.content = Content(source, seek)
        self.seek = seek
        """Where the window begins."""
        self.buffer = memoryview(b"")
        self.begin = self.end = 0
        """The part of the buffer that was read and not taken."""
        self.ended = False

    def look(self, size: int) -> tuple[memoryview, bool]:
        """The next `size` bytes, and whether nothing comes after them: the file ends, or breaks off (see `broken`)."""
        held = self.end - self.begin
        if held <= size and not self.ended:
            # One more tells if this is the end. The memory is touched as far as it is read to: files may be small and many.
            buffer = np.empty(size + 1, np.uint8).data
            buffer[:held] = self.buffer[self.begin : self.end]
            held += self.content.fill(buffer[held:])
            self.ended = held <= size
            self.buffer, self.begin, self.end = buffer, 0, held
        return self.buffer[self.begin : self.begin + min(size, held)], self.ended and held <= size

    def take(self, size: int) -> None:
        self.begin += size
        self.seek += size

    @property
    def broken(self) -> bool:
        return self.content.failure is not None

    def check(self) -> None:
        """Raises what kept the file from being read to its end."""
        if self.content.failure is not None:
            raise self.content.failure

    def close(self) -> None:
        self.content.close()


def after_last(mark: bytes, window: memoryview) -> int:
    """Where the last `mark`, a byte, ends; 0 if there is none."""
    size = 1 << 12
    while True:
        begin = max(len(window) - size, 0)
        found = bytes(window[begin:]).rfind(mark)
        if found >= 0 or begin == 0:
            return 0 if found < 0 else begin + found + 1
        size *= 16
