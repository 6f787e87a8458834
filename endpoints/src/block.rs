//! What servers send: a fixed pseudo-random block in memory, over and over.

use bytes::Bytes;
use nix::sys::memfd::{memfd_create, MFdFlags};
use nix::sys::sendfile::sendfile;
use socket2::Socket;
use std::fs::File;
use std::io::{self, Write};

/// Length of the block, bytes. Its pages stay in the processor's cache, and one `sendfile` fills a
/// large part of a send buffer.
pub const BLOCK_BYTES: usize = 256 << 10;

/// The block, as a file in memory: `sendfile` hands its pages to TCP without copying them, which
/// an emulated processor would pay for byte by byte.
#[derive(Debug)]
pub struct Block {
    file: File,
}

impl Block {
    /// Fills the block.
    pub fn new() -> io::Result<Self> {
        let mut file = File::from(memfd_create(c"fairc-block", MFdFlags::MFD_CLOEXEC)?);
        file.write_all(&content())?;
        Ok(Block { file })
    }

    /// Sends what comes at `position` of the endless stream of blocks, at most `most` bytes, as
    /// many as fit into the socket's buffer and at most to the end of the block.
    ///
    /// # Errors
    /// What the kernel says; `WouldBlock` when the buffer is full.
    pub fn send(&self, socket: &Socket, position: u64, most: u64) -> io::Result<u64> {
        let offset = (position % BLOCK_BYTES as u64) as usize;
        let left = BLOCK_BYTES - offset;
        let most = usize::try_from(most).map_or(left, |most| most.min(left));
        let mut offset = offset as libc::off_t;
        Ok(sendfile(socket, &self.file, Some(&mut offset), most)? as u64)
    }
}

/// The block in this program's memory: what QUIC sends of it is encrypted here, not in the kernel.
#[derive(Debug)]
pub struct Memory {
    bytes: Bytes,
}

impl Memory {
    /// Fills the block.
    #[must_use]
    pub fn new() -> Self {
        Memory { bytes: content().into() }
    }

    /// A block of small letters and white space: what may stand in a comment of any language.
    #[must_use]
    pub fn text() -> Self {
        const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz     \n";
        let letter = |byte: u8| LETTERS[usize::from(byte % 32)];
        Memory { bytes: content().into_iter().map(letter).collect::<Vec<u8>>().into() }
    }

    /// What comes at `position` of the endless stream of blocks: at most `most` bytes, at most to
    /// the end of the block. Shared, not copied.
    #[must_use]
    pub fn at(&self, position: u64, most: u64) -> Bytes {
        let offset = (position % BLOCK_BYTES as u64) as usize;
        let left = BLOCK_BYTES - offset;
        let most = usize::try_from(most).map_or(left, |most| most.min(left));
        self.bytes.slice(offset..offset + most)
    }
}

/// The block's bytes: xorshift64 (Marsaglia 2003, "Xorshift RNGs", section 3), little-endian.
fn content() -> Vec<u8> {
    let mut bytes = Vec::with_capacity(BLOCK_BYTES);
    let mut state = 0x2545_f491_4f6c_dd1d_u64;
    while bytes.len() < BLOCK_BYTES {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        bytes.extend_from_slice(&state.to_le_bytes());
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_block_in_memory_repeats() {
        let memory = Memory::new();
        let end = BLOCK_BYTES as u64;
        assert_eq!(memory.at(0, 9), content()[..9]);
        assert_eq!(memory.at(3 * end + 7, 9), content()[7..16]);
        assert_eq!(memory.at(end - 4, 9), content()[BLOCK_BYTES - 4..]);
    }

    #[test]
    fn the_content_is_fixed_and_uses_all_bytes_alike() {
        let bytes = content();
        assert_eq!(bytes.len(), BLOCK_BYTES);
        assert_eq!(bytes, content());
        let mut counts = [0_u32; 256];
        for byte in &bytes {
            counts[usize::from(*byte)] += 1;
        }
        // Expected 1024 each with a standard deviation of 32.
        assert!(counts.iter().all(|count| (800..1250).contains(count)));
    }
}
