"""What every reader of a text file does first."""

from ..errors import EncodingFileError


def read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def text(path: str, data: bytes) -> str:
    """The text of a file, without a byte-order mark."""
    if data.startswith(b"version https://git-lfs"):
        raise EncodingFileError(f"{path}: a git-lfs pointer, not the file itself: fetch it with `git lfs pull`")
    try:
        return data.decode("utf-8").removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        byte = data[error.start]
        raise EncodingFileError(f"{path}: not UTF-8: byte 0x{byte:02x} at offset {error.start}") from None
