"""What comes next in a file, as much as is wanted of it.

A reader looks at a window, decides where its batch ends, and takes that much. The window at an offset is the same whether the
file was read from its beginning or from there, so the batches are as well. Holds the window and, while it moves on, what is
left of the one before.
"""

from ..documents import Source
from ..opening import Content

BOM = b"\xef\xbb\xbf"


class Windows:
    def __init__(self, source: Source, seek: int = 0) -> None:
        self.content = Content(source, seek)
        self.seek = seek
        """Where the window begins."""
        self.buffer = bytearray()
        self.begin = self.end = 0
        """The part of the buffer that was read and not taken."""
        self.ended = False

    def look(self, size: int) -> tuple[memoryview, bool]:
        """The next `size` bytes, and whether nothing comes after them: the file ends, or breaks off (see `broken`)."""
        held = self.end - self.begin
        if held <= size and not self.ended:
            buffer = bytearray(size + 1)  # one more tells if this is the end
            view = memoryview(buffer)
            view[:held] = memoryview(self.buffer)[self.begin : self.end]
            held += self.content.fill(view[held:])
            self.ended = held <= size
            self.buffer, self.begin, self.end = buffer, 0, held
        return memoryview(self.buffer)[self.begin : self.begin + min(size, held)], self.ended and held <= size

    def take(self, size: int) -> None:
        self.begin += size
        self.seek += size

    def after_last(self, mark: bytes, size: int) -> int:
        """Where the last `mark` of the next `size` bytes ends, 0 if there is none."""
        found = self.buffer.rfind(mark, self.begin, min(self.begin + size, self.end))
        return 0 if found < 0 else found + len(mark) - self.begin

    def find(self, mark: bytes) -> int:
        """Where the first `mark` of what was looked at begins, -1 if there is none."""
        found = self.buffer.find(mark, self.begin, self.end)
        return found if found < 0 else found - self.begin

    @property
    def broken(self) -> bool:
        return self.content.failure is not None

    def check(self) -> None:
        """Raises what kept the file from being read to its end."""
        if self.content.failure is not None:
            raise self.content.failure

    def close(self) -> None:
        self.content.close()
