//! Counts of ECN marks in acknowledgements, for congestion controllers that answer each mark (L4S,
//! RFC 9331).
//!
//! quinn (quinn-proto 0.11) tells a controller that an ACK frame reports marks, not how many, and
//! takes ECT(0) for the only codepoint that it sends: it validates the counts of that one (RFC
//! 9000, section 13.4.2). Its session is a trait, so the counts are read here, where packets are
//! decrypted. Of an ACK frame with ECN counts (type 0x03) those of ECT(0) and ECT(1) are exchanged:
//! quinn then validates ECT(1), which the driver has sent where quinn said ECT(0), as strictly as
//! it would ECT(0). Frames keep their length.

use bytes::BytesMut;
use quinn_proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, KeyPair, Keys, PacketKey, ServerConfig,
    Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{ConnectionId, Side, TransportError};
use std::any::Any;
use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

const ACK_ECN: u64 = 0x03;
const NEW_CONNECTION_ID: u64 = 0x18;
/// What follows the connection id in its frame: a token for a stateless reset, bytes.
const RESET_TOKEN: usize = 16;

/// How many packets with CE the receiver of a connection has counted. Its copies are the same.
#[derive(Debug, Clone, Default)]
pub struct Marks(Arc<AtomicU64>);

impl Marks {
    /// Packets with data of the application, so far.
    #[must_use]
    pub fn packets(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Takes a count. Counts only grow, so one that came late changes nothing.
    pub(crate) fn take(&self, packets: u64) {
        self.0.fetch_max(packets, Relaxed);
    }
}

/// A server's configuration of TLS whose sessions read the counts.
pub struct Counting {
    /// The configuration of TLS.
    pub inner: Arc<dyn ServerConfig>,
    /// What they count.
    pub marks: Marks,
}

impl ServerConfig for Counting {
    fn initial_keys(
        &self,
        version: u32,
        dst_cid: &ConnectionId,
    ) -> Result<Keys, UnsupportedVersion> {
        self.inner.initial_keys(version, dst_cid)
    }

    fn retry_tag(&self, version: u32, orig_dst_cid: &ConnectionId, packet: &[u8]) -> [u8; 16] {
        self.inner.retry_tag(version, orig_dst_cid, packet)
    }

    fn start_session(
        self: Arc<Self>,
        version: u32,
        params: &TransportParameters,
    ) -> Box<dyn Session> {
        Box::new(CountingSession {
            inner: Arc::clone(&self.inner).start_session(version, params),
            marks: self.marks.clone(),
            keys: 0,
        })
    }
}

struct CountingSession {
    inner: Box<dyn Session>,
    marks: Marks,
    /// Sets of keys that the handshake has given: its own, then those of the application.
    keys: u32,
}

/// The keys by which packets of a space are read; of the application's, marks are counted.
fn counting(key: Box<dyn PacketKey>, marks: Option<&Marks>) -> Box<dyn PacketKey> {
    Box::new(CountingKey { inner: key, marks: marks.cloned() })
}

impl Session for CountingSession {
    fn initial_keys(&self, dst_cid: &ConnectionId, side: Side) -> Keys {
        let mut keys = self.inner.initial_keys(dst_cid, side);
        keys.packet.remote = counting(keys.packet.remote, None);
        keys
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        self.inner.handshake_data()
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        self.inner.peer_identity()
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        self.inner.early_crypto()
    }

    fn early_data_accepted(&self) -> Option<bool> {
        self.inner.early_data_accepted()
    }

    fn is_handshaking(&self) -> bool {
        self.inner.is_handshaking()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.inner.read_handshake(buf)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        self.inner.transport_parameters()
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let mut keys = self.inner.write_handshake(buf)?;
        self.keys += 1;
        let marks = (self.keys > 1).then_some(&self.marks);
        keys.packet.remote = counting(keys.packet.remote, marks);
        Some(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        let mut keys = self.inner.next_1rtt_keys()?;
        keys.remote = counting(keys.remote, Some(&self.marks));
        Some(keys)
    }

    fn is_valid_retry(&self, orig_dst_cid: &ConnectionId, header: &[u8], payload: &[u8]) -> bool {
        self.inner.is_valid_retry(orig_dst_cid, header, payload)
    }

    fn export_keying_material(
        &self,
        output: &mut [u8],
        label: &[u8],
        context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        self.inner.export_keying_material(output, label, context)
    }
}

struct CountingKey {
    inner: Box<dyn PacketKey>,
    /// None: of the handshake, whose packets are counted apart.
    marks: Option<Marks>,
}

impl PacketKey for CountingKey {
    fn encrypt(&self, packet: u64, buf: &mut [u8], header_len: usize) {
        self.inner.encrypt(packet, buf, header_len);
    }

