//! A request and what follows on it, over one bidirectional stream of a connection.

use crate::block::{Memory, BLOCK_BYTES};
use crate::quic::inbox::Inbox;
use crate::quic::transport::PACKET_OVERHEAD;
use crate::request::{Request, REQUEST_BYTES};
use crate::source::Source;
use crate::workload::Workload;
use quinn_proto::{Connection, Dir, ReadError, StreamId, WriteError};
use std::time::{Duration, Instant};

/// Most data to hand over at once, bytes, where a send buffer limits it: what is handed over
/// together is freed when all of it is acknowledged.
const PIECE_BYTES: u64 = 16 << 10;

/// Sends a request on a new stream, and nothing after it.
///
/// # Errors
/// A message, if the server allows no stream.
pub fn send_request(quic: &mut Connection, request: Request) -> Result<StreamId, String> {
    let failed = |what: &dyn std::fmt::Display| format!("sending the request: {what}");
    let stream = quic.streams().open(Dir::Bi).ok_or_else(|| failed(&"no stream"))?;
    let mut sending = quic.send_stream(stream);
    // The window of a new stream takes 16 bytes at once, so there is no shorter count.
    sending.write(&request.encode()).map_err(|error| failed(&error))?;
    sending.finish().map_err(|error| failed(&error))?;
    Ok(stream)
}

/// Reads from a stream that holds a request and nothing else; None while it is not complete.
///
/// # Errors
/// A message, if it is none.
pub fn read_request(
    connection: &mut Connection,
    stream: StreamId,
    header: &mut Vec<u8>,
) -> Result<Option<Request>, String> {
    let mut stream = connection.recv_stream(stream);
    let mut chunks = stream.read(true).map_err(|error| format!("reading a request: {error}"))?;
    let end = loop {
        match chunks.next(REQUEST_BYTES + 1) {
            Ok(Some(chunk)) => header.extend_from_slice(&chunk.bytes),
            Ok(None) => break Ok(true),
            Err(ReadError::Blocked) => break Ok(false),
            Err(error) => break Err(format!("reading a request: {error}")),
        }
        if header.len() > REQUEST_BYTES {
            break Err("the client sent more than its request".into());
        }
    };
    // The window for requests is not used up, so nothing has to be said about it.
    let _ = chunks.finalize();
    let complete = end?;
    match <&[u8; REQUEST_BYTES]>::try_from(header.as_slice()) {
        Ok(header) => Request::decode(header).map(Some),
        Err(_) if complete => {
            Err(format!("a request has {} bytes instead of {REQUEST_BYTES}", header.len()))
        }
        Err(_) => Ok(None),
    }
}

/// Takes what has come on a stream; `bytes` becomes what has come without a gap. True: nothing more
/// will come.
///
/// # Errors
/// A message, if the server broke it off.
pub fn take_data(
    quic: &mut Connection,
    stream: StreamId,
    bytes: &mut u64,
    inbox: &mut Inbox,
) -> Result<bool, String> {
    let broken = |bytes: u64, error: &dyn std::fmt::Display| {
        format!("receiving after {bytes} bytes: {error}")
    };
    let mut stream = quic.recv_stream(stream);
    let mut chunks = stream.read(!inbox.unordered).map_err(|error| broken(*bytes, &error))?;
    let end = loop {
        match chunks.next(usize::MAX) {
            Ok(Some(chunk)) => *bytes = inbox.add(*bytes, chunk.offset, chunk.bytes.len() as u64),
            Ok(None) => break Ok(true),
            Err(ReadError::Blocked) => break Ok(false),
            Err(error) => break Err(broken(*bytes, &error)),
        }
    };
    // Flushed in any case.
    let _ = chunks.finalize();
    end
}

/// What a connection asked for, and how much of it QUIC has taken.
pub struct Transfer {
    /// Number of the connection.
    pub number: u32,
    stream: StreamId,
    source: Source,
    wanted: u64,
    /// Most data to hand over at once, bytes.
    piece_bytes: u64,
    began: Instant,
    sent: u64,
    /// Whether that is all, and QUIC knows.
    finished: bool,
    /// When more may be sent, if not all that may be sent already.
    due: Option<Instant>,
}

impl Transfer {
    /// What a request asks for on its stream, of which nothing has been sent; `buffer_bytes`: the
    /// connection's send buffer, None without a limit.
    #[must_use]
    pub fn new(
        workload: &Workload,
        request: Request,
        stream: StreamId,
        buffer_bytes: Option<u32>,
    ) -> Self {
        let Request { connection: number, bytes } = request;
        Transfer {
            number,
            stream,
            source: Source::new(workload, number, bytes, PACKET_OVERHEAD),
            wanted: bytes.unwrap_or(u64::MAX),
            // Without a limit much is handed over at once: fewer pieces cost less.
            piece_bytes: buffer_bytes.map_or(BLOCK_BYTES as u64, |_| PIECE_BYTES),
            began: Instant::now(),
            sent: 0,
            finished: false,
            due: None,
        }
    }

    /// Bytes that were handed over.
    #[must_use]
    pub fn sent(&self) -> u64 {
        self.sent
    }

    /// Whether all data has been handed over.
    #[must_use]
    pub fn finished(&self) -> bool {
        self.finished
    }

    /// When more may be sent; None: it waits for QUIC, or has ended.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Hands over data until QUIC takes no more, all that may be sent by now has been, or all.
    ///
    /// # Errors
    /// A message, if the client wants no more.
    pub fn send(&mut self, block: &Memory, connection: &mut Connection) -> Result<(), String> {
        if self.finished {
            return Ok(());
        }
        let mut stream = connection.send_stream(self.stream);
        self.due = None;
        while self.sent < self.wanted {
            let now_ns = self.began.elapsed().as_nanos() as i64;
            let allowed = self.source.allowed(self.sent, now_ns);
            if self.sent >= allowed {
                self.due = self
                    .source
                    .next_ns()
                    .map(|due_ns| self.began + Duration::from_nanos(due_ns.max(0) as u64));
                return Ok(());
            }
            let piece = block.at(self.sent, (allowed - self.sent).min(self.piece_bytes));
            match stream.write_chunks(&mut [piece]) {
                Ok(written) => self.sent += written.bytes as u64,
                Err(WriteError::Blocked) => return Ok(()),
                Err(error) => return Err(format!("sending: {error}")),
            }
        }
        self.finished = true;
        stream.finish().map_err(|error| format!("sending: {error}"))
    }
}
