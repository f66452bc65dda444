//! Criterion benches of the stages: `make bench-rust`, one group with `make bench-rust ARGS=pieces`.
//!
//! The texts are the `.txt` files of the folder that `BPELINE_BENCH_TEXTS` names (`make` has `benches/corpus.py`
//! write them), else those of `tests/data`; 2 MB of each. Merging is timed on pieces of one length, everything
//! else on whole texts. A bench asserts its result before it times.

#![allow(clippy::unwrap_used)]

use std::hint::black_box;
use std::path::PathBuf;
use std::sync::Arc;

use bpeline::decode::Decoder;
use bpeline::encoding::builtin;
use bpeline::interrupt::Never;
use bpeline::merge::Merger;
use bpeline::pretokenize::instructions::Instructions;
use bpeline::pretokenize::rules::Gpt2;
use bpeline::pretokenize::scanner::Scanner;
use bpeline::pretokenize::{Boundaries, Pattern, names};
use bpeline::sink::Count;
use bpeline::special::Special;
use bpeline::{Encoder, Encoding};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const TEXT_BYTES: usize = 2_000_000;
const PIECES: usize = 500;

/// A pattern that has no scanner: words with marks, two digits at most.
const OTHER: &str = r"[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}{1,2}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Names and texts.
fn texts() -> Vec<(String, String)> {
    let given = std::env::var_os("BPELINE_BENCH_TEXTS").map(PathBuf::from);
    let folder = given.unwrap_or_else(|| concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data").into());
    let paths = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    let mut paths: Vec<PathBuf> = paths.filter(|path| path.extension().is_some_and(|end| end == "txt")).collect();
    paths.sort();
    let read = |path: PathBuf| {
        let mut text = std::fs::read_to_string(&path).unwrap();
        let end = (0..=TEXT_BYTES.min(text.len())).rev().find(|&at| text.is_char_boundary(at));
        text.truncate(end.unwrap_or_default());
        (path.file_stem().unwrap().to_string_lossy().into_owned(), text)
    };
    paths.into_iter().map(read).collect()
}

fn gpt2() -> Arc<Encoding> {
    builtin::load("gpt2").unwrap().into()
}

fn encode(encoder: &Encoder, text: &str) -> Vec<u16> {
    let mut ids = Vec::new();
    encoder.session().encode(text, &Special::Parse, &mut ids, &Never).unwrap();
    ids
}

fn count(encoder: &Encoder, text: &str) -> usize {
    let mut tokens = Count::default();
    encoder.session().encode(text, &Special::Parse, &mut tokens, &Never).unwrap();
    tokens.0
}

fn decoded(decoder: &Decoder, encoding: &Encoding, ids: &[u32]) -> Vec<u8> {
    let mut bytes = Vec::new();
    decoder.decode(encoding.vocabulary(), ids, false, &mut bytes).unwrap();
    bytes
}

fn merge<'m>(encoding: &Encoding, merger: &'m mut Merger, piece: &str) -> &'m [u32] {
    merger.merge(encoding.pairs(), piece.as_bytes(), &Never).unwrap()
}

fn special_tokens(text: &str, encoding: &Encoding) -> usize {
    let mut segments = 0;
    let visit = |_| {
        segments += 1;
        Ok(())
    };
    encoding.special_tokens().cut(text, &Special::Parse, &Never, visit).unwrap();
    segments
}

fn pieces(text: &str, by: Instructions) -> usize {
    let (mut pieces, mut scanner, mut boundaries) = (0, Scanner::<Gpt2>::new(text, 0), Boundaries::default());
    while scanner.next_by(by, &mut boundaries) {
        pieces += black_box(&boundaries).count();
    }
    pieces
}

