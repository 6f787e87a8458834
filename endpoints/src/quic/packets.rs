//! The packets of a QUIC server that were acknowledged, and when: one binary file for all its
//! connections.
//!
//! A record has 24 bytes, little-endian: when the datagram was handed to the kernel and when the
//! first acknowledgement of it came (ns after the epoch, 8 bytes each), its number among all
//! datagrams that the server's socket has sent (from 0, 4 bytes), and its payload (4 bytes). Only
//! datagrams that ask for an acknowledgement have one. The number says which of the captured
//! datagrams it was.

use crate::clock::Clock;
use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// A write costs about as much as handling a packet: some thousand records share one.
const BLOCK_BYTES: usize = 64 << 10;
/// Datagrams of a connection that may wait for an acknowledgement; lost ones wait for ever.
const MOST_WAITING: usize = 1 << 16;
/// How often the two clocks are compared: NTP may slew the one that the epoch is on.
const COMPARED_EVERY: Duration = Duration::from_secs(1);

/// The file, which all connections share.
#[derive(Clone)]
pub struct PacketLog {
    state: Arc<Mutex<State>>,
}

struct State {
    name: String,
    file: BufWriter<Box<dyn Write + Send>>,
    clock: Clock,
    /// An instant, and the same on `clock`, ns.
    compared: (Instant, i64),
    /// How many datagrams the socket has sent.
    socket: Arc<AtomicU32>,
    records: u64,
    failure: Option<io::Error>,
}

impl PacketLog {
    /// Creates the file of a flow. socket: how many datagrams its socket has sent.
    ///
    /// # Errors
    /// A message.
    pub fn create(flow: &str, clock: Clock, socket: Arc<AtomicU32>) -> Result<Self, String> {
        let name = format!("{flow}.server.packets");
        let file = File::create(&name).map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(PacketLog::over(Box::new(file), name, clock, socket))
    }

    /// A log that is written to `file`.
    pub(crate) fn over(
        file: Box<dyn Write + Send>,
        name: String,
        clock: Clock,
        socket: Arc<AtomicU32>,
    ) -> Self {
        let file = BufWriter::with_capacity(BLOCK_BYTES, file);
        let compared = (Instant::now(), clock.now_ns());
        let state = State { name, file, clock, compared, socket, records: 0, failure: None };
        PacketLog { state: Arc::new(Mutex::new(state)) }
    }

    /// For one more connection.
    #[must_use]
    pub fn connection(&self) -> Packets {
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let socket = Arc::clone(&state.socket);
        Packets { log: self.clone(), socket, waiting: Arc::default() }
    }

    /// Writes out the rest: the file's name, and how many records it has.
    ///
    /// # Errors
    /// A message: the first failure to write.
    pub fn close(&self) -> Result<(String, u64), String> {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let flushed = state.file.flush();
        match state.failure.take().map_or(flushed, Err) {
            Ok(()) => Ok((state.name.clone(), state.records)),
            Err(error) => Err(format!("cannot write {}: {error}", state.name)),
        }
    }
}

impl State {
    fn write(&mut self, datagram: &Datagram, acknowledged: Instant) {
        if acknowledged.saturating_duration_since(self.compared.0) > COMPARED_EVERY {
            self.compared = (Instant::now(), self.clock.now_ns());
        }
        let times = [self.after_epoch_ns(datagram.sent), self.after_epoch_ns(acknowledged)];
        let mut record = [0; 24];
        let values = times.iter().flat_map(|ns| ns.to_le_bytes());
        let rest = [datagram.number, datagram.bytes];
        let values = values.chain(rest.iter().flat_map(|word| word.to_le_bytes()));
        for (place, byte) in record.iter_mut().zip(values) {
            *place = byte;
        }
        self.records += 1;
        if let Err(error) = self.file.write_all(&record) {
            self.failure.get_or_insert(error);
        }
    }

    fn after_epoch_ns(&self, instant: Instant) -> i64 {
        let (known, known_ns) = self.compared;
        let later = instant.saturating_duration_since(known).as_nanos() as i64;
        known_ns + later - known.saturating_duration_since(instant).as_nanos() as i64
    }
}

/// A datagram that waits for its acknowledgement.
#[derive(Debug, Clone, Copy)]
struct Datagram {
    sent: Instant,
    number: u32,
    bytes: u32,
    acknowledged: bool,
}

/// The datagrams of one connection. Its copies are the same.
#[derive(Clone)]
pub struct Packets {
    log: PacketLog,
    socket: Arc<AtomicU32>,
    waiting: Arc<Mutex<VecDeque<Datagram>>>,
}

impl Packets {
    /// A datagram is handed to the socket, next of all.
    pub fn sent(&self, now: Instant, bytes: u64) {
        let number = self.socket.load(Relaxed);
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        if waiting.len() == MOST_WAITING {
            waiting.pop_front();
        }
        waiting.push_back(Datagram { sent: now, number, bytes: bytes as u32, acknowledged: false });
    }

    /// A packet that was handed over at `sent` was acknowledged. Of several datagrams of one
    /// instant (quinn's own loop gives several one) they are taken in order; of several packets in
    /// one datagram the first counts.
    pub fn acknowledged(&self, now: Instant, sent: Instant) {
        let mut waiting = self.waiting.lock().unwrap_or_else(PoisonError::into_inner);
        let first = waiting.partition_point(|datagram| datagram.sent < sent);
        let Some(found) = waiting
            .range_mut(first..)
            .take_while(|datagram| datagram.sent == sent)
            .find(|datagram| !datagram.acknowledged)
        else {
            return;
        };
        found.acknowledged = true;
        let mut state = self.log.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.write(found, now);
        while waiting.front().is_some_and(|datagram| datagram.acknowledged) {
            waiting.pop_front();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Clone, Default)]
    struct Shared(Arc<Mutex<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn records_have_times_numbers_and_sizes() {
        let shared = Shared::default();
        let clock = Clock::new(crate::clock::realtime_ns());
        let socket = Arc::new(AtomicU32::new(0));
        let file = Box::new(shared.clone());
        let log = PacketLog::over(file, "f".into(), clock, Arc::clone(&socket));
        let (a, b) = (log.connection(), log.connection());
        let start = Instant::now();
        let at = |ms: u64| start + Duration::from_millis(ms);
        for (connection, ms, bytes) in [(&a, 0, 1200), (&b, 1, 40), (&a, 2, 1300), (&a, 2, 1400)] {
            connection.sent(at(ms), bytes);
            socket.fetch_add(1, Relaxed);
        }
        a.acknowledged(at(30), at(2));
        a.acknowledged(at(31), at(2));
        a.acknowledged(at(31), at(2)); // a second packet of a datagram
        a.acknowledged(at(32), at(0));
        assert_eq!(log.close().unwrap(), ("f".into(), 3));
        let bytes = shared.0.lock().unwrap().clone();
        assert_eq!(bytes.len(), 3 * 24);
        let word = |at: usize| u32::from_le_bytes(bytes[at..at + 4].try_into().unwrap());
        let time = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        let record = |n: usize| (word(n + 16), word(n + 20), time(n + 8) - time(n));
        let found: Vec<_> = (0..3).map(|n| record(24 * n)).collect();
        assert_eq!(found, [(2, 1300, 28_000_000), (3, 1400, 29_000_000), (0, 1200, 32_000_000)]);
        assert!(a.waiting.lock().unwrap().is_empty());
    }
}
