//! What happens to the connections of a server on the wire: how they come, ask, are sent to and end.

use super::Server;
use crate::events::{Event, Log};
use crate::failure::Failure;
use crate::quic::report::{self, Sample};
use crate::quic::trace::Trace;
use crate::quic::transfer::{read_request, Transfer};
use crate::quic::transport;
use crate::request::Request;
use crate::roles::quic_peer::{End, Peer, State};
use quinn_proto::{
    Connection, ConnectionHandle, Dir, Event as QuicEvent, Incoming, StreamEvent, StreamId,
};
use std::net::SocketAddr;
use std::sync::Arc;

impl Server {
    pub(super) fn accept(&mut self, incoming: Incoming) -> Result<(), Failure> {
        let SocketAddr::V4(from) = incoming.remote_address() else {
            return Ok(());
        };
        let Ok(payload_bytes) = transport::payload_bytes(from) else {
            // No way leads back to this client now; it will ask again.
            self.driver.ignore(incoming);
            return Ok(());
        };
        let transport = transport::server(
            &self.cca.factory,
            payload_bytes,
            self.send_buffer_bytes(),
            self.description.rate_bps.is_some(),
            self.description.idle_timeout_ns,
            &self.packets,
            self.trace.as_ref().map(Trace::stream),
        )
        .map_err(Failure::Work)?;
        let mut config = self.config.clone();
        config.transport_config(Arc::new(transport));
        if let Some(handle) = self.driver.accept(incoming, Arc::new(config)) {
            if self.peers.len() <= handle.0 {
                self.peers.resize_with(handle.0 + 1, || None);
            }
            self.peers[handle.0] = Some(Peer::default());
        }
        Ok(())
    }

    /// Does what can be done for one connection.
    pub(super) fn serve(&mut self, handle: ConnectionHandle, log: &mut Log) -> Result<(), Failure> {
        let Some(mut peer) = self.peers[handle.0].take() else {
            return Ok(());
        };
        let mut end = None;
        while let Some(event) = self.connection(handle)?.poll() {
            let over = match event {
                QuicEvent::Connected => {
                    peer.accepted_ns = Some(log.clock().now_ns());
                    None
                }
                QuicEvent::ConnectionLost { reason } => Some(peer.lost(&reason)),
                QuicEvent::Stream(event) => self.stream_event(handle, &mut peer, &event, log)?,
                _ => None,
            };
            end = end.or(over);
        }
        if end.is_none() {
            end = self.driver.connection(handle).and_then(|quic| peer.send(&self.block, quic));
        }
        match end {
            Some(end) => self.end(handle, &peer, end, log)?,
            None => self.peers[handle.0] = Some(peer),
        }
        Ok(())
    }

    fn connection(&mut self, handle: ConnectionHandle) -> Result<&mut Connection, Failure> {
        let missing = || Failure::Work("a connection disappeared before it was closed".into());
        self.driver.connection(handle).ok_or_else(missing)
    }

    fn stream_event(
        &mut self,
        handle: ConnectionHandle,
        peer: &mut Peer,
        event: &StreamEvent,
        log: &mut Log,
    ) -> Result<Option<End>, Failure> {
        match (event, &mut peer.state) {
            (StreamEvent::Opened { dir: Dir::Bi }, State::Asking { .. }) => {
                let opened = self.connection(handle)?.streams().accept(Dir::Bi);
                match opened {
                    Some(stream) => self.hear(handle, peer, stream, log),
                    None => Ok(None),
                }
            }
            (StreamEvent::Readable { id }, State::Asking { .. }) => {
                self.hear(handle, peer, *id, log)
            }
            // All data has been acknowledged.
            (StreamEvent::Finished { .. }, State::Sending(_)) => Ok(Some(End::Complete)),
            _ => Ok(None),
        }
    }

    /// Reads as much of a request as has come, and starts to send once it is complete.
    fn hear(
        &mut self,
        handle: ConnectionHandle,
        peer: &mut Peer,
        stream: StreamId,
        log: &mut Log,
    ) -> Result<Option<End>, Failure> {
        let State::Asking { header } = &mut peer.state else {
            return Ok(None);
        };
        let whole = read_request(self.connection(handle)?, stream, header);
        let request = match whole {
            Ok(None) => return Ok(None),
            Ok(Some(request)) => request,
            Err(message) => return Ok(Some(End::Failed(message))),
        };
        if let Err(message) = self.admit(request) {
            return Ok(Some(End::Failed(message)));
        }
        let Request { connection: number, bytes } = request;
        let accepted_ns = peer.accepted_ns.unwrap_or_else(|| log.clock().now_ns());
        let connection = self.connection(handle)?;
        let initial_window_bytes = connection.congestion_state().initial_window();
        let mtu = connection.current_mtu();
        let cca = &self.cca.name;
        if self.served[number as usize].requests == 1 {
            let connection = number;
            let event = report::QuicEvent::Accepted { connection, cca, initial_window_bytes, mtu };
            log.at(accepted_ns, &event);
        }
        if !self.short() {
            log.now(&Event::Request { connection: number, bytes });
            if self.live == 0 {
                self.ticks.every(self.description.sample_every_ns)?;
            }
        }
        self.live += 1;
        let transfer = Transfer::new(&self.description.workload, request, stream);
        peer.state = State::Sending(Box::new(transfer));
        Ok(None)
    }

    /// Checks that a request is one of those that were announced.
    fn admit(&mut self, request: Request) -> Result<(), String> {
        let (number, announced) = (request.connection, self.served.len());
        let short = self.short();
        match self.served.get_mut(number as usize) {
            None => Err(format!(
                "a request has number {number}, but {announced} connections were announced"
            )),
            Some(served) if served.requests > 0 && !short => {
                Err(format!("two requests have number {number}"))
            }
            Some(served) => {
                served.requests += 1;
                Ok(())
            }
        }
    }

    /// Takes the last sample of a connection, says how it ended, and closes it.
    pub(super) fn end(
        &mut self,
        handle: ConnectionHandle,
        peer: &Peer,
        end: End,
        log: &mut Log,
    ) -> Result<(), Failure> {
        let (number, short) = (peer.number(), self.short());
        let connection = self.connection(handle)?;
        if let Some(number) = number.filter(|_| !short) {
            log.now(&report::QuicEvent::Sample(Sample::of(number, connection)));
        }
        end.close(connection);
        match (end, number) {
            (End::Stopped, Some(connection)) if !short => {
                log.now(&Event::Stopped { connection, bytes: None });
            }
            (End::Failed(message), number) => log.error(number, &message),
            _ => {}
        }
        if let Some(number) = number {
            self.served[number as usize].bytes += peer.sent();
            self.live -= 1;
            self.ended += 1;
            if self.live == 0 {
                self.ticks.disarm()?;
            }
        }
        Ok(())
    }
}
