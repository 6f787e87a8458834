//! A request over QUIC: its connection, how far it is, and what it has received.

use crate::events::Log;
use crate::failure::Failure;
use crate::quic::description::QuicClient;
use crate::quic::inbox::Inbox;
use crate::quic::link::Link;
use crate::quic::report::QuicEvent;
use crate::quic::transfer::{send_request, take_data};
use crate::quic::{DONE, STOPPED};
use crate::request::Request;
use crate::roles::quic_download::why_lost;
use crate::roles::request_streams::{Asked, Stream};
use quinn_proto::{ConnectionError, StreamId};
use std::time::Instant;

/// A request whose connection is there, or is to be.
pub struct Fetch {
    /// What is asked for.
    pub asked: Asked,
    /// Its socket and QUIC connection, while there are any.
    pub link: Option<Link>,
    /// Delivered so far.
    pub bytes: u64,
    /// What has arrived behind gaps.
    pub inbox: Inbox,
    /// How far it is.
    pub state: State,
    /// The earliest deadline of it that is noted.
    pub noted: Option<Instant>,
}

/// How far a request is.
pub enum State {
    /// Its last attempt to connect failed so; it is tried again later.
    Refused(String),
    /// The handshake is under way.
    Connecting,
    /// Data comes in.
    Receiving(StreamId),
    /// All bytes are there; the server has not said yet that these are all.
    Closing(StreamId),
    /// It is closed, and stays to answer what is under way.
    Closed,
}

impl Fetch {
    /// One that has no connection yet.
    #[must_use]
    pub fn new(asked: Asked) -> Self {
        let inbox = Inbox::default();
        Fetch { asked, link: None, bytes: 0, inbox, state: State::Connecting, noted: None }
    }

    /// Whether its handshake is under way.
    #[must_use]
    pub fn connecting(&self) -> bool {
        matches!(self.state, State::Connecting)
    }

    /// Asks, on a connection that is established.
    ///
    /// # Errors
    /// A server that allows no stream.
    pub fn send(
        &mut self,
        description: &QuicClient,
        of: &mut Stream,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let Some(link) = &mut self.link else {
            return Ok(());
        };
        let (connection, mtu) = (self.asked.stream, link.mtu);
        if of.connects() {
            let receive_window_bytes = description.receive_window_bytes();
            log.now(&QuicEvent::Connected { connection, receive_window_bytes, mtu });
        }
        let Some(quic) = link.quic() else {
            return Ok(());
        };
        let request = Request { connection, bytes: Some(self.asked.wanted) };
        let stream = send_request(quic, request).map_err(|why| self.asked.failed(&why))?;
        self.inbox = Inbox::new(description.receive_window_bytes().into());
        self.state = State::Receiving(stream);
        Ok(())
    }

    /// Takes what has arrived, and closes the connection when that is all.
    ///
    /// # Errors
    /// Other data than was asked for.
    pub fn take(&mut self, of: &mut Stream, log: &mut Log) -> Result<(), Failure> {
        let (State::Receiving(stream) | State::Closing(stream)) = self.state else {
            return Ok(());
        };
        let Some(quic) = self.link.as_mut().and_then(Link::quic) else {
            return Ok(());
        };
        let before = self.bytes;
        let finished = take_data(quic, stream, &mut self.bytes, &mut self.inbox)
            .map_err(|message| self.asked.failed(&message))?;
        let (bytes, wanted) = (self.bytes, self.asked.wanted);
        if bytes > wanted {
            return Err(self.asked.failed("the server sent more than was requested"));
        }
        if bytes > before {
            let now_ns = of.deliver(&mut self.asked, before, bytes, log);
            if bytes == wanted {
                self.asked.fetched(now_ns, log);
                self.state = State::Closing(stream);
            }
        }
        if finished && bytes < wanted {
            return Err(self.asked.failed(&format!("the server closed after {bytes} bytes")));
        }
        if finished {
            self.close();
        }
        Ok(())
    }

    /// Does what the loss of an established connection means.
    ///
    /// # Errors
    /// A loss before all bytes were there.
    pub fn lost(&mut self, reason: &ConnectionError, idle_ns: i64) -> Result<(), Failure> {
        if matches!(self.state, State::Closing(_) | State::Closed) {
            self.state = State::Closed;
            return Ok(());
        }
        Err(self.asked.failed(&why_lost(self.bytes, reason, idle_ns as f64 / 1e9)))
    }

    /// Ends it as it is, because the flow ends.
    ///
    /// # Errors
    /// It never had a connection, for a reason.
    pub fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        match &self.state {
            State::Refused(why) => Err(self.asked.failed(&format!("could not connect: {why}"))),
            State::Connecting | State::Receiving(_) => {
                self.asked.unfinished(self.bytes, log);
                // The server shall not go on sending to nobody.
                if let Some(link) = &mut self.link {
                    link.close(STOPPED, "stopped");
                }
                self.state = State::Closed;
                Ok(())
            }
            State::Closing(_) => {
                self.close();
                Ok(())
            }
            State::Closed => Ok(()),
        }
    }

    fn close(&mut self) {
        self.state = State::Closed;
        if let Some(link) = &mut self.link {
            link.close(DONE, "");
        }
    }
}
