//! A qlog file (JSON-SEQ, qlog 0.3): what quinn's qlog support writes, and the states of the
//! congestion controller (`recovery:congestion_state_updated`), which quinn does not know; counted.
//!
//! JSON-SEQ has no end mark, so a file that was cut off between two records looks whole. The server
//! says at its end how many bytes belong to it (event `traced`).

use quinn_proto::{QlogConfig, QlogStream};
use serde_json::json;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Instant;

/// Bytes to collect before they are written.
const BLOCK_BYTES: usize = 256 << 10;

/// A qlog file that is being written.
pub struct Trace {
    /// Its name.
    pub file: String,
    stream: QlogStream,
    output: Arc<Output>,
    epoch: Instant,
}

/// The file, and what was written.
#[derive(Debug)]
struct Output {
    writer: Mutex<BufWriter<File>>,
    bytes: AtomicU64,
    failure: Mutex<Option<io::Error>>,
}

impl Output {
    fn keep<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let (Err(error), Ok(mut failure)) = (&result, self.failure.lock()) {
            failure.get_or_insert(error.kind().into());
        }
        result
    }

    /// Writes all or a part, and says how much.
    fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.writer().and_then(|mut writer| writer.write(bytes));
        if let Ok(count) = result {
            self.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
        self.keep(result)
    }

    fn flush(&self) -> io::Result<()> {
        self.keep(self.writer().and_then(|mut writer| writer.flush()))
    }

    fn writer(&self) -> io::Result<MutexGuard<'_, BufWriter<File>>> {
        self.writer.lock().map_err(|_| io::Error::other("its writer failed"))
    }
}

impl Trace {
    /// Creates a file; its times are ms after `epoch`.
    ///
    /// # Errors
    /// A message.
    pub fn create(flow: &str, epoch: Instant) -> Result<Self, String> {
        let file = format!("{flow}.server.sqlog");
        let cannot = |error: io::Error| format!("cannot write {file}: {error}");
        let output = Arc::new(Output {
            writer: Mutex::new(BufWriter::with_capacity(
                BLOCK_BYTES,
                File::create(&file).map_err(cannot)?,
            )),
            bytes: AtomicU64::new(0),
            failure: Mutex::new(None),
        });
        let way = Box::new(Way(Arc::clone(&output)));
        let mut config = QlogConfig::default();
        config.writer(way).title(Some(format!("{flow} (server)"))).start_time(epoch);
        let stream =
            config.into_stream().ok_or_else(|| format!("cannot write {file}: no header"))?;
        Ok(Trace { file, stream, output, epoch })
    }

    /// For a connection's configuration.
    #[must_use]
    pub fn stream(&self) -> QlogStream {
        self.stream.clone()
    }

    /// For its congestion controller; `id`: what quinn's events call the connection.
    #[must_use]
    pub fn states(&self, id: String) -> States {
        States { output: Arc::clone(&self.output), epoch: self.epoch, id }
    }

    /// Ends the trace, once all connections are gone: name, and how many bytes were written.
    ///
    /// # Errors
    /// A message: the first failure to write.
    pub fn close(self) -> Result<(String, u64), String> {
        // quinn's part is written when its last owner is gone.
        drop(self.stream);
        let _ = self.output.flush();
        let mut failure = self.output.failure.lock().map_err(|error| error.to_string())?;
        match failure.take() {
            Some(error) => Err(format!("cannot write {}: {error}", self.file)),
            None => Ok((self.file, self.output.bytes.load(Ordering::Relaxed))),
        }
    }
}

/// A way to the file, quinn's among them. Each writes whole records, one after the other.
struct Way(Arc<Output>);

impl Write for Way {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

/// Where the states of a connection's congestion controller are written down.
#[derive(Debug, Clone)]
pub struct States {
    output: Arc<Output>,
    epoch: Instant,
    id: String,
}

impl States {
    /// Writes that a state followed another; `why`: a trigger that qlog knows. A failure is kept,
    /// and told when the trace is closed.
    pub fn changed(&self, now: Instant, old: Option<&str>, new: Option<&str>, why: Option<&str>) {
        let mut data = json!({"new": new.unwrap_or("none")});
        if let Some(old) = old {
            data["old"] = old.into();
        }
        if let Some(why) = why {
            data["trigger"] = why.into();
        }
        let event = json!({
            "time": now.saturating_duration_since(self.epoch).as_secs_f64() * 1000.0,
            "name": "recovery:congestion_state_updated",
            "data": data,
            "group_id": self.id,
        });
        let _ = Way(Arc::clone(&self.output)).write_all(format!("\u{1e}{event}\n").as_bytes());
    }
}
