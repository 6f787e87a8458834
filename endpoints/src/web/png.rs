//! A picture of any length: 320 x 240 white pixels, and as much as is needed of a chunk that
//! decoders skip.
//!
//! Format: W3C, "Portable Network Graphics (PNG) Specification (Third Edition)", sections 5 and 11.
//! The filler stands before the pixels, so nothing can be shown until the last of it has come.

use crate::block::{Memory, BLOCK_BYTES};
use crate::web::piece::Piece;
use bytes::Bytes;

const SIGNATURE: &[u8] = b"\x89PNG\r\n\x1a\n";
/// Width, height, bits per pixel, greyscale, and the only methods there are.
const HEADER: &[u8] = &[0, 0, 1, 64, 0, 0, 0, 240, 1, 0, 0, 0, 0];
/// 240 rows of a filter type (0) and 40 bytes of ones, compressed (zlib, level 9).
const PIXELS: &[u8] = &[
    0x78, 0xda, 0xed, 0xca, 0x31, 0x01, 0x00, 0x00, 0x0c, 0x02, 0x20, 0xfb, 0x97, 0xd6, 0x0a, 0xfb,
    0x07, 0x37, 0xe9, 0x51, 0x44, 0x51, 0x14, 0x45, 0x51, 0x14, 0x45, 0x51, 0x14, 0x45, 0x51, 0x14,
    0x45, 0x51, 0x14, 0x45, 0x51, 0x14, 0x45, 0x51, 0x14, 0x45, 0x51, 0x14, 0x45, 0x51, 0x14, 0xc5,
    0xcf, 0x71, 0x85, 0x33, 0x5c, 0xac,
];
/// An ancillary, private chunk that may be copied (section 5.4).
const FILLER: [u8; 4] = *b"faIr";
/// Length, type and checksum of a chunk, bytes.
const FRAME_BYTES: u64 = 12;

/// A picture of exactly `bytes`; below the least that one takes, the beginning of one, which
/// no browser can show.
#[must_use]
pub fn picture(bytes: u64, block: &Memory) -> Vec<Piece> {
    let mut begin = SIGNATURE.to_vec();
    chunk(&mut begin, *b"IHDR", HEADER);
    let mut end = Vec::new();
    chunk(&mut end, *b"IDAT", PIXELS);
    chunk(&mut end, *b"IEND", &[]);
    let least = (begin.len() + end.len()) as u64;
    if bytes < least {
        begin.extend_from_slice(&end);
        begin.truncate(bytes as usize);
        return vec![Piece::Own(begin.into())];
    }
    let mut pieces = vec![Piece::Own(begin.into())];
    let mut left = bytes - least;
    // Most chunks are as long as the one before.
    let mut before = (u64::MAX, [0; 4]);
    while left >= FRAME_BYTES {
        let mut data = (left - FRAME_BYTES).min(BLOCK_BYTES as u64);
        if (1..FRAME_BYTES).contains(&(left - FRAME_BYTES - data)) {
            // What remains has to have room for a chunk.
            data -= FRAME_BYTES;
        }
        let filler = block.at(0, data);
        pieces.push(Piece::Own([&(data as u32).to_be_bytes()[..], &FILLER].concat().into()));
        if before.0 != data {
            before = (data, checksum(FILLER, &filler));
        }
        pieces.push(Piece::Own(filler));
        pieces.push(Piece::Own(Bytes::copy_from_slice(&before.1)));
        left -= FRAME_BYTES + data;
    }
    pieces.push(Piece::Own(end.into()));
    // Too little for a chunk. Decoders stop at the end of the picture.
    pieces.push(Piece::Own(block.at(0, left)));
    pieces
}

fn chunk(picture: &mut Vec<u8>, kind: [u8; 4], data: &[u8]) {
    picture.extend_from_slice(&(data.len() as u32).to_be_bytes());
    picture.extend_from_slice(&kind);
    picture.extend_from_slice(data);
    picture.extend_from_slice(&checksum(kind, data));
}

fn checksum(kind: [u8; 4], data: &[u8]) -> [u8; 4] {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(&kind);
    hasher.update(data);
    hasher.finalize().to_be_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the frame of every chunk and returns the bytes after the last.
    fn rest(mut picture: &[u8]) -> &[u8] {
        picture = picture.strip_prefix(SIGNATURE).expect("a signature");
        loop {
            let length = u32::from_be_bytes(picture[..4].try_into().unwrap()) as usize;
            let kind: [u8; 4] = picture[4..8].try_into().unwrap();
            let (data, after) = picture[8..].split_at(length);
            assert_eq!(after[..4], checksum(kind, data));
            picture = &after[4..];
            if kind == *b"IEND" {
                return picture;
            }
        }
    }

    #[test]
    fn a_picture_has_its_length_and_whole_chunks() {
        let block = Memory::new();
        let least = 8 + 25 + 12 + PIXELS.len() as u64 + 12;
        let more = [1_000, BLOCK_BYTES as u64, 5_300_000];
        for bytes in
            (0..300).chain((0..40).map(|more| least + 12 + BLOCK_BYTES as u64 + more)).chain(more)
        {
            let mut picture = Vec::new();
            for piece in picture_of(bytes, &block) {
                picture.extend_from_slice(&piece);
            }
            assert_eq!(picture.len() as u64, bytes);
            if bytes >= least {
                assert!(rest(&picture).len() < FRAME_BYTES as usize, "{bytes}");
            }
        }
    }

    fn picture_of(bytes: u64, block: &Memory) -> impl Iterator<Item = Bytes> {
        picture(bytes, block).into_iter().map(|piece| match piece {
            Piece::Own(bytes) => bytes,
            Piece::Filler(..) => unreachable!("a picture has no such piece"),
        })
    }
}
