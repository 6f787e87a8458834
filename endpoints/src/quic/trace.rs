//! A qlog file (JSON-SEQ, qlog 0.3): what quinn's qlog support writes, counted.
//!
//! JSON-SEQ has no end mark, so a file that was cut off between two records looks whole. The server
//! says at its end how many bytes belong to it (event `traced`).

use quinn_proto::{QlogConfig, QlogStream};
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// Bytes to collect before they are written.
const BLOCK_BYTES: usize = 256 << 10;

/// A qlog file that is being written.
pub struct Trace {
    /// Its name.
    pub file: String,
    stream: QlogStream,
    state: Arc<State>,
}

#[derive(Default)]
struct State {
    bytes: AtomicU64,
    failure: Mutex<Option<io::Error>>,
}

impl Trace {
    /// Creates a file; its times are ms after `epoch`.
    ///
    /// # Errors
    /// A message.
    pub fn create(flow: &str, epoch: Instant) -> Result<Self, String> {
        let file = format!("{flow}.server.sqlog");
        let cannot = |error: io::Error| format!("cannot write {file}: {error}");
        let state = Arc::new(State::default());
        let counting = Counting {
            inner: BufWriter::with_capacity(BLOCK_BYTES, File::create(&file).map_err(cannot)?),
            state: Arc::clone(&state),
        };
        let mut config = QlogConfig::default();
        config.writer(Box::new(counting)).title(Some(format!("{flow} (server)"))).start_time(epoch);
        let stream =
            config.into_stream().ok_or_else(|| format!("cannot write {file}: no header"))?;
        Ok(Trace { file, stream, state })
    }

    /// For a connection's configuration.
    #[must_use]
    pub fn stream(&self) -> QlogStream {
        self.stream.clone()
    }

    /// Ends the trace, once all connections are gone: name, and how many bytes were written.
    ///
    /// # Errors
    /// A message: the first failure to write.
    pub fn close(self) -> Result<(String, u64), String> {
        // The last owner of the writer flushes it.
        drop(self.stream);
        let mut failure = self.state.failure.lock().map_err(|error| error.to_string())?;
        match failure.take() {
            Some(error) => Err(format!("cannot write {}: {error}", self.file)),
            None => Ok((self.file, self.state.bytes.load(Ordering::Relaxed))),
        }
    }
}

/// Counts what is written, and keeps a failure, which quinn has no word for.
struct Counting {
    inner: BufWriter<File>,
    state: Arc<State>,
}

impl Counting {
    fn keep<T>(&self, result: io::Result<T>) -> io::Result<T> {
        if let (Err(error), Ok(mut failure)) = (&result, self.state.failure.lock()) {
            failure.get_or_insert(error.kind().into());
        }
        result
    }
}

impl Write for Counting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let result = self.inner.write(bytes);
        if let Ok(count) = result {
            self.state.bytes.fetch_add(count as u64, Ordering::Relaxed);
        }
        self.keep(result)
    }

    fn flush(&mut self) -> io::Result<()> {
        let result = self.inner.flush();
        self.keep(result)
    }
}

impl Drop for Counting {
    fn drop(&mut self) {
        let _ = self.flush();
    }
}
