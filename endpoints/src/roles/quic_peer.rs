//! A connection that a server has accepted: how far it is, and how it ends.

use crate::block::Memory;
use crate::quic::transfer::Transfer;
use crate::quic::{DONE, REFUSED, STOPPED};
use quinn_proto::{Connection, ConnectionError};
use std::time::Instant;

/// An accepted connection.
pub struct Peer {
    /// When the handshake was complete, ns after the epoch.
    pub accepted_ns: Option<i64>,
    /// How far it is.
    pub state: State,
}

/// How far a connection is.
pub enum State {
    /// The request has not come completely.
    Asking { header: Vec<u8> },
    /// Data goes out, or has and is not acknowledged.
    Sending(Box<Transfer>),
}

/// How a connection ended.
pub enum End {
    /// The client has all its data.
    Complete,
    /// The client went away, or SIGTERM came.
    Stopped,
    /// Something failed.
    Failed(String),
    /// It never said what it wants. A client that was stopped that early tells so itself.
    Silent,
}

impl Default for Peer {
    fn default() -> Self {
        Peer { accepted_ns: None, state: State::Asking { header: Vec::new() } }
    }
}

impl Peer {
    /// When its next data becomes due, if it waits for that.
    #[must_use]
    pub fn due(&self) -> Option<Instant> {
        match &self.state {
            State::Sending(transfer) => transfer.due(),
            State::Asking { .. } => None,
        }
    }

    /// Its number, once it has asked for something.
    #[must_use]
    pub fn number(&self) -> Option<u32> {
        match &self.state {
            State::Sending(transfer) => Some(transfer.number),
            State::Asking { .. } => None,
        }
    }

    /// Bytes that were handed to QUIC.
    #[must_use]
    pub fn sent(&self) -> u64 {
        match &self.state {
            State::Sending(transfer) => transfer.sent(),
            State::Asking { .. } => 0,
        }
    }

    /// Hands over data until QUIC takes no more, all that may be sent by now has been, or all.
    pub fn send(&mut self, block: &Memory, connection: &mut Connection) -> Option<End> {
        let State::Sending(transfer) = &mut self.state else {
            return None;
        };
        transfer.send(block, connection).err().map(End::Failed)
    }

    /// How a connection ended that QUIC has lost.
    #[must_use]
    pub fn lost(&self, reason: &ConnectionError) -> End {
        match (&self.state, reason) {
            (State::Sending(transfer), ConnectionError::ApplicationClosed(close))
                if transfer.finished() && close.error_code == DONE =>
            {
                End::Complete
            }
            (State::Asking { .. }, _) => End::Silent,
            (_, ConnectionError::ApplicationClosed(close))
                if close.error_code == DONE || close.error_code == STOPPED =>
            {
                End::Stopped
            }
            // A client that is gone, and one whose last word got lost: what it had, is its to say.
            (_, ConnectionError::Reset | ConnectionError::TimedOut) => End::Stopped,
            _ => End::Failed(format!("sending: {reason}")),
        }
    }
}

impl End {
    /// Tells the client, by closing the connection; without effect on one that is closed or lost already.
    pub fn close(&self, connection: &mut Connection) {
        let (code, reason) = match self {
            End::Complete => (DONE, ""),
            End::Stopped | End::Silent => (STOPPED, "stopped"),
            End::Failed(message) => (REFUSED, message.as_str()),
        };
        connection.close(Instant::now(), code, reason.to_owned().into());
    }
}
