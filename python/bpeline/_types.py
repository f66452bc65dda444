"""The types of what goes in and comes out, the same on both backends."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray
    from typing_extensions import Buffer

Text: TypeAlias = "str | Buffer"
Special: TypeAlias = Literal["parse", "text", "error"] | Iterable[str]
Errors: TypeAlias = Literal["strict", "replace"]
Ids: TypeAlias = "Iterable[int] | Buffer"
TokenArray: TypeAlias = "NDArray[np.uint16] | NDArray[np.uint32]"


class ArrowArray(Protocol):
    """What gives its memory away as an Arrow array."""

    def __arrow_c_array__(self, requested_schema: Any = None) -> tuple[Any, Any]: ...


class ArrowStream(Protocol):
    """What gives its memory away as Arrow arrays one after the other."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any: ...


ArrowTexts: TypeAlias = ArrowArray | ArrowStream
