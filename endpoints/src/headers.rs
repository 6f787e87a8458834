//! Files of packets' headers: what round trips need of TCP segments and UDP datagrams, in a third
//! of the bytes of a pcap file.
//!
//! A record has 32 bytes, little-endian: time (ns of `CLOCK_REALTIME`, 8 bytes), addresses of
//! source and destination (4 each), their ports (2 each), a number (4), payload (2), TCP flags (1),
//! kind (1), a second number (4). Of kind 0, a TCP segment, the numbers are sequence and
//! acknowledgement; of kind 1, a block that the segment before it acknowledges selectively, its
//! first number and the one behind it; of kind 2, a UDP datagram, the first is its own number where
//! it has one (`udp::datagram`), and 0 elsewhere.

use crate::pcap::Packet;
use crate::policer::segment::{Connection, Datagram, Segment};
use std::fs::File;
use std::io::{self, BufWriter, Write};

const TCP_SEGMENT: u8 = 0;
const BLOCK: u8 = 1;
const UDP_DATAGRAM: u8 = 2;
/// A write costs about as much as handling a packet: some hundred packets share one.
const BLOCK_BYTES: usize = 64 << 10;

/// A file that headers are appended to.
#[derive(Debug)]
pub struct Writer<W: Write> {
    file: BufWriter<W>,
    packets: u64,
}

impl Writer<File> {
    /// Creates a file, or empties one.
    pub fn create(path: &str) -> io::Result<Self> {
        Ok(Writer::new(File::create(path)?))
    }
}

impl<W: Write> Writer<W> {
    fn new(file: W) -> Self {
        Writer { file: BufWriter::with_capacity(BLOCK_BYTES, file), packets: 0 }
    }

    /// Appends a packet, if it is one that the file has.
    pub fn write(&mut self, packet: &Packet) -> io::Result<()> {
        let time_ns = u64::from(packet.seconds) * 1_000_000_000 + u64::from(packet.nanoseconds);
        if let Some(segment) = Segment::read(packet.head) {
            let Segment { connection, sequence, acknowledgement, flags, payload, .. } = segment;
            let record = Record { time_ns, connection, payload, flags, ..Record::default() };
            let numbers = (sequence, acknowledgement);
            self.append(&Record { kind: TCP_SEGMENT, numbers, ..record })?;
            for numbers in segment.sacked() {
                self.append(&Record { kind: BLOCK, numbers, ..record })?;
            }
        } else if let Some(Datagram { connection, payload, number }) = Datagram::read(packet.head) {
            self.append(&Record {
                time_ns,
                connection,
                payload,
                kind: UDP_DATAGRAM,
                numbers: (number, 0),
                ..Record::default()
            })?;
        } else {
            return Ok(());
        }
        self.packets += 1;
        Ok(())
    }

    fn append(&mut self, record: &Record) -> io::Result<()> {
        let Record { connection, .. } = record;
        let mut bytes = [0; 32];
        bytes[..8].copy_from_slice(&record.time_ns.to_le_bytes());
        bytes[8..12].copy_from_slice(&connection.source.to_le_bytes());
        bytes[12..16].copy_from_slice(&connection.destination.to_le_bytes());
        bytes[16..18].copy_from_slice(&connection.ports.0.to_le_bytes());
        bytes[18..20].copy_from_slice(&connection.ports.1.to_le_bytes());
        bytes[20..24].copy_from_slice(&record.numbers.0.to_le_bytes());
        bytes[24..26].copy_from_slice(&(record.payload as u16).to_le_bytes());
        bytes[26] = record.flags;
        bytes[27] = record.kind;
        bytes[28..].copy_from_slice(&record.numbers.1.to_le_bytes());
        self.file.write_all(&bytes)
    }

    /// Writes out the rest; returns how many packets the file has.
    pub fn finish(mut self) -> io::Result<u64> {
        self.file.flush()?;
        Ok(self.packets)
    }
}

#[derive(Default, Clone, Copy)]
struct Record {
    time_ns: u64,
    connection: Connection,
    payload: u32,
    flags: u8,
    kind: u8,
    numbers: (u32, u32),
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An Ethernet frame from 10.0.0.1:80 to 10.0.0.6:4000.
    fn frame(protocol: u8, transport: &[u8], payload: u16) -> Vec<u8> {
        let length = 20 + transport.len() as u16 + payload;
        let mut frame = vec![0; 12];
        frame.extend([8, 0, 0x45, 0]);
        frame.extend(length.to_be_bytes());
        frame.extend([0, 0, 0x40, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 6]);
        frame.extend(transport);
        frame
    }

    fn written(frames: &[Vec<u8>]) -> (u64, Vec<u8>) {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes);
        for head in frames {
            writer.write(&Packet { seconds: 1, nanoseconds: 2, length: 1514, head }).unwrap();
        }
        (writer.finish().unwrap(), bytes)
    }

    #[test]
    fn segments_come_with_their_blocks() {
        let mut tcp = vec![0, 80, 15, 160, 0, 0, 0, 7, 0, 0, 0, 9, 0x80, 16, 0, 0, 0, 0, 0, 0];
        tcp.extend([1, 1, 5, 10, 0, 0, 0, 20, 0, 0, 0, 30]);
        let (packets, bytes) = written(&[frame(6, &tcp, 100)]);
        assert_eq!((packets, bytes.len()), (1, 64));
        assert_eq!(&bytes[..8], 1_000_000_002u64.to_le_bytes());
        let rest = [1, 0, 0, 10, 6, 0, 0, 10, 80, 0, 160, 15];
        assert_eq!(&bytes[8..32], [&rest[..], &[7, 0, 0, 0, 100, 0, 16, 0, 9, 0, 0, 0]].concat());
        assert_eq!(&bytes[40..], [&rest[..], &[20, 0, 0, 0, 100, 0, 16, 1, 30, 0, 0, 0]].concat());
    }

    #[test]
    fn datagrams_have_their_payload_and_others_are_left_out() {
        let udp = [0, 80, 15, 160, 4, 188, 0, 0];
        let (packets, bytes) = written(&[frame(17, &udp, 1204), frame(1, &[8; 8], 0)]);
        assert_eq!((packets, bytes.len()), (1, 32));
        assert_eq!(&bytes[20..28], [0, 0, 0, 0, 180, 4, 0, 2]);
        let told =
            crate::udp::datagram::Datagram { connection: 1, number: 259, sent_ns: 5 }.encode();
        let (_, bytes) = written(&[frame(17, &[&udp[..], &told].concat(), 0)]);
        assert_eq!(&bytes[20..28], [3, 1, 0, 0, 24, 0, 0, 2]);
    }
}
