"""Access to the parts of a JSON object whose shape is not known yet, with errors that say where it is wrong."""

from collections.abc import Iterable
from typing import Any, NoReturn

from ..errors import EncodingFileError

_KINDS = {str: "a text", int: "an integer", bool: "true or false", list: "a list", dict: "an object"}


class Section:
    """A JSON object, and where in its file it is."""

    def __init__(self, where: str, content: Any) -> None:
        self.where = where
        if not isinstance(content, dict):
            raise EncodingFileError(f"{where}: expected an object, found {shown(content)}")
        self.content: dict[str, Any] = content

    def get(self, key: str, kind: type, default: Any = None) -> Any:
        """The value of `key`, which is of this kind; where it is missing or null the default, if there is one."""
        value = self.content.get(key)
        if value is None and default is not None:
            return default
        # A bool is an int to Python.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            self.fail(f'expected {_KINDS[kind]} as "{key}", found {shown(value)}')
        return value

    def choice(self, key: str, choices: Iterable[str], default: str | None = None) -> str:
        value: str = self.get(key, str, default)
        if value not in choices:
            self.fail(f'"{key}" is "{value}", expected one of {", ".join(choices)}')
        return value

    def section(self, key: str) -> "Section":
        return Section(f"{self.where}: {key}", self.content.get(key))

    def sections(self, key: str) -> "list[Section]":
        return [Section(f"{self.where}: {key} {i}", item) for i, item in enumerate(self.get(key, list))]

    def fail(self, message: str) -> NoReturn:
        raise EncodingFileError(f"{self.where}: {message}")

    def refuse(self, message: str) -> NoReturn:
        """For what tokenizers knows and bpeline does not."""
        raise EncodingFileError(f"{self.where}: not supported: {message}")


def shown(value: Any) -> str:
    """A JSON value in a message."""
    if isinstance(value, dict | list):
        return "an object" if isinstance(value, dict) else "a list"
    if isinstance(value, str):
        return f'"{value[:40]}{"…" if len(value) > 40 else ""}"'
    if value is None:
        return "nothing"
    # A bool is an int to Python: 1 would be found as True in a table of them.
    return str(value).lower() if isinstance(value, bool) else str(value)[:40]