    fn decrypt(
        &self,
        packet: u64,
        header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.inner.decrypt(packet, header, payload)?;
        if let Some(counts) = Counts::find(payload) {
            if let Some(marks) = &self.marks {
                marks.take(counts.ce);
            }
            counts.exchange(payload);
        }
        Ok(())
    }

    fn tag_len(&self) -> usize {
        self.inner.tag_len()
    }

    fn confidentiality_limit(&self) -> u64 {
        self.inner.confidentiality_limit()
    }

    fn integrity_limit(&self) -> u64 {
        self.inner.integrity_limit()
    }
}

/// The counts of an ACK frame: where those of ECT(0) and ECT(1) are, and that of CE.
#[derive(Debug, PartialEq, Eq)]
struct Counts {
    ect0: Range<usize>,
    ect1: Range<usize>,
    ce: u64,
}

impl Counts {
    /// Finds them in the payload of a packet, whatever frames lie before (RFC 9000, section 19).
    fn find(payload: &[u8]) -> Option<Self> {
        let mut reader = Reader { payload, at: 0 };
        while reader.at < payload.len() {
            let kind = reader.variable()?;
            if kind == ACK_ECN {
                reader.skip_ranges()?;
                let (ect0, ect1) = (reader.place()?, reader.place()?);
                return Some(Counts { ect0, ect1, ce: reader.variable()? });
            }
            reader.skip(kind)?;
        }
        None
    }

    /// Exchanges those of ECT(0) and ECT(1), which lie side by side.
    fn exchange(&self, payload: &mut [u8]) {
        payload[self.ect0.start..self.ect1.end].rotate_left(self.ect0.len());
    }
}

/// What of a payload is still to be read.
struct Reader<'a> {
    payload: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn variable(&mut self) -> Option<u64> {
        let (value, length) = variable(self.payload.get(self.at..)?)?;
        self.at += length;
        Some(value)
    }

    /// Where the next integer lies.
    fn place(&mut self) -> Option<Range<usize>> {
        let start = self.at;
        self.variable()?;
        Some(start..self.at)
    }

    fn bytes(&mut self, count: usize) -> Option<()> {
        self.at = self.at.checked_add(count)?;
        (self.at <= self.payload.len()).then_some(())
    }

    /// Passes over what an ACK frame has before its counts: the first range has a length, every
    /// other one a gap as well.
    fn skip_ranges(&mut self) -> Option<()> {
        let (_largest, _delay) = (self.variable()?, self.variable()?);
        let ranges = self.variable()?;
        (0..ranges.checked_mul(2)?.checked_add(1)?).try_for_each(|_| self.variable().map(drop))
    }

    /// Passes over a frame of this type; None for one that is not known, or ends the payload.
    fn skip(&mut self, kind: u64) -> Option<()> {
        let (integers, has_data) = match kind {
            // PADDING, PING, HANDSHAKE_DONE, IMMEDIATE_ACK.
            0x00 | 0x01 | 0x1e | 0x1f => (0, false),
            0x02 => return self.skip_ranges(),
            // MAX_DATA, MAX_STREAMS, DATA_BLOCKED, STREAMS_BLOCKED, RETIRE_CONNECTION_ID.
            0x10 | 0x12..=0x14 | 0x16 | 0x17 | 0x19 => (1, false),
            // STOP_SENDING, MAX_STREAM_DATA, STREAM_DATA_BLOCKED.
            0x05 | 0x11 | 0x15 => (2, false),
            // RESET_STREAM.
            0x04 => (3, false),
            // NEW_TOKEN.
            0x07 => (0, true),
            // CRYPTO; STREAM, whose bits tell of an offset and of a length.
            0x06 | 0x0a | 0x0b => (1, true),
            0x0e | 0x0f => (2, true),
            NEW_CONNECTION_ID => {
                let (_sequence, _retired) = (self.variable()?, self.variable()?);
                let id = *self.payload.get(self.at)?;
                return self.bytes(1 + usize::from(id) + RESET_TOKEN);
            }
            _ => return None,
        };
        (0..integers).try_for_each(|_| self.variable().map(drop))?;
        if has_data {
            let length = self.variable()?;
            self.bytes(usize::try_from(length).ok()?)?;
        }
        Some(())
    }
}

/// Reads an integer of variable length (RFC 9000, section 16), and how many bytes it has.
fn variable(bytes: &[u8]) -> Option<(u64, usize)> {
    let first = *bytes.first()?;
    let length = 1 << (first >> 6);
    let rest = bytes.get(1..length)?;
    let value = rest.iter().fold(u64::from(first & 0x3f), |sum, byte| sum << 8 | u64::from(*byte));
    Some((value, length))
}

#[cfg(all(test, not(feature = "bbr3-peer")))]
mod tests;
