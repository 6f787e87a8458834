//! What became of frames at one end: a binary file, `<flow>.<side>.frames`.
//!
//! A record has 32 bytes, little-endian: when it happened and when the frame was captured, ns after
//! the epoch (8 bytes each), the frame's number, its group and its size (4 bytes each), what
//! happened (1 byte), its kind (1 byte: 1 of video, 2 of a key frame), and 2 bytes of 0. What
//! happened: 0 the encoder emitted it, 1 it has come, 2 its group was cancelled here, and it is the
//! first frame of it that was not sent. Of a frame that has come, group and size are 0: its
//! sender's record has them.

use crate::media::encoder::Frame;
use crate::media::wire::Part;
use std::fs::File;
use std::io::{self, BufWriter, Write};

const BLOCK_BYTES: usize = 64 << 10;
const RECORD_BYTES: usize = 32;
const EMITTED: u8 = 0;
const ARRIVED: u8 = 1;
const CANCELLED: u8 = 2;

/// The file.
pub struct Record {
    name: String,
    file: BufWriter<File>,
    records: u64,
}

impl Record {
    /// Creates the file of an end in the working directory.
    ///
    /// # Errors
    /// A message.
    pub fn create(flow: &str, side: &str) -> Result<Self, String> {
        let name = format!("{flow}.{side}.frames");
        let file = File::create(&name).map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(Record { name, file: BufWriter::with_capacity(BLOCK_BYTES, file), records: 0 })
    }

    /// The encoder has emitted a frame.
    ///
    /// # Errors
    /// A message.
    pub fn emitted(&mut self, at_ns: i64, frame: &Frame) -> Result<(), String> {
        self.write(&encoded(at_ns, frame, EMITTED))
    }

    /// The group of a frame is cancelled.
    ///
    /// # Errors
    /// A message.
    pub fn cancelled(&mut self, at_ns: i64, frame: &Frame) -> Result<(), String> {
        self.write(&encoded(at_ns, frame, CANCELLED))
    }

    /// A frame has come, whole.
    ///
    /// # Errors
    /// A message.
    pub fn arrived(&mut self, at_ns: i64, part: &Part) -> Result<(), String> {
        let Part { video, number, captured_ns, .. } = *part;
        let frame = Frame { number, video, key: false, group: 0, bytes: 0, captured_ns };
        self.write(&encoded(at_ns, &frame, ARRIVED))
    }

    /// Writes out the rest: the file's name, and how many records it has.
    ///
    /// # Errors
    /// A message.
    pub fn close(&mut self) -> Result<(&str, u64), String> {
        self.file.flush().map_err(|error| self.failed(&error))?;
        Ok((&self.name, self.records))
    }

    fn write(&mut self, record: &[u8; RECORD_BYTES]) -> Result<(), String> {
        self.records += 1;
        self.file.write_all(record).map_err(|error| self.failed(&error))
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("cannot write {}: {error}", self.name)
    }
}

fn encoded(at_ns: i64, frame: &Frame, what: u8) -> [u8; RECORD_BYTES] {
    let mut record = [0; RECORD_BYTES];
    record[..8].copy_from_slice(&at_ns.to_le_bytes());
    record[8..16].copy_from_slice(&frame.captured_ns.to_le_bytes());
    record[16..20].copy_from_slice(&frame.number.to_le_bytes());
    record[20..24].copy_from_slice(&frame.group.to_le_bytes());
    record[24..28].copy_from_slice(&frame.bytes.to_le_bytes());
    record[28] = what;
    record[29] = u8::from(frame.video) | u8::from(frame.key) << 1;
    record
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_has_its_fields_in_their_places() {
        let frame =
            Frame { number: 3, video: true, key: true, group: 2, bytes: 900, captured_ns: 5 };
        let record = encoded(-7, &frame, CANCELLED);
        assert_eq!(record[..8], (-7_i64).to_le_bytes());
        assert_eq!(record[16..], [3, 0, 0, 0, 2, 0, 0, 0, 132, 3, 0, 0, 2, 3, 0, 0]);
    }
}
