//! Writes the character classes of both backends: `rust/unicode_tables.rs` and
//! `python/bpeline/_reference/unicode_tables.py`.
//!
//! General categories, scripts and `\s` are read from regex-syntax, the parser inside fancy-regex, so that the
//! scanners, the general path (fancy-regex) and the reference agree on every character.
//!
//! ```sh
//! cargo run --example unicode-tables              # writes both files
//! cargo run --example unicode-tables -- --check   # exit code 1 if one of them is stale
//! ```
//!
//! For Rust the classes that the scanner's rules tell apart are a two-stage table, one load per stage and 256 bytes per
//! distinct page; for Python the categories and scripts are inclusive ranges, from which the reference builds its expressions.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use regex_syntax::hir::{Class, HirKind};

/// First and last code point, both inside.
pub type Range = (u32, u32);

/// What a class of the Rust table is called, its pattern, its number (0 is every other character).
pub const CLASSES: [(&str, &str, u8); 7] = [
    ("upper or title case", r"[\p{Lu}\p{Lt}]", 1),
    ("lower case", r"\p{Ll}", 2),
    ("letter without case", r"[\p{Lm}\p{Lo}]", 3),
    ("mark", r"\p{M}", 4),
    ("number", r"\p{N}", 5),
    ("whitespace", r"\s", 6),
    ("punctuation or symbol", r"[\p{P}\p{S}]", 7),
];

/// The characters that DeepSeek's pattern sets apart: their numbers have one bit more.
pub const APART: (&str, u8) = ("[一-龥぀-ゟ゠-ヿ]", 8);

/// The categories that the Python file has. `\p{C}` is not among them: nobody's pattern asks for it.
const CATEGORIES: [&str; 25] = [
    "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps", "Pe", "Pi", "Pf", "Po", "Sm",
    "Sc", "Sk", "So", "Zs", "Zl", "Zp",
];

/// The scripts that it has: those that patterns set apart.
const SCRIPTS: [&str; 10] =
    ["Arabic", "Common", "Cyrillic", "Greek", "Han", "Hangul", "Hiragana", "Katakana", "Latin", "Thai"];

const COMMAND: &str = "cargo run --example unicode-tables";
const PAGE: usize = 256;
const PAGES: usize = 0x11_0000 / PAGE;

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let check = match arguments.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
        [] => false,
        ["--check"] => true,
        _ => {
            eprintln!("usage: unicode-tables [--check]");
            return ExitCode::from(2);
        }
    };
    let result = if check { stale().and_then(report) } else { write() };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(message) => {
            eprintln!("unicode-tables: {message}");
            ExitCode::FAILURE
        }
    }
}

/// The committed files that are not what the generator would write now.
pub fn stale() -> Result<Vec<&'static str>, String> {
    let top = top()?;
    let committed = |path: &str| fs::read_to_string(top.join(path)).unwrap_or_default();
    Ok(files(&top)?.into_iter().filter(|(path, text)| committed(path) != *text).map(|(path, _)| path).collect())
}

fn report(stale: Vec<&str>) -> Result<(), String> {
    if stale.is_empty() {
        return Ok(());
    }
    Err(format!("stale: {} (run `{COMMAND}`)", stale.join(", ")))
}

fn write() -> Result<(), String> {
    let top = top()?;
    for (path, text) in files(&top)? {
        fs::write(top.join(path), text).map_err(|error| format!("{path}: {error}"))?;
        println!("wrote {path}");
    }
    Ok(())
}

