"""The types of what goes in and comes out, the same on both backends."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from typing_extensions import Buffer

Text: TypeAlias = "str | Buffer"
Special: TypeAlias = Literal["parse", "text", "error"] | Iterable[str]
Errors: TypeAlias = Literal["strict", "replace"]
Ids: TypeAlias = "Iterable[int] | Buffer"
TokenArray: TypeAlias = NDArray[np.uint16] | NDArray[np.uint32]
