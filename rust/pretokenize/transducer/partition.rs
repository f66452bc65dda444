//! Characters in classes: those of a class are in the same sets of a pattern, so no automaton of it tells them apart.

use hashbrown::HashMap;
use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

use crate::pretokenize::block::{BLOCK, Window};

/// The class of bytes that go on with a character. Those of characters begin behind it.
pub const CONTINUATION: u8 = 0;

const CHARACTERS: usize = char::MAX as usize + 1;

pub struct Partition {
    /// For each 256 characters, where in `blocks` their classes are.
    pages: Vec<u16>,
    blocks: Vec<[u8; 256]>,
    /// The class of each byte that is a character, or goes on with one. (Of the others it is none.)
    pub of_byte: [u8; 256],
    /// A character of each class but [`CONTINUATION`].
    pub representatives: Vec<char>,
}

impl Partition {
    /// If there are no more classes than a byte can tell apart.
    pub fn of(sets: &[ClassUnicode]) -> Option<Self> {
        let mut ends = Vec::new();
        for (set, class) in sets.iter().enumerate() {
            for range in class.ranges() {
                ends.push((range.start() as usize, set));
                ends.push((range.end() as usize + 1, set));
            }
        }
        ends.sort_unstable();
        ends.push((CHARACTERS, 0));

        let mut classes = vec![CONTINUATION; CHARACTERS];
        let mut numbers = HashMap::new();
        let mut representatives = Vec::new();
        let (mut within, mut from) = (vec![false; sets.len()], 0);
        for (end, set) in ends {
            if let Some(first) = (from..end).find_map(|code| char::from_u32(code as u32)) {
                let next = u8::try_from(representatives.len() + 1).ok()?;
                let number = *numbers.entry(within.clone()).or_insert(next);
                if number == next {
                    representatives.push(first);
                }
                classes[from..end].fill(number);
            }
            if let Some(within) = within.get_mut(set) {
                *within = !*within;
            }
            from = end;
        }

        let (mut pages, mut blocks, mut known) = (Vec::new(), Vec::new(), HashMap::new());
        for block in classes.as_chunks::<256>().0 {
            pages.push(*known.entry(block).or_insert_with(|| {
                blocks.push(*block);
                (blocks.len() - 1) as u16
            }));
        }
        let mut of_byte = [CONTINUATION; 256];
        of_byte[..128].copy_from_slice(&classes[..128]);
        Some(Partition { pages, blocks, of_byte, representatives })
    }

    /// Gives each class another number, by the one it has.
    pub fn renumber(&mut self, numbers: &[u8]) {
        let classes = self.blocks.iter_mut().flatten().chain(&mut self.of_byte);
        classes.for_each(|class| *class = numbers[*class as usize]);
    }

    #[inline]
    pub fn class(&self, character: char) -> u8 {
        self.of_code(character as usize)
    }

    /// Writes the classes of the characters of which the first bytes are `leads`, a bit a byte; none of them is ASCII.
    #[inline(always)]
    pub fn put_characters(&self, window: &Window, mut leads: u64, classes: &mut [u8; BLOCK]) {
        while leads != 0 {
            let lead = leads.trailing_zeros() as usize;
            leads &= leads - 1;
            let [first, second, third, fourth] = std::array::from_fn(|byte| window[lead + byte] as usize);
            let [second, third, fourth] = [second, third, fourth].map(|byte| byte & 0x3f);
            let code = match first {
                0xc0..0xe0 => (first & 0x1f) << 6 | second,
                0xe0..0xf0 => (first & 0x0f) << 12 | second << 6 | third,
                _ => (first & 0x07) << 18 | second << 12 | third << 6 | fourth,
            };
            classes[lead] = self.of_code(code);
        }
    }

    #[inline(always)]
    fn of_code(&self, code: usize) -> u8 {
        self.blocks[self.pages[code >> 8] as usize][code & 0xff]
    }
}

/// Adds each set of characters that `pattern` asks for. False if it asks for bytes.
pub fn add_sets(pattern: &Hir, sets: &mut Vec<ClassUnicode>) -> bool {
    let mut add = |class: ClassUnicode| {
        if !sets.contains(&class) {
            sets.push(class);
        }
    };
    match pattern.kind() {
        HirKind::Empty | HirKind::Look(_) => true,
        HirKind::Class(Class::Bytes(_)) => false,
        HirKind::Class(Class::Unicode(class)) => {
            add(class.clone());
            true
        }
        HirKind::Literal(literal) => {
            let characters = std::str::from_utf8(&literal.0).map(str::chars);
            let is_text = characters.is_ok();
            let one = |character| ClassUnicode::new([ClassUnicodeRange::new(character, character)]);
            characters.into_iter().flatten().map(one).for_each(add);
            is_text
        }
        HirKind::Capture(capture) => add_sets(&capture.sub, sets),
        HirKind::Repetition(repetition) => add_sets(&repetition.sub, sets),
        HirKind::Concat(parts) | HirKind::Alternation(parts) => parts.iter().all(|part| add_sets(part, sets)),
    }
}
