//! How long each datagram was on its way: one binary file for all connections of a flow.
//!
//! A record has 16 bytes, little-endian: when the datagram arrived, ns after the epoch, and how
//! long before that it was sent, ns (8 bytes each). Datagrams that had arrived before have none.

use std::fs::File;
use std::io::{self, BufWriter, Write};

const BLOCK_BYTES: usize = 64 << 10;

/// The file of a flow.
pub struct Transits {
    name: String,
    file: BufWriter<Box<dyn Write>>,
    records: u64,
}

impl Transits {
    /// Creates the file of a flow in the working directory.
    ///
    /// # Errors
    /// A message.
    pub fn create(flow: &str) -> Result<Self, String> {
        let name = format!("{flow}.client.transits");
        let file = File::create(&name).map_err(|error| format!("cannot write {name}: {error}"))?;
        Ok(Transits::over(Box::new(file), name))
    }

    fn over(file: Box<dyn Write>, name: String) -> Self {
        Transits { name, file: BufWriter::with_capacity(BLOCK_BYTES, file), records: 0 }
    }

    /// Takes note of a datagram; times on one clock, ns after the epoch.
    ///
    /// # Errors
    /// A message.
    pub fn arrived(&mut self, sent_ns: i64, arrived_ns: i64) -> Result<(), String> {
        let mut record = [0; 16];
        let (time, transit) = record.split_at_mut(8);
        time.copy_from_slice(&arrived_ns.to_le_bytes());
        transit.copy_from_slice(&arrived_ns.saturating_sub(sent_ns).to_le_bytes());
        self.records += 1;
        self.file.write_all(&record).map_err(|error| self.failed(&error))
    }

    /// Writes out the rest: the file's name, and how many records it has.
    ///
    /// # Errors
    /// A message.
    pub fn close(&mut self) -> Result<(&str, u64), String> {
        self.file.flush().map_err(|error| self.failed(&error))?;
        Ok((&self.name, self.records))
    }

    fn failed(&self, error: &io::Error) -> String {
        format!("cannot write {}: {error}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::rc::Rc;

    #[derive(Clone, Default)]
    struct Shared(Rc<RefCell<Vec<u8>>>);

    impl Write for Shared {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.borrow_mut().write(bytes)
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn a_record_is_an_arrival_and_how_long_it_took() {
        let shared = Shared::default();
        let mut transits = Transits::over(Box::new(shared.clone()), "f".into());
        transits.arrived(5, 1 << 40).unwrap();
        transits.arrived(i64::MIN, 7).unwrap();
        assert_eq!(transits.close().unwrap(), ("f", 2));
        let bytes = shared.0.borrow();
        let word = |at: usize| i64::from_le_bytes(bytes[at..at + 8].try_into().unwrap());
        assert_eq!((bytes.len(), word(0), word(8)), (32, 1 << 40, (1 << 40) - 5));
        assert_eq!((word(16), word(24)), (7, i64::MAX));
    }
}
