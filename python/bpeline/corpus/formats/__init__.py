"""The formats of a tokenized corpus, by name. What each writes, byte for byte, is said in its file."""

from . import datatrove, llmc, megatron, nanogpt, npy, table
from .layout import Layout, Names

FORMATS: dict[str, Layout] = {
    "nanogpt": nanogpt.NanoGPT(),
    "llmc": llmc.LLMC(),
    "megatron": megatron.Megatron(),
    "datatrove": datatrove.Datatrove(),
    "npy": npy.Npy(),
    "parquet": table.Parquet(),
    "arrow": table.Arrow(),
}

__all__ = ["FORMATS", "Layout", "Names"]
