//! How frames look on their way, and when they are whole.
//!
//! In datagrams a frame is cut into packets of about equal size, each with the header of RTP (RFC
//! 3550, section 5.1), and the marker bit on the last one. The first bytes of each packet's payload
//! say which part of which frame it is; in streams, the first bytes of each frame do.

use crate::media::description::{LARGEST_FRAME, PART_BYTES};
use crate::media::encoder::Frame;
use bytes::{Bytes, BytesMut};
use std::collections::BTreeMap;

/// The header of RTP, bytes.
pub const RTP_BYTES: usize = 12;
/// Before each frame in a stream that holds several: its length, bytes.
pub const LENGTH_BYTES: usize = 4;
/// Payload types of audio and video: dynamic ones (RFC 3551, section 3).
const PAYLOAD_TYPES: [u8; 2] = [96, 97];
/// Of the time stamps, 1/s.
const CLOCKS: [i64; 2] = [48_000, 90_000];
const VIDEO: u32 = 1 << 31;
/// Frames that may wait for their last packets; lost ones wait for ever.
const MOST_WAITING: usize = 4096;

/// What a part of a frame says of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Part {
    /// Whether it is of the video.
    pub video: bool,
    /// Number of the frame.
    pub number: u32,
    /// Which part it is, and of how many.
    pub place: (u16, u16),
    /// When the frame was captured, ns after the epoch.
    pub captured_ns: i64,
    /// Number of the packet among all that this end sends, from 0; of a whole frame 0.
    pub packet: u32,
}

impl Part {
    /// A frame that is not cut.
    #[must_use]
    pub fn whole(frame: &Frame) -> Self {
        let Frame { video, number, captured_ns, .. } = *frame;
        Part { video, number, place: (0, 1), captured_ns, packet: 0 }
    }

    fn encode(&self) -> [u8; PART_BYTES] {
        let mut bytes = [0; PART_BYTES];
        let number = self.number | if self.video { VIDEO } else { 0 };
        bytes[..4].copy_from_slice(&number.to_be_bytes());
        bytes[4..6].copy_from_slice(&self.place.0.to_be_bytes());
        bytes[6..8].copy_from_slice(&self.place.1.to_be_bytes());
        bytes[8..16].copy_from_slice(&self.captured_ns.to_be_bytes());
        bytes[16..].copy_from_slice(&self.packet.to_be_bytes());
        bytes
    }

    /// What a part says that begins with these bytes; None: it is none.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let word = |at: usize| bytes.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes);
        let (number, place) = (word(0)?, word(4)?);
        let captured_ns = i64::from_be_bytes(bytes.get(8..16)?.try_into().ok()?);
        let place = ((place >> 16) as u16, (place & 0xffff) as u16);
        let video = number & VIDEO != 0;
        let part = Part { video, number: number & !VIDEO, place, captured_ns, packet: word(16)? };
        (place.0 < place.1).then_some(part)
    }

    /// What a packet of RTP says; None: it is none of ours.
    #[must_use]
    pub fn of_packet(packet: &[u8]) -> Option<Self> {
        let part = Part::decode(packet.get(RTP_BYTES..)?)?;
        let known =
            packet[0] == 2 << 6 && packet[1] & 0x7f == PAYLOAD_TYPES[usize::from(part.video)];
        known.then_some(part)
    }
}

/// A frame as a stream holds it. `alone`: nothing else is in the stream, so its end says its
/// length.
#[must_use]
pub fn in_stream(frame: &Frame, alone: bool) -> Bytes {
    let length = frame.bytes as usize;
    let mut bytes = BytesMut::zeroed(if alone { length } else { LENGTH_BYTES + length });
    let body = if alone {
        &mut bytes[..]
    } else {
        bytes[..LENGTH_BYTES].copy_from_slice(&frame.bytes.to_be_bytes());
        &mut bytes[LENGTH_BYTES..]
    };
    body[..PART_BYTES].copy_from_slice(&Part::whole(frame).encode());
    bytes.freeze()
}

/// Cuts frames into packets of RTP.
#[derive(Debug, Default)]
pub struct Packets {
    /// Sequence numbers of audio and video.
    sequences: [u16; 2],
    /// Packets so far.
    count: u32,
}

