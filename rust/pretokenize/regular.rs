//! The regular part of a pattern: what a deterministic automaton can find, with the same meaning.
//!
//! The tree is fancy-regex's own, and so is the way back to text, which it takes itself for what it leaves to
//! regex-automata. Two things are not regular, and are seen to here:
//! - **The ending** `|\s+(?!\S)|\s+` (or `|\s`). The look-ahead only gives one character back, so it is left to whoever finds the
//!   match: this makes `\s+` of it, a pattern of its own behind the rest.
//! - **Possessive repeats** `C{m,n}+` of a single character class C. The matcher takes as many as there are; it would go back
//!   only to have the rest K of the alternative match behind fewer, in front of a character of C. So the repeat
//!   means the same without being possessive if K matches without characters too (then it matches behind as many as
//!   there are), or if it needs one and none of C will do, or if it needs the end of the text.
//!
//! Any other look-around, back-reference or atomic group: there is no regular part.

use fancy_regex::{Assertion, AstNode, Expr};
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind, Look};

#[derive(Debug, PartialEq, Eq)]
pub struct Regular {
    /// In regex-automata's syntax.
    pub front: String,
    /// `\s+` comes after it, and gives a character back.
    pub has_ending: bool,
}

const ENDINGS: [&str; 2] = [r"\s+(?!\S)|\s+", r"\s+(?!\S)|\s"];

pub fn regular(pattern: &str) -> Option<Regular> {
    let mut tree = Expr::parse_tree(pattern).ok()?.expr;
    let mut has_ending = false;
    if let Expr::Alt(alternatives) = &mut tree
        && let Some(front) = alternatives.len().checked_sub(2).filter(|&front| front > 0)
    {
        let is_ending = |ending: &&str| {
            Expr::parse_tree(ending).is_ok_and(|ending| ending.expr == Expr::Alt(alternatives[front..].to_vec()))
        };
        has_ending = ENDINGS.iter().any(is_ending);
        if has_ending {
            alternatives.truncate(front);
        }
    }
    let mut front = String::new();
    plain(tree, &Follow::nothing())?.to_str(&mut front, 0);
    Some(Regular { front, has_ending })
}

/// What can come behind a part of a pattern.
#[derive(Clone)]
struct Follow {
    /// The characters that it can begin with.
    first: ClassUnicode,
    /// Whether it matches without any, wherever it is.
    matches_empty: bool,
}

impl Follow {
    fn nothing() -> Self {
        Follow { first: ClassUnicode::empty(), matches_empty: true }
    }

    /// What comes behind `expr`, itself included.
    fn with(&self, expr: &Expr) -> Option<Self> {
        let mut text = String::new();
        expr.to_str(&mut text, 0);
        self.with_hir(&regex_syntax::parse(&text).ok()?)
    }

    fn with_hir(&self, hir: &Hir) -> Option<Self> {
        let characters = |first| Some(Follow { first, matches_empty: false });
        match hir.kind() {
            HirKind::Empty => Some(self.clone()),
            HirKind::Look(Look::End) => characters(ClassUnicode::empty()),
            HirKind::Look(_) | HirKind::Class(Class::Bytes(_)) => None,
            HirKind::Class(Class::Unicode(class)) => characters(class.clone()),
            HirKind::Literal(literal) => {
                let first = std::str::from_utf8(&literal.0).ok()?.chars().next()?;
                characters(ClassUnicode::new([ClassUnicodeRange::new(first, first)]))
            }
            HirKind::Capture(capture) => self.with_hir(&capture.sub),
            HirKind::Concat(parts) => parts.iter().rev().try_fold(self.clone(), |follow, part| follow.with_hir(part)),
            HirKind::Alternation(parts) => {
                let mut all = Follow { first: ClassUnicode::empty(), matches_empty: false };
                for part in parts {
                    all.join(&self.with_hir(part)?);
                }
                Some(all)
            }
            HirKind::Repetition(repetition) => {
                // What follows the first time may be another time; without any, what follows them.
                let mut again = self.clone();
                again.join(&Follow::nothing().with_hir(&repetition.sub)?);
                let mut follow = again.with_hir(&repetition.sub)?;
                follow.matches_empty &= self.matches_empty;
                if repetition.min == 0 {
                    follow.join(self);
                }
                Some(follow)
            }
        }
    }

    fn join(&mut self, other: &Follow) {
        self.first.union(&other.first);
        self.matches_empty |= other.matches_empty;
    }
}

/// The same without possessive repeats, if it means the same where `follow` comes behind it, and is regular.
fn plain(expr: Expr, follow: &Follow) -> Option<Expr> {
    match expr {
        Expr::Empty
        | Expr::Any { .. }
        | Expr::Literal { .. }
        | Expr::Delegate { .. }
        | Expr::Assertion(Assertion::StartText | Assertion::EndText) => Some(expr),
        Expr::Group(inner) => plain((*inner).clone(), follow),
        Expr::AstNode(AstNode::AstGroup { inner, .. }, _) => plain(*inner, follow),
        Expr::Alt(parts) => parts.into_iter().map(|part| plain(part, follow)).collect::<Option<_>>().map(Expr::Alt),
        Expr::Concat(parts) => {
            let mut follow = follow.clone();
            let mut done = Vec::new();
            for part in parts.into_iter().rev() {
                let part = plain(part, &follow)?;
                follow = follow.with(&part)?;
                done.push(part);
            }
            done.reverse();
            Some(Expr::Concat(done))
        }
        Expr::Repeat { child, lo, hi, greedy } => {
            let is_atomic = |expr: &Expr| matches!(expr, Expr::AtomicGroup(_));
            if hi > 1 && child.has_descendant_or_self(is_atomic) {
                return None; // it may come behind itself
            }
            Some(Expr::Repeat { child: Box::new(plain(*child, follow)?), lo, hi, greedy })
        }
        Expr::AtomicGroup(inner) => {
            let Expr::Repeat { child, greedy: true, .. } = &*inner else { return None };
            if !matches!(**child, Expr::Delegate { .. } | Expr::Any { .. } | Expr::Literal { .. }) {
                return None;
            }
            let mut class = String::new();
            child.to_str(&mut class, 0);
            let Follow { first: mut class, .. } = Follow::nothing().with_hir(&one_character(&class)?)?;
            class.intersect(&follow.first);
            (follow.matches_empty || class.ranges().is_empty()).then_some(*inner)
        }
        _ => None,
    }
}

/// The expression, if what it matches is one character.
fn one_character(text: &str) -> Option<Hir> {
    let hir = regex_syntax::parse(text).ok()?;
    match hir.kind() {
        HirKind::Class(Class::Unicode(_)) => Some(hir),
        HirKind::Literal(literal) => {
            let is_one = std::str::from_utf8(&literal.0).is_ok_and(|text| text.chars().count() == 1);
            is_one.then_some(hir)
        }
        _ => None,
    }
}
