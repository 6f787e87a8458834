//! The connections of a web server that live: their samples, and what they have carried.

use crate::clock::Clock;
use crate::events::{Event, Log};
use crate::quic::report::{QuicEvent, Sample};
use crate::tcp_info;
use crate::web::report::WebEvent;
use crate::web::waiting::Sleeper;
use serde::Serialize;
use socket2::Socket;
use std::cell::{Cell, RefCell, RefMut};
use std::collections::BTreeMap;
use std::io;

/// What a connection is read by.
pub enum Probe {
    /// The socket, a second time.
    Tcp(Socket),
    /// The connection.
    Quic(quinn::Connection),
    /// There is nothing to read yet.
    Nothing,
}

struct Entry {
    probe: Probe,
    bytes: u64,
}

/// See the module. It also keeps the log, which all connections write to.
pub struct Living {
    log: RefCell<Log>,
    clock: Clock,
    ticks: Sleeper,
    every_ns: i64,
    next: Cell<u32>,
    entries: RefCell<BTreeMap<u32, Entry>>,
}

impl Living {
    /// None yet.
    pub fn new(log: Log, every_ns: i64) -> io::Result<Self> {
        let clock = log.clock();
        Ok(Living {
            log: RefCell::new(log),
            clock,
            ticks: Sleeper::new(clock)?,
            every_ns,
            next: Cell::new(0),
            entries: RefCell::default(),
        })
    }

    /// The clock of the log.
    pub fn clock(&self) -> Clock {
        self.clock
    }

    /// The time now, ns after the epoch.
    pub fn now_ns(&self) -> i64 {
        self.clock.now_ns()
    }

    /// The log.
    pub fn log(&self) -> RefMut<'_, Log> {
        self.log.borrow_mut()
    }

    /// Numbers a connection that has come.
    pub fn begin(&self, probe: Probe) -> io::Result<u32> {
        let number = self.next.get();
        self.next.set(number + 1);
        let mut entries = self.entries.borrow_mut();
        if entries.is_empty() {
            self.ticks.every(self.every_ns)?;
        }
        entries.insert(number, Entry { probe, bytes: 0 });
        Ok(number)
    }

    /// Sets what a connection is read by.
    pub fn probe(&self, number: u32, probe: Probe) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&number) {
            entry.probe = probe;
        }
    }

    /// Counts bytes of a connection.
    pub fn count(&self, number: u32, bytes: u64) {
        if let Some(entry) = self.entries.borrow_mut().get_mut(&number) {
            entry.bytes += bytes;
        }
    }

    /// Takes the last sample of a connection that has ended.
    pub fn end(&self, number: u32, error: Option<&str>) {
        let mut entries = self.entries.borrow_mut();
        let Some(entry) = entries.remove(&number) else {
            return;
        };
        if entries.is_empty() {
            // Else one tick too many finds nobody.
            let _ = self.ticks.disarm();
        }
        self.sample(number, &entry.probe);
        self.log().now(&WebEvent::Closed { connection: number, bytes: entry.bytes, error });
    }

    /// Ends all.
    pub fn end_all(&self) {
        let numbers: Vec<u32> = self.entries.borrow().keys().copied().collect();
        for number in numbers {
            self.end(number, None);
        }
    }

    /// Samples all at every tick, for ever.
    pub async fn watch(&self) -> io::Result<()> {
        loop {
            self.ticks.tick().await?;
            for (number, entry) in &*self.entries.borrow() {
                self.sample(*number, &entry.probe);
            }
        }
    }

    fn sample(&self, number: u32, probe: &Probe) {
        match probe {
            Probe::Tcp(socket) => {
                if let Ok(sample) = tcp_info::read(socket) {
                    self.log().now(&Event::Sample { connection: number, sample });
                }
            }
            Probe::Quic(connection) => {
                let controller = connection.congestion_state();
                let (stats, rtt) = (connection.stats(), connection.rtt());
                let sample = Sample::from(number, &stats, rtt, &*controller);
                self.log().now(&QuicEvent::Sample(sample));
            }
            Probe::Nothing => {}
        }
    }

    /// Writes an event that happens now.
    pub fn report(&self, event: &impl Serialize) {
        self.log().now(event);
    }
}
