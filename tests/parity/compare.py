"""Encode the samples with everybody, count where they differ, and lay the counts out as a table."""

import itertools
import sys
import time
from collections import Counter
from dataclasses import dataclass, field

from tests.parity import samples, witnesses

PEERS = ("tiktoken", "tokenizers")
BLOCK = 5_000


@dataclass
class Report:
    """What a run found. `mismatches` counts samples by (backend, kind); none is allowed."""

    vocab_size: dict = field(default_factory=dict)
    encoded: Counter = field(default_factory=Counter)  # samples by backend
    decoded: Counter = field(default_factory=Counter)
    mismatches: Counter = field(default_factory=Counter)
    peers_disagree: int = 0
    literal_disagrees: int = 0
    literal_is_ours: int = 0  # of those: samples on which one of ours differs from a peer
    examples: list = field(default_factory=list)
    notes: list = field(default_factory=list)
    seconds: float = 0.0

    def miss(self, backend, kind, sample, ours, theirs):
        self.mismatches[backend, kind] += 1
        if len(self.examples) < 20:
            self.examples.append(f"{backend}, {kind}: {ascii(sample)[:200]}: {str(ours)[:200]} not {str(theirs)[:200]}")

    @property
    def total(self):
        return self.mismatches.total()


class Comparison:
    """backends: {name: tokenizer class}; folder: where `save` may write the file pair."""

    def __init__(self, backends, folder):
        self.ours = {name: witnesses.Ours(cls) for name, cls in backends.items()}
        next(iter(self.ours.values())).tok.save(folder)
        self.peers = {"tiktoken": witnesses.Tiktoken(folder), "tokenizers": witnesses.Tokenizers(folder)}
        self.literal = witnesses.Literal(folder)
        self.report = Report()
        self.report.vocab_size = {name: who.vocab_size for name, who in {**self.ours, **self.peers}.items()}

    def encode(self, texts, share=None):
        """Compare on all texts; `share` = {backend: stride} lets a slow backend take a part."""
        blocks = iter(texts)
        while block := list(itertools.islice(blocks, BLOCK)):
            self.encode_block(block, share or {})

    def encode_block(self, block, share):
        report = self.report
        theirs = {name: peer.encode(block) for name, peer in self.peers.items()}
        literal = self.literal.encode(block)
        suspect = set()  # samples on which one of ours differs from a peer
        for name, our in self.ours.items():
            stride = share.get(name, 1)
            part, ids = block[::stride], our.encode(block[::stride])
            report.encoded[name] += len(part)
            for peer in PEERS:
                for i in differences(ids, theirs[peer][::stride]):
                    suspect.add(i * stride)
                    report.miss(name, f"encode, {peer}", part[i], ids[i], theirs[peer][i * stride])
            for i in differences(our.tok.count_batch(part, threads=1).tolist(), list(map(len, ids))):
                report.miss(name, "count", part[i], "count", len(ids[i]))
            for i in differences(our.decode(ids), list(map(str.encode, part))):
                report.miss(name, "round trip", part[i], our.decode([ids[i]])[0], "itself")
        report.peers_disagree += len(differences(*theirs.values()))
        for i in differences(literal, theirs["tiktoken"]):
            report.literal_disagrees += 1
            report.literal_is_ours += i in suspect

    def decode(self, batch):
        batch = list(batch)
        for how in ("decode", "decode_text"):
            theirs = {name: getattr(peer, how)(batch) for name, peer in self.peers.items()}
            self.report.peers_disagree += len(differences(*theirs.values()))
            for name, our in self.ours.items():
                results = getattr(our, how)(batch)
                for peer in PEERS:
                    for i in differences(results, theirs[peer]):
                        self.report.miss(name, f"{how}, {peer}", batch[i], results[i], theirs[peer][i])
        for name in self.ours:
            self.report.decoded[name] += len(batch)


def differences(one, other):
    """The positions at which two lists of one length differ."""
    assert len(one) == len(other)
    return [] if one == other else [i for i, (a, b) in enumerate(zip(one, other, strict=True)) if a != b]


def fair_share(comparison, name, count, seconds):
    """A stride with which backend `name` encodes `count` samples in about `seconds`."""
    trial = list(itertools.islice(samples.in_contexts(samples.scalars(stride=997)), 2_000))
    start = time.perf_counter()
    our = comparison.ours[name]
    our.decode(our.encode(trial))
    our.tok.count_batch(trial, threads=1)
    stride = -(-int((time.perf_counter() - start) / len(trial) * count) // seconds) or 1
    return stride + (stride % len(samples.CONTEXTS) == 0)  # a multiple of five would see one context only


def run(backends, folder, full=False, progress=False):
    """The whole comparison; `make parity`, or with `full` `make parity-full`."""
    comparison = Comparison(backends, folder)
    report, start, share = comparison.report, time.perf_counter(), {}
    comparison.encode(samples.usual())
    comparison.decode(samples.id_sequences())
    if full:
        if "reference" in backends:
            share = {"reference": fair_share(comparison, "reference", samples.FULL_COUNT, 180)}
        if share.get("reference", 1) > 1:
            report.notes.append(
                f"the reference takes every {share['reference']}th sample of the sweep over all scalar values"
            )
        blocks, done = samples.in_contexts(samples.scalars()), 0
        while block := list(itertools.islice(blocks, BLOCK)):
            comparison.encode_block(block, share)
            done += len(block)
            if progress and done % (BLOCK * 20) == 0:
                elapsed = time.perf_counter() - start
                print(
                    f"{done:>9,} of {samples.FULL_COUNT:,}, {elapsed:.0f} s, {report.total} mismatches", file=sys.stderr
                )
    report.seconds = time.perf_counter() - start
    return report


def table(report):
    """The report as lines of text."""
    names = list(report.encoded)
    kinds = [f"{how}, {peer}" for how in ("encode", "decode", "decode_text") for peer in PEERS] + [
        "count",
        "round trip",
    ]
    rows = [("", *names)]
    rows.append(("vocabulary size", *(f"{report.vocab_size[name]:,}" for name in names)))
    rows.append(("encode samples", *(f"{report.encoded[name]:,}" for name in names)))
    rows.append(("decode samples", *(f"{report.decoded[name]:,}" for name in names)))
    rows += [(f"mismatches: {kind}", *(str(report.mismatches[name, kind]) for name in names)) for kind in kinds]
    width = max(len(row[0]) for row in rows)
    lines = ["  ".join([row[0].ljust(width), *(cell.rjust(12) for cell in row[1:])]).rstrip() for row in rows]
    peers = ", ".join(f"{name} {report.vocab_size[name]:,}" for name in PEERS)
    lines.append(f"vocabulary size of the others: {peers}")
    lines.append(f"samples on which tiktoken and tokenizers disagree: {report.peers_disagree:,}")
    lines.append(
        f"samples on which the literal pattern under regex disagrees with them: {report.literal_disagrees:,}"
        f" (newer Unicode tables), of which ours: {report.literal_is_ours}"
    )
    lines += report.notes
    lines.append("versions: " + ", ".join(f"{name} {version}" for name, version in witnesses.versions().items()))
    lines.append(f"{report.total} mismatches in {report.seconds:.0f} s")
    return "\n".join([*lines, *report.examples])
