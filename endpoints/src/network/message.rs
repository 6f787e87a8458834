//! The wire format of netlink (netlink(7)): a header, a fixed part, and attributes, aligned to four
//! bytes.

/// Length of `struct nlmsghdr`.
pub const HEADER: usize = 16;
/// Length of `struct nlattr`.
const ATTRIBUTE: usize = 4;
/// The bits of an attribute's type that say which one it is (`NLA_TYPE_MASK`).
const TYPE_MASK: u16 = 0x3fff;
const NESTED: u16 = 0x8000;

/// A message that is being written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    bytes: Vec<u8>,
}

impl Message {
    /// Begins a request of a kind (`RTM_...`) with flags (`NLM_F_...`) and its fixed part.
    #[must_use]
    pub fn request(kind: u16, flags: i32, fixed: &[u8]) -> Self {
        let mut message = Message { bytes: Vec::with_capacity(256) };
        message.bytes.extend_from_slice(&[0; 4]);
        message.bytes.extend_from_slice(&kind.to_ne_bytes());
        message.bytes.extend_from_slice(&((libc::NLM_F_REQUEST | flags) as u16).to_ne_bytes());
        message.bytes.extend_from_slice(&[0; 8]);
        message.bytes.extend_from_slice(fixed);
        message.align();
        message
    }

    /// Begins a list of attributes on its own.
    #[must_use]
    pub fn attributes() -> Self {
        Message { bytes: Vec::new() }
    }

    /// Adds an attribute.
    pub fn put(&mut self, kind: u16, payload: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(&((ATTRIBUTE + payload.len()) as u16).to_ne_bytes());
        self.bytes.extend_from_slice(&kind.to_ne_bytes());
        self.bytes.extend_from_slice(payload);
        self.align();
        self
    }

    /// Adds an attribute of one byte.
    pub fn put_u8(&mut self, kind: u16, value: u8) -> &mut Self {
        self.put(kind, &[value])
    }

    /// Adds an attribute of four bytes.
    pub fn put_u32(&mut self, kind: u16, value: u32) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds an attribute of eight bytes.
    pub fn put_u64(&mut self, kind: u16, value: u64) -> &mut Self {
        self.put(kind, &value.to_ne_bytes())
    }

    /// Adds bytes that are no attribute: a fixed part within one.
    pub fn raw(&mut self, bytes: &[u8]) -> &mut Self {
        self.bytes.extend_from_slice(bytes);
        self.align();
        self
    }

    /// Adds a text with its closing zero.
    pub fn put_text(&mut self, kind: u16, text: &str) -> &mut Self {
        let mut payload = text.as_bytes().to_vec();
        payload.push(0);
        self.put(kind, &payload)
    }

    /// Adds an attribute that holds attributes; `fill` writes them.
    pub fn nest(&mut self, kind: u16, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let begin = self.bytes.len();
        self.put(kind | NESTED, &[]);
        fill(self);
        let length = (self.bytes.len() - begin) as u16;
        self.bytes[begin..begin + 2].copy_from_slice(&length.to_ne_bytes());
        self
    }

    /// Adds what was written as attributes on its own.
    pub fn append(&mut self, other: &Message) -> &mut Self {
        self.bytes.extend_from_slice(&other.bytes);
        self
    }

    /// What was written so far: of attributes on their own, without a header.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Ends the message: its length, its number and more flags are written into its header.
    #[must_use]
    pub fn finish(&mut self, sequence: u32, more_flags: i32) -> &[u8] {
        let length = self.bytes.len() as u32;
        self.bytes[..4].copy_from_slice(&length.to_ne_bytes());
        let flags = u16::from_ne_bytes([self.bytes[6], self.bytes[7]]) | more_flags as u16;
        self.bytes[6..8].copy_from_slice(&flags.to_ne_bytes());
        self.bytes[8..12].copy_from_slice(&sequence.to_ne_bytes());
        &self.bytes
    }

    fn align(&mut self) {
        self.bytes.resize(self.bytes.len().next_multiple_of(4), 0);
    }
}

/// The attributes in some bytes; those that are cut off are left out.
pub fn attributes(bytes: &[u8]) -> impl Iterator<Item = (u16, &[u8])> {
    let mut left = bytes;
    std::iter::from_fn(move || {
        let length = usize::from(u16::from_ne_bytes(left.get(..2)?.try_into().ok()?));
        let kind = u16::from_ne_bytes(left.get(2..4)?.try_into().ok()?);
        let payload = left.get(ATTRIBUTE..length)?;
        left = left.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind & TYPE_MASK, payload))
    })
}

/// The attribute of a kind, or None.
#[must_use]
pub fn find(bytes: &[u8], kind: u16) -> Option<&[u8]> {
    attributes(bytes).find(|(found, _)| *found == kind).map(|(_, payload)| payload)
}

/// Four bytes at an offset; 0 where there are fewer: newer kernels append.
#[must_use]
pub fn u32_at(bytes: &[u8], offset: usize) -> u32 {
    bytes
        .get(offset..offset + 4)
        .and_then(|four| four.try_into().ok())
        .map_or(0, u32::from_ne_bytes)
}

/// Eight bytes at an offset; 0 where there are fewer.
#[must_use]
pub fn u64_at(bytes: &[u8], offset: usize) -> u64 {
    bytes
        .get(offset..offset + 8)
        .and_then(|eight| eight.try_into().ok())
        .map_or(0, u64::from_ne_bytes)
}

/// A text up to its closing zero.
#[must_use]
pub fn text(bytes: &[u8]) -> String {
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(bytes.len());
    String::from_utf8_lossy(&bytes[..end]).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_back() {
        let mut message = Message::request(36, libc::NLM_F_CREATE, &[1, 2, 3, 4, 5]);
        message.put_text(1, "pie").nest(2, |options| {
            options.put_u32(1, 7).put_u8(2, 9);
        });
        let bytes = message.finish(3, libc::NLM_F_ACK).to_vec();
        assert_eq!(u32_at(&bytes, 0) as usize, bytes.len());
        assert_eq!(u32_at(&bytes, 8), 3);
        let flags = u16::from_ne_bytes([bytes[6], bytes[7]]);
        assert_eq!(i32::from(flags), libc::NLM_F_REQUEST | libc::NLM_F_CREATE | libc::NLM_F_ACK);
        let payload = &bytes[HEADER + 8..]; // five bytes, aligned to eight
        assert_eq!(text(find(payload, 1).unwrap()), "pie");
        let options = find(payload, 2).unwrap();
        assert_eq!(u32_at(find(options, 1).unwrap(), 0), 7);
        assert_eq!(find(options, 2), Some([9].as_slice()));
        assert_eq!(find(options, 3), None);
    }

    #[test]
    fn what_is_cut_off_is_left_out() {
        let mut message = Message::attributes();
        message.put_u32(1, 7).put_u32(2, 8);
        for length in 8..16 {
            assert_eq!(attributes(&message.bytes()[..length]).count(), 1, "{length}");
        }
        assert_eq!(
            attributes(&[0, 0, 0, 0]).count(),
            0,
            "an attribute is no shorter than its head"
        );
        assert_eq!(u32_at(&[1, 2, 3], 0), 0);
    }
}
