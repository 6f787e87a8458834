//! A client's connection: how far it is, and what it has received.

use crate::events::{Event, Log};
use crate::player::Player;
use crate::quic::inbox::Inbox;
use crate::quic::link::Link;
use crate::quic::transfer::take_data;
use crate::quic::STOPPED;
use crate::roles::playing::play;
use quinn_proto::{ConnectionError, StreamId, VarInt};

/// A connection that asks for data, from its planned start to its end.
pub struct Download {
    /// Its number among those of the flow.
    pub number: u32,
    /// How far it is.
    pub state: State,
    /// Its socket and QUIC connection, while there are any.
    pub link: Option<Link>,
    /// Plays what arrives, if it is a video.
    pub player: Option<Player>,
    /// Delivered so far.
    pub bytes: u64,
    /// What has arrived behind gaps.
    pub inbox: Inbox,
    /// Why the last attempt to connect failed.
    pub refused: Option<String>,
    /// Datagrams that found no room in the buffers of its sockets so far.
    pub dropped: u32,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// It is to be opened at this time, ns after the epoch.
    Waiting(i64),
    /// The handshake is under way.
    Connecting,
    /// Data comes in.
    Receiving(StreamId),
    /// All bytes are there; the server has not said yet that these are all.
    Closing(StreamId),
    /// It is closed; the player shows what has arrived.
    Showing,
    /// Over, for better or worse.
    Ended,
}

impl Download {
    /// One that is to begin `start_ns` after the epoch, and offers `window_bytes`.
    #[must_use]
    pub fn new(number: u32, start_ns: i64, player: Option<Player>, window_bytes: u64) -> Self {
        let state = State::Waiting(start_ns);
        let inbox = Inbox::new(window_bytes);
        Download { number, state, link: None, player, bytes: 0, inbox, refused: None, dropped: 0 }
    }

    /// Closes the socket, if there is one; what it had no room for is remembered.
    pub fn hang_up(&mut self) {
        if let Some(link) = self.link.take() {
            self.dropped += link.driver.datagrams().dropped().unwrap_or(0);
        }
    }

    /// Takes what has arrived; true: nothing more will come, and that is well.
    ///
    /// # Errors
    /// What is wrong with it, in words.
    pub fn receive(&mut self, wanted: Option<u64>, log: &mut Log) -> Result<bool, String> {
        let (State::Receiving(stream) | State::Closing(stream)) = self.state else {
            return Ok(false);
        };
        let Some(quic) = self.link.as_mut().and_then(Link::quic) else {
            return Ok(false);
        };
        let before = self.bytes;
        let end = take_data(quic, stream, &mut self.bytes, &mut self.inbox);
        let (connection, bytes) = (self.number, self.bytes);
        let now_ns = log.clock().now_ns();
        if before == 0 && bytes > 0 {
            log.at(now_ns, &Event::FirstByte { connection });
        }
        if wanted.is_some_and(|wanted| bytes > wanted) {
            return Err("the server sent more than was requested".into());
        }
        if let Some(player) = self.player.as_mut().filter(|_| bytes > before) {
            play(player, connection, bytes, now_ns, log);
        }
        let complete = wanted == Some(bytes);
        let finished = end?;
        if complete && matches!(self.state, State::Receiving(_)) && (bytes > 0 || finished) {
            log.at(now_ns, &Event::Done { connection, bytes });
            self.state = State::Closing(stream);
        }
        match (finished, complete) {
            (true, false) => Err(format!("the server closed after {} bytes", self.bytes)),
            (finished, _) => Ok(finished),
        }
    }

    /// Closes the connection, if there is one.
    pub fn close(&mut self, code: VarInt, reason: &str) {
        if let Some(link) = &mut self.link {
            link.close(code, reason);
        }
    }

    /// Why an established connection was lost, in words; `idle_s`: its idle timeout.
    #[must_use]
    pub fn why_lost(&self, reason: &ConnectionError, idle_s: f64) -> String {
        why_lost(self.bytes, reason, idle_s)
    }
}

/// Why a connection that had delivered `bytes` was lost, in words; `idle_s`: its idle timeout.
pub fn why_lost(bytes: u64, reason: &ConnectionError, idle_s: f64) -> String {
    match reason {
        ConnectionError::ApplicationClosed(close) if close.error_code == STOPPED => {
            format!("the server closed after {bytes} bytes")
        }
        ConnectionError::TimedOut => format!(
            "receiving after {bytes} bytes: nothing has come from the server for {idle_s} s"
        ),
        _ => format!("receiving after {bytes} bytes: {reason}"),
    }
}
