//! Classic pcap files with timestamps in ns (draft-ietf-opsawg-pcap), little-endian, Ethernet.

use std::fs::File;
use std::io::{self, BufWriter, Write};

const MAGIC_NANOSECONDS: u32 = 0xa1b2_3c4d;
const VERSION: [u16; 2] = [2, 4];
const LINKTYPE_ETHERNET: u32 = 1;
/// A write costs about as much as handling a packet: some hundred packets share one.
const BLOCK_BYTES: usize = 64 << 10;

/// A packet as a capture sees it.
#[derive(Debug, Clone, Copy)]
pub struct Packet<'a> {
    /// When it passed, s of `CLOCK_REALTIME`.
    pub seconds: u32,
    /// The rest of the time, ns.
    pub nanoseconds: u32,
    /// Its length on the wire, bytes.
    pub length: u32,
    /// Its first bytes.
    pub head: &'a [u8],
}

/// A file that packets are appended to.
#[derive(Debug)]
pub struct Writer<W: Write> {
    file: BufWriter<W>,
    packets: u64,
}

impl Writer<File> {
    /// Creates a file, or empties one; packets will have at most `snaplen` bytes.
    pub fn create(path: &str, snaplen: u32) -> io::Result<Self> {
        Writer::new(File::create(path)?, snaplen)
    }
}

impl<W: Write> Writer<W> {
    fn new(file: W, snaplen: u32) -> io::Result<Self> {
        let mut file = BufWriter::with_capacity(BLOCK_BYTES, file);
        file.write_all(&MAGIC_NANOSECONDS.to_le_bytes())?;
        file.write_all(&VERSION[0].to_le_bytes())?;
        file.write_all(&VERSION[1].to_le_bytes())?;
        // Two words that nobody uses: time zone and accuracy.
        file.write_all(&[0; 8])?;
        file.write_all(&snaplen.to_le_bytes())?;
        file.write_all(&LINKTYPE_ETHERNET.to_le_bytes())?;
        Ok(Writer { file, packets: 0 })
    }

    /// Appends a packet.
    pub fn write(&mut self, packet: &Packet) -> io::Result<()> {
        let mut header = [0; 16];
        let words = [packet.seconds, packet.nanoseconds, packet.head.len() as u32, packet.length];
        for (place, word) in header.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        self.file.write_all(&header)?;
        self.file.write_all(packet.head)?;
        self.packets += 1;
        Ok(())
    }

    /// Writes out the rest; returns how many packets the file has.
    pub fn finish(mut self) -> io::Result<u64> {
        self.file.flush()?;
        Ok(self.packets)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_a_header_and_the_packets() {
        let mut bytes = Vec::new();
        let mut writer = Writer::new(&mut bytes, 96).unwrap();
        let packet = Packet { seconds: 1, nanoseconds: 2, length: 1514, head: &[7, 8, 9] };
        writer.write(&packet).unwrap();
        assert_eq!(writer.finish().unwrap(), 1);
        let expected = [
            &[0x4d, 0x3c, 0xb2, 0xa1, 2, 0, 4, 0][..],
            &[0; 8],
            &[96, 0, 0, 0, 1, 0, 0, 0],
            &[1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 0xea, 5, 0, 0],
            &[7, 8, 9],
        ]
        .concat();
        assert_eq!(bytes, expected);
    }
}