fn files(top: &Path) -> Result<[(&'static str, String); 2], String> {
    let source = source(top)?;
    Ok([
        ("rust/unicode_tables.rs", rust_file(&source)?),
        ("python/bpeline/_reference/unicode_tables.py", python_file(&source)?),
    ])
}

/// The ranges of a class, in increasing order, with gaps between them.
pub fn class_ranges(pattern: &str) -> Result<Vec<Range>, String> {
    let tree = regex_syntax::parse(pattern).map_err(|error| error.to_string())?;
    match tree.kind() {
        HirKind::Class(Class::Unicode(class)) => {
            Ok(class.iter().map(|range| (range.start().into(), range.end().into())).collect())
        }
        // What a class of one character is simplified to.
        HirKind::Literal(literal) if std::str::from_utf8(&literal.0).is_ok_and(|text| text.chars().count() == 1) => {
            Ok(String::from_utf8_lossy(&literal.0).chars().map(|one| (one.into(), one.into())).collect())
        }
        other => Err(format!("{pattern} is {other:?}, expected a character class")),
    }
}

/// Which version of the engine the classes come from, and of Unicode.
fn source(top: &Path) -> Result<String, String> {
    let lock = fs::read_to_string(top.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    let versions: Vec<&str> = lock
        .split("[[package]]")
        .filter(|package| package.contains("name = \"regex-syntax\"\n"))
        .filter_map(|package| package.split("version = \"").nth(1)?.split('"').next())
        .collect();
    let [version] = versions[..] else {
        return Err(format!("Cargo.lock has {} versions of regex-syntax, expected one", versions.len()));
    };
    let unicode = (1..=40)
        .rev()
        .find(|age| regex_syntax::parse(&format!(r"\p{{Age={age}.0}}")).is_ok())
        .ok_or("regex-syntax knows no Unicode age")?;
    Ok(format!("regex-syntax {version} (Unicode {unicode}.0)"))
}

fn header(comment: &str, source: &str) -> String {
    [
        format!("Generated by `{COMMAND}`; do not edit."),
        format!("From {source}."),
        "Unicode character data: Copyright Unicode, Inc., Unicode License v3 (SPDX: Unicode-3.0).".to_owned(),
    ]
    .map(|line| format!("{comment} {line}\n"))
    .concat()
}

fn rust_file(source: &str) -> Result<String, String> {
    let mut classes = vec![0_u8; PAGE * PAGES];
    for (_, pattern, number) in CLASSES {
        for (first, last) in class_ranges(pattern)? {
            classes[first as usize..=last as usize].fill(number);
        }
    }
    for (first, last) in class_ranges(APART.0)? {
        classes[first as usize..=last as usize].iter_mut().for_each(|class| *class |= APART.1);
    }
    let mut blocks: Vec<&[u8]> = Vec::new();
    let mut pages = Vec::with_capacity(PAGES);
    for page in classes.chunks(PAGE) {
        let known = blocks.iter().position(|block| *block == page);
        pages.push(known.unwrap_or(blocks.len()));
        if known.is_none() {
            blocks.push(page);
        }
    }
    if blocks.len() > PAGE {
        return Err(format!("{} distinct pages, expected at most {PAGE}", blocks.len()));
    }

    let count = blocks.len();
    let mut text = header("//!", source);
    text.push_str(
        "//!\n//! The class of code point `c` is `CLASS_BLOCKS[CLASS_PAGES[c >> 8]][c & 0xFF]`: 0 for any other character,\n",
    );
    for (name, pattern, number) in CLASSES {
        let _ = writeln!(text, "//! {number} {name} (`{pattern}`),");
    }
    let _ = writeln!(text, "//! and {} more for those of `{}`.", APART.1, APART.0);
    text.push_str("//! Block 0 is the page U+0000 to U+00FF, so ASCII needs only `CLASS_BLOCKS[0]`.\n");
    text.push_str("\n#[rustfmt::skip]\npub static CLASS_PAGES: [u8; 0x1100] = [\n");
    rows(&mut text, "    ", &pages);
    let _ = write!(text, "];\n\n#[rustfmt::skip]\npub static CLASS_BLOCKS: [[u8; 256]; {count}] = [\n");
    for (index, block) in blocks.iter().enumerate() {
        let first = pages.iter().position(|page| *page == index).unwrap_or_default() * PAGE;
        let _ = writeln!(text, "    [ // {index}: U+{first:04X}");
        rows(&mut text, "        ", block);
        text.push_str("    ],\n");
    }
    text.push_str("];\n");
    Ok(text)
}

fn rows<T: std::fmt::Display>(text: &mut String, indent: &str, numbers: &[T]) {
    for row in numbers.chunks(64) {
        let row: Vec<String> = row.iter().map(T::to_string).collect();
        let _ = writeln!(text, "{indent}{},", row.join(","));
    }
}

fn python_file(source: &str) -> Result<String, String> {
    let mut text = header("#", source);
    text.push_str(
        "\"\"\"Character classes as inclusive ranges of code points in hexadecimal, in increasing order.\"\"\"\n",
    );
    let _ = write!(text, "\n# \\s\nWHITESPACE = \"\"\"\n{}\"\"\"\n", python_ranges("    ", r"\s")?);
    for (table, names) in [("CATEGORIES", &CATEGORIES[..]), ("SCRIPTS", &SCRIPTS[..])] {
        let _ = write!(text, "\n# \\p{{{}}} and so on\n{table} = {{\n", names[0]);
        for name in names {
            let ranges = python_ranges("        ", &format!(r"\p{{{name}}}"))?;
            let _ = write!(text, "    \"{name}\": \"\"\"\n{ranges}    \"\"\",\n");
        }
        text.push_str("}\n");
    }
    Ok(text)
}

fn python_ranges(indent: &str, pattern: &str) -> Result<String, String> {
    let ranges = class_ranges(pattern)?;
    let lines = ranges.chunks(10).map(|ranges| {
        let ranges = ranges.iter().map(|(first, last)| format!("{first:04X}-{last:04X}"));
        format!("{indent}{}\n", ranges.collect::<Vec<_>>().join(" "))
    });
    Ok(lines.collect())
}

/// The folder of Cargo.toml. Read at run time: no path of the building machine goes into the program.
fn top() -> Result<PathBuf, String> {
    env::var_os("CARGO_MANIFEST_DIR").map(PathBuf::from).ok_or_else(|| format!("run it by `{COMMAND}`"))
}
