//! The pieces of a text, by the engine and by the oracle.

use bpeline::pretokenize::Boundaries;
use bpeline::pretokenize::regex::Engine;
use fancy_regex::Regex;

pub fn by_fancy_regex(regex: &Regex, text: &str) -> Vec<String> {
    let (mut pieces, mut end) = (Vec::new(), 0);
    for found in regex.find_iter(text).map(Result::unwrap).filter(|found| found.start() < found.end()) {
        pieces.push(text[end..found.start()].to_owned());
        pieces.push(found.as_str().to_owned());
        end = found.end();
    }
    pieces.push(text[end..].to_owned());
    pieces.retain(|piece| !piece.is_empty());
    pieces
}

pub fn by_engine(engine: &Engine, text: &str) -> Vec<String> {
    let (mut pieces, mut matches, mut boundaries) = (Vec::new(), engine.matches(text, 0), Boundaries::default());
    while matches.next(&mut boundaries).unwrap() {
        pieces.extend(boundaries.pieces().map(|(start, end)| text[start..end].to_owned()));
    }
    pieces
}
