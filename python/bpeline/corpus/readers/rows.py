"""Documents from values of JSON: checks each and says what is wrong with it."""

import json
from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from ..documents import Problem, ReadOptions, Source
from ..opening import Unusable

KINDS = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", int: "a number", float: "a number"}


def number(digits: str) -> int | float:
    """As pyarrow's parser, takes a number that is longer than Python turns into an `int`."""
    return int(digits) if len(digits) < 4000 else float(digits)


DECODER = json.JSONDecoder(parse_int=number)


def parsed(line: bytes) -> Any:
    """The value of a line of JSON. As json.loads, it takes NaN, and the last of two fields of one name.

    Bytes that are no UTF-8 become surrogates: they matter in the document only, as they do to pyarrow's parser.
    """
    try:
        return DECODER.decode(line.decode("utf-8", "surrogateescape"))
    except json.JSONDecodeError as error:
        raise Unusable(f"not valid JSON: {lowered(error.msg)} at column {error.colno}") from None
    except RecursionError:
        raise Unusable("not readable JSON: nested too deeply") from None


def lowered(message: str) -> str:
    """The beginning of a library's message, to go on with."""
    message = message.removesuffix(" at")
    return message[:1].lower() + message[1:] if message[1:2].islower() else message


def text_of(value: Any, options: ReadOptions) -> str:
    """The document in a parsed line or element."""
    column = options.column
    if not isinstance(value, dict):
        raise Unusable(f"expected an object with the field {column!r}, found {named(value)}")
    if column not in value:
        fields = ", ".join(repr(field) for field in list(value)[:20]) or "none"
        raise Unusable(f"no field {column!r}; the fields are: {fields}")
    text = value[column]
    if not isinstance(text, str):
        raise Unusable(f"expected a string in the field {column!r}, found {named(text)}")
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise Unusable(f"the field {column!r} holds {fault(text[error.start])} at character {error.start}") from None
    return text


def named(value: Any) -> str:
    return "null" if value is None else KINDS[type(value)]


def fault(character: str) -> str:
    code = ord(character)
    if 0xDC80 <= code <= 0xDCFF:  # how "surrogateescape" keeps a byte; an escape of that value is as wrong
        return f"invalid UTF-8 (0x{code - 0xDC00:02X})"
    return f"a lone surrogate (\\u{code:04x})"


class Rows:
    """Documents and their kept fields, as they are found, and what was left out."""

    def __init__(self, source: Source, schema: pa.Schema) -> None:
        self.source = source
        self.schema = schema
        self.texts: list[str] = []
        self.kept: list[dict[str, Any]] = []
        self.problems: list[Problem] = []

    def add(self, value: Any) -> None:
        self.texts.append(text_of(value, self.source.options))
        if len(self.schema):
            fields = {name: value.get(name) for name in self.schema.names}
            try:
                for field in self.schema:
                    one(fields[field.name], field)
            except Unusable:
                self.texts.pop()
                raise
            self.kept.append(fields)

    def leave_out(self, bad: Unusable, line: int | None) -> None:
        if self.source.options.on_error != "skip":
            raise Unusable(bad.message, line)
        self.problems.append(Problem(self.source.url, bad.message, line))

    def arrays(self) -> tuple[pa.Array, pa.RecordBatch | None]:
        texts = pa.array(self.texts, pa.large_string())
        return texts, pa.RecordBatch.from_pylist(self.kept, self.schema) if self.kept else None


def one(value: Any, field: pa.Field) -> None:
    """Checks that a kept value fits the type of its column."""
    try:
        pa.array([value], field.type)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError):
        told = repr(value) if len(repr(value)) < 50 else named(value)
        raise Unusable(f"expected {field.type} in the kept field {field.name!r}, found {told}") from None


def kept_schema(values: Sequence[Any], options: ReadOptions) -> pa.Schema:
    """The types of the kept fields, by what the first documents hold. Strings stay strings, whatever they look like."""
    fields = []
    for name in options.keep:
        found = [value.get(name) for value in values if isinstance(value, dict)]
        try:
            kind = pa.array(found).type
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeEncodeError) as error:
            raise Unusable(f"the kept field {name!r} has no one type: {lowered(str(error))}") from None
        fields.append(pa.field(name, without_nulls(kind)))
    return storable(pa.schema(fields))


def storable(schema: pa.Schema) -> pa.Schema:
    """The same schema. Arrow writes nothing that is nested deeper than 64 times."""
    try:
        pa.RecordBatch.from_pylist([], schema).serialize()
    except pa.ArrowInvalid:
        raise Unusable(f"a kept field is nested too deeply to be written: {', '.join(schema.names)}") from None
    return schema


def without_nulls(kind: pa.DataType) -> pa.DataType:
    """A type with that of strings where only null was seen."""
    if pa.types.is_null(kind):
        return pa.string()
    if pa.types.is_list(kind):
        return pa.list_(without_nulls(kind.value_type))
    if pa.types.is_struct(kind):
        return pa.struct([pa.field(field.name, without_nulls(field.type)) for field in kind])
    return kind
