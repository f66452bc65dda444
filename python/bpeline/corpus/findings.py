"""What is worth knowing of an output, in sentences: the same on a terminal and on a page."""

from .inspect import DENSE, SHORT, Statistics


def findings(found: Statistics) -> list[str]:
    """Sentences about documents and tokens, the weightiest first."""
    said, documents = [], found.documents
    if found.duplicates:
        about = "" if found.hashes_kept == 1 else "about "
        share = f"{found.duplicates / documents:.1%}"
        said.append(f"Repeated documents: {about}{found.duplicates:,} ({share}), word for word as an earlier one.")
    if found.broken:
        share = f"{found.broken / documents:.2%}"
        said.append(f"Documents with U+FFFD, the mark of a text read in a wrong encoding: {found.broken:,} ({share}).")
    if marks := sum(times for _, times in found.suspicious(len(found.counts))):
        share = f"{marks / found.tokens:.4%}"
        said.append(f"Tokens that look like UTF-8 read as something else (Ã, â€, U+FFFD): {marks:,} ({share}).")
    if found.empty or found.short:
        said.append(f"Empty documents: {found.empty:,}; others of at most {SHORT} tokens: {found.short:,}.")
    if found.dense:
        share = f"{found.dense / documents:.1%}"
        said.append(
            f"Documents of less than {DENSE:.0f} bytes a token: {found.dense:,} ({share}); they are data, noise, or in a language that "
            "the encoding was not made for."
        )
    if documents:
        top, part = share_of_longest(found)
        said.append(f"The longest {top:,} of {documents:,} documents have {part:.0%} of all tokens.")
    if found.tokens:
        unused, known = len(found.never_used()), len(found.counts)
        said.append(f"{unused:,} of {known:,} ids ({unused / known:.0%}) are never used.")
        most = sum(times for _, times in found.most_frequent(100))
        said.append(f"The 100 most frequent tokens are {most / found.tokens:.0%} of all.")
    shares = found.shares()
    if len(shares) > 1 and found.tokens and shares[0][2] > found.tokens / 2:
        said.append(f"{shares[0][0]} alone has {shares[0][2] / found.tokens:.0%} of all tokens.")
    return said


def share_of_longest(found: Statistics) -> tuple[int, float]:
    """How many documents the longest hundredth is, at least one, and the share of the tokens that they have."""
    import numpy as np

    from .inspect import edge

    top = max(1, found.documents // 100)
    sizes = edge(np.arange(len(found.lengths)))
    behind = np.cumsum(found.lengths[::-1])[::-1]
    whole = behind <= top
    held = int((found.lengths * sizes)[whole].sum())
    rest = top - int(found.lengths[whole].sum())
    if rest and (~whole).any():
        held += rest * int(sizes[np.flatnonzero(~whole)[-1]])
    return top, min(held / max(found.tokens, 1), 1.0)
