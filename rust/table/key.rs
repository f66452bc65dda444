//! What a piece is looked up by: itself if it is short, else a hash.

/// The longest piece that is its own key.
pub const LONGEST: usize = 15;

/// A piece of 1 to [`LONGEST`] bytes, zeros behind it, its length in the last byte; or a hash of a longer one,
/// with [`HASHED`] in the last byte.
#[derive(Clone, Copy, Default, Debug)]
pub struct Key {
    pub(super) front: u64,
    pub(super) back: u64,
}

impl PartialEq for Key {
    fn eq(&self, other: &Key) -> bool {
        self.difference(other) == 0
    }
}

const HASHED: u64 = 0xff;

/// Bits to keep of 16 bytes, by the length of the piece that begins there.
static MASKS: [[u64; 2]; LONGEST + 1] = {
    let mut masks = [[0; 2]; LONGEST + 1];
    let mut length = 1;
    while length <= LONGEST {
        let mask = u128::MAX >> (128 - 8 * length);
        masks[length] = [mask as u64, (mask >> 64) as u64];
        length += 1;
    }
    masks
};

/// The keys of the pieces of a text.
#[derive(Clone, Copy)]
pub struct Keys<'t> {
    text: &'t [u8],
    /// From a start below this, 16 bytes can be read.
    end: usize,
}

impl<'t> Keys<'t> {
    pub fn new(text: &'t [u8]) -> Self {
        Keys { text, end: text.len().saturating_sub(size_of::<Key>() - 1) }
    }

    /// The key of the piece from `start` to `end`, which has 1 to [`LONGEST`] bytes; for a longer one it means nothing.
    #[inline(always)]
    pub fn short(self, start: usize, end: usize) -> Key {
        let bytes = if start < self.end {
            // SAFETY: there are 16 bytes at least from `start` on.
            u128::from_le_bytes(unsafe { *self.text.as_ptr().add(start).cast() })
        } else {
            self.at_the_end(start)
        };
        let length = end.wrapping_sub(start) % MASKS.len();
        let [front, back] = MASKS[length];
        Key { front: bytes as u64 & front, back: (bytes >> 64) as u64 & back | (length as u64) << 56 }
    }

    /// The bytes from `start` on, and zeros.
    #[inline(always)]
    fn at_the_end(self, start: usize) -> u128 {
        let Keys { text, .. } = self;
        match text.last_chunk() {
            // The last 16 bytes, moved down.
            Some(last) => u128::from_le_bytes(*last) >> (8 * (start + 16 - text.len()).min(15)),
            None => text[start..].iter().rev().fold(0, |all, &byte| all << 8 | byte as u128),
        }
    }
}

impl Key {
    /// The key of a piece of more than [`LONGEST`] bytes: others may have the same.
    pub fn hashed(piece: &[u8]) -> Key {
        // Not the length as it is, which could undo what the first byte does.
        let mut key = Key { front: (piece.len() as u64).wrapping_mul(0x9E37_79B9_7F4A_7C15), back: 0 };
        let mut mix = |bytes: &[u8; 16]| {
            let bytes = u128::from_le_bytes(*bytes);
            let (front, back) = (key.front ^ bytes as u64, key.back ^ (bytes >> 64) as u64);
            let product = (front as u128 ^ 0x9E37_79B9_7F4A_7C15) * (back as u128 ^ 0xD6E8_FEB8_6659_FD93);
            (key.front, key.back) = (product as u64 ^ front.rotate_left(29), (product >> 64) as u64 ^ back);
        };
        let (chunks, _) = piece.as_chunks();
        chunks.iter().for_each(&mut mix);
        if let Some(last) = piece.last_chunk() {
            mix(last);
        }
        Key { front: key.front, back: key.back | HASHED << 56 }
    }

    /// The piece of [`Keys::short`], with zeros behind it, and its length.
    pub fn piece(self) -> ([u8; 16], usize) {
        let bytes = (self.front as u128 | (self.back as u128) << 64).to_le_bytes();
        (bytes, bytes[LONGEST] as usize)
    }

    /// Well mixed in its high bits (multiplicative hashing: Knuth, TAOCP vol. 3, 6.4).
    #[inline(always)]
    pub fn hash(self) -> u64 {
        self.front.wrapping_mul(0x9E37_79B9_7F4A_7C15).wrapping_add(self.back.wrapping_mul(0xD6E8_FEB8_6659_FD93))
    }

    /// 0 for the same key. Field by field it would branch between the two.
    #[inline(always)]
    pub(super) fn difference(&self, other: &Key) -> u64 {
        (self.front ^ other.front) | (self.back ^ other.back)
    }
}
