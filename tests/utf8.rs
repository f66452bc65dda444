//! Units to UTF-8, against Rust's own encoding, with AVX2 and without.

use bpeline::utf8::{OneByOne, Unit, append, append_by};
use proptest::prelude::*;

/// What `append` should do: up to the first unit that is no character, and how many were taken.
fn by_char<U: Unit>(units: &[U]) -> (String, usize) {
    let text: String = units.iter().map_while(|&unit| char::from_u32(unit.into())).collect();
    let taken = text.chars().count();
    (text, taken)
}

fn check<U: Unit>(units: &[U]) {
    let (expected, count) = by_char(units);
    for append in [append::<U>, append_by::<U, OneByOne>] {
        let mut text = String::from("é");
        assert_eq!(append(units, &mut text), count);
        assert_eq!(text.strip_prefix('é'), Some(expected.as_str()));
    }
}

/// Units of every length of UTF-8 and of none, in runs and one by one.
fn units(last: u32) -> impl Strategy<Value = Vec<u32>> {
    const EDGES: [u32; 11] = [0, 0x7f, 0x80, 0xff, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff, 0x1_0000, 0x10_ffff];
    let unit = prop_oneof![
        8 => 0..0x80u32,
        4 => 0x80..0x800u32,
        4 => 0x800..0xd800u32,
        1 => 0xe000..0x1_0000u32,
        2 => proptest::sample::select(&EDGES[..]),
        1 => 0x1_0000..0x11_0000u32,
    ]
    .prop_map(move |unit| unit.min(last));
    let run = (unit.clone(), 1..40usize).prop_map(|(unit, count)| vec![unit; count]);
    let mixed = proptest::collection::vec(unit, 1..40);
    proptest::collection::vec(prop_oneof![run, mixed], 0..6).prop_map(|parts| parts.concat())
}

/// Some units, and a few that are no characters among them.
fn with_surrogates(last: u32) -> impl Strategy<Value = Vec<u32>> {
    let wrong = prop_oneof![0xd800..0xe000u32, Just(0x11_0000), Just(u32::MAX)]
        .prop_map(move |unit| if unit > last { 0xd800 } else { unit });
    (units(last), proptest::collection::vec((any::<prop::sample::Index>(), wrong), 0..3)).prop_map(
        |(mut units, wrong)| {
            for (at, unit) in wrong {
                let at = at.index(units.len() + 1);
                units.insert(at, unit);
            }
            units
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn one_byte(units in units(0xff), skip in 0..9usize) {
        let units: Vec<u8> = units.into_iter().map(|unit| unit as u8).collect();
        check(&units[skip.min(units.len())..]);
    }

    #[test]
    fn two_bytes(units in with_surrogates(0xffff), skip in 0..9usize) {
        let units: Vec<u16> = units.into_iter().map(|unit| unit as u16).collect();
        check(&units[skip.min(units.len())..]);
    }

    #[test]
    fn four_bytes(units in with_surrogates(u32::MAX), skip in 0..9usize) {
        check(&units[skip.min(units.len())..]);
    }
}

#[test]
fn every_unit_at_every_place() {
    let all: Vec<u16> = (0..=0xffff).collect();
    for skip in 0..16 {
        let mut at = skip;
        while at < all.len() {
            check(&all[at..]);
            at += by_char(&all[at..]).1 + 1;
        }
    }
    let beyond: Vec<u32> = (0xfff0..0x11_0010).step_by(7).collect();
    check(&beyond);
}