/// Each stage, and the whole, over each text.
fn stages(c: &mut Criterion) {
    let encoding = gpt2();
    let decoder = Decoder::new(encoding.vocabulary());
    let warm = Encoder::new(encoding.clone(), None);
    let without_cache = Encoder::new(encoding.clone(), Some(0));
    for (name, text) in &texts() {
        let ids = encode(&warm, text);
        let wide: Vec<u32> = ids.iter().map(|&id| id.into()).collect();
        assert_eq!(decoded(&decoder, &encoding, &wide), text.as_bytes());
        assert_eq!(encode(&without_cache, text), ids);
        assert_eq!(count(&warm, text), ids.len());

        let mut bench = |stage: &str, run: &mut dyn FnMut() -> usize| {
            let mut group = c.benchmark_group(stage);
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(BenchmarkId::from_parameter(name), |bencher| bencher.iter(&mut *run));
            group.finish();
        };
        bench("special tokens", &mut || special_tokens(text, &encoding));
        for by in Instructions::all() {
            assert_eq!(pieces(text, by), pieces(text, Instructions::best()));
            bench(&format!("pieces, {:?}", by.kind()), &mut || pieces(text, by));
        }
        bench("encode, warm", &mut || encode(&warm, text).len());
        bench("encode, no cache", &mut || encode(&without_cache, text).len());
        bench("count, warm", &mut || count(&warm, text));
        bench("decode", &mut || decoded(&decoder, &encoding, &wide).len());
    }
}

/// The pieces of each family, and those of a pattern that has no scanner.
fn patterns(c: &mut Criterion) {
    let count = |pattern: &Pattern, text: &str| {
        let (mut pieces, mut batches, mut boundaries) = (0, pattern.batches(text, 0), Boundaries::default());
        while batches.next(&mut boundaries).unwrap() {
            pieces += black_box(&boundaries).count();
        }
        pieces
    };
    let families = names::PATTERNS.into_iter().filter(|(name, _)| !["r50k", "p50k"].contains(name));
    for (name, expression) in families.chain([("other", OTHER)]) {
        let pattern = Pattern::new(expression).unwrap();
        let mut group = c.benchmark_group(format!("pieces of {name}"));
        for (text_name, text) in &texts() {
            let mut bytes = 0;
            let visit = |piece: &str| {
                bytes += piece.len();
                Ok(())
            };
            pattern.pieces(text, visit).unwrap();
            assert_eq!(bytes, text.len());
            group.throughput(Throughput::Bytes(text.len() as u64));
            group.bench_function(BenchmarkId::from_parameter(text_name), |bencher| {
                bencher.iter(|| count(&pattern, text));
            });
        }
        group.finish();
    }
}

/// Pieces of one length: the letters of a novel without what lies between its words.
fn merging(c: &mut Criterion) {
    let encoding = gpt2();
    let mut merger = Merger::default();
    let novel = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/pride_and_prejudice.txt"));
    let letters: String = novel.unwrap().chars().filter(char::is_ascii_alphabetic).collect();
    let mut group = c.benchmark_group("merge a piece, bytes");
    for length in [4, 8, 16, 32, 64, 128, 1024] {
        let pieces: Vec<&str> = (0..PIECES).map(|at| &letters[at * 97..][..length]).collect();
        for piece in &pieces {
            let ids = merge(&encoding, &mut merger, piece);
            assert_eq!(decoded(&Decoder::new(encoding.vocabulary()), &encoding, ids), piece.as_bytes());
        }
        group.throughput(Throughput::Elements(PIECES as u64));
        group.bench_function(BenchmarkId::from_parameter(length), |bencher| {
            bencher.iter(|| {
                for piece in &pieces {
                    black_box(merge(&encoding, &mut merger, piece));
                }
            });
        });
    }
    group.finish();
}

/// The built-in encoding, and the encoder with its tables.
fn load(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    assert_eq!(encode(&Encoder::new(gpt2(), None), "hello world"), [31373, 995]);
    group.bench_function("encoding", |bencher| bencher.iter(gpt2));
    let encoding = gpt2();
    group.bench_function("encoder", |bencher| bencher.iter(|| Encoder::new(encoding.clone(), None)));
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default().sample_size(20);
    targets = stages, patterns, merging, load
}
criterion_main!(benches);