impl Packets {
    /// The packets of a frame, each of at most `most` bytes with its header.
    pub fn of(&mut self, frame: &Frame, most: usize) -> Vec<Bytes> {
        let (room, length) = (most - RTP_BYTES, frame.bytes as usize);
        // No part is shorter than what it says of itself.
        let count = length.div_ceil(room).min(length / PART_BYTES).clamp(1, usize::from(u16::MAX));
        let kind = usize::from(frame.video);
        let stamp = i128::from(frame.captured_ns) * i128::from(CLOCKS[kind]) / 1_000_000_000;
        let mut packets = Vec::with_capacity(count);
        for index in 0..count {
            let payload = length * (index + 1) / count - length * index / count;
            let mut bytes = BytesMut::zeroed(RTP_BYTES + payload);
            let marker = if index + 1 == count { 0x80 } else { 0 };
            bytes[0] = 2 << 6;
            bytes[1] = marker | PAYLOAD_TYPES[kind];
            bytes[2..4].copy_from_slice(&self.sequences[kind].to_be_bytes());
            bytes[4..8].copy_from_slice(&(stamp as u32).to_be_bytes());
            bytes[8..12].copy_from_slice(&(kind as u32 + 1).to_be_bytes());
            let place = (index as u16, count as u16);
            let part = Part { place, packet: self.count, ..Part::whole(frame) };
            bytes[RTP_BYTES..RTP_BYTES + PART_BYTES].copy_from_slice(&part.encode());
            self.sequences[kind] = self.sequences[kind].wrapping_add(1);
            self.count = self.count.wrapping_add(1);
            packets.push(bytes.freeze());
        }
        packets
    }
}

/// Puts frames together again.
#[derive(Debug, Default)]
pub struct Frames {
    /// Which parts of each frame are there; None: all, and it has been told.
    waiting: BTreeMap<(u32, bool), Option<Vec<bool>>>,
}

impl Frames {
    /// Takes note of a part; true: with it the frame is whole, for the first time.
    pub fn arrive(&mut self, part: &Part) -> bool {
        if self.waiting.len() >= MOST_WAITING {
            self.waiting.pop_first();
        }
        let (index, count) = (usize::from(part.place.0), usize::from(part.place.1));
        let entry = self.waiting.entry((part.number, part.video));
        let entry = entry.or_insert_with(|| Some(vec![false; count]));
        let Some(seen) = entry else {
            return false;
        };
        if let Some(place) = seen.get_mut(index) {
            *place = true;
        }
        let whole = seen.iter().all(|there| *there);
        if whole {
            *entry = None;
        }
        whole
    }
}

/// Takes whole frames from what has come of a stream that holds several.
#[derive(Debug, Default)]
pub struct Unpacked {
    bytes: BytesMut,
}

impl Unpacked {
    /// Adds what has come.
    pub fn add(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// The next frame that is whole.
    ///
    /// # Errors
    /// A message, where the stream holds no frames.
    pub fn next(&mut self) -> Result<Option<Part>, String> {
        let Some(length) = self.bytes.first_chunk().map(|four| u32::from_be_bytes(*four)) else {
            return Ok(None);
        };
        let all = LENGTH_BYTES + length as usize;
        if length as usize > LARGEST_FRAME as usize {
            return Err(format!("a frame of {length} bytes has come"));
        }
        if self.bytes.len() < all {
            return Ok(None);
        }
        let frame = self.bytes.split_to(all);
        let part = Part::decode(&frame[LENGTH_BYTES..]);
        part.map(Some).ok_or("what has come is no frame".into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FRAME: Frame = Frame {
        number: 7,
        video: true,
        key: true,
        group: 0,
        bytes: 2_501,
        captured_ns: 1_000_000_000,
    };

    #[test]
    fn a_frame_is_cut_evenly_and_whole_when_all_parts_are_there() {
        let mut packets = Packets::default();
        let cut = packets.of(&FRAME, 1_200);
        let lengths: Vec<usize> = cut.iter().map(|packet| packet.len() - RTP_BYTES).collect();
        assert_eq!(lengths, [833, 834, 834]);
        assert_eq!(cut[0][..2], [0x80, 97]);
        assert_eq!(cut[2][..4], [0x80, 0xe1, 0, 2]);
        assert_eq!(cut[2][4..8], 90_000_u32.to_be_bytes());
        let parts: Vec<Part> = cut.iter().map(|packet| Part::of_packet(packet).unwrap()).collect();
        assert_eq!(parts[1].place, (1, 3));
        assert_eq!((parts[2].packet, parts[2].captured_ns), (2, FRAME.captured_ns));
        let mut frames = Frames::default();
        let whole: Vec<bool> =
            [2, 0, 0, 1, 1].iter().map(|index| frames.arrive(&parts[*index])).collect();
        assert_eq!(whole, [false, false, false, true, false]);
        assert!(Part::of_packet(&cut[0][..RTP_BYTES + 4]).is_none());
    }

    #[test]
    fn frames_come_out_of_a_stream_as_they_went_in() {
        let mut stream = Unpacked::default();
        let all = [in_stream(&FRAME, false), in_stream(&Frame { number: 8, ..FRAME }, false)];
        let all = all.concat();
        stream.add(&all[..2_600]);
        assert_eq!(stream.next().unwrap(), Some(Part::whole(&FRAME)));
        assert_eq!(stream.next().unwrap(), None);
        stream.add(&all[2_600..]);
        assert_eq!(stream.next().unwrap().map(|part| part.number), Some(8));
        stream.add(&[0xff; 4]);
        assert!(stream.next().is_err());
        let alone = in_stream(&FRAME, true);
        assert_eq!((alone.len(), Part::decode(&alone)), (2_501, Some(Part::whole(&FRAME))));
    }
}
