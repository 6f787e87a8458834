//! The side of a web server that speaks HTTP/3 over QUIC.

use super::Server;
use crate::clock::Clock;
use crate::congestion::Pacing;
use crate::failure::Failure;
use crate::quic::datagrams::Datagrams;
use crate::quic::feedback::Marks;
use crate::quic::packets::PacketLog;
use crate::quic::report::QuicEvent;
use crate::quic::transport::{payload_bytes, server_config};
use crate::web::description::{Protocol, WebServer};
use crate::web::living::{Living, Probe};
use crate::web::quinn_io::{Machine, Socket};
use crate::web::report::{AcceptedOver, WebEvent};
use crate::web::tls::Identity;
use crate::web::transport;
use bytes::Bytes;
use hyper::Response;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    ConnectionError, Endpoint, EndpointConfig, Incoming, ServerConfig, TransportErrorCode, VarInt,
};
use std::net::{SocketAddr, SocketAddrV4};
use std::rc::Rc;
use std::sync::Arc;
use tokio::task::{spawn_local, yield_now};

/// Code of a connection that is closed in order (`H3_NO_ERROR`, RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// An endpoint that listens.
pub struct Quic {
    endpoint: Endpoint,
    socket: Arc<Socket>,
    config: ServerConfig,
    packets: PacketLog,
}

impl Quic {
    /// Listens where and as the description says.
    ///
    /// # Errors
    /// A socket that cannot be had, or a certificate that cannot be used.
    pub fn new(
        description: &WebServer,
        identity: &Identity,
        clock: Clock,
    ) -> Result<Self, Failure> {
        let here = SocketAddrV4::new(description.address, description.port);
        let ecn = description.options.ecn;
        let datagrams = Datagrams::bind(here, description.buffer_bytes, ecn)
            .map_err(|error| Failure::Work(format!("cannot listen on {here} (UDP): {error}")))?;
        let packets = PacketLog::create(&description.flow, clock, datagrams.accepted())
            .map_err(Failure::Work)?;
        let socket = Socket::new(datagrams, ecn)?;
        let tls = identity.server(&[Protocol::H3.alpn()]).map_err(Failure::Work)?;
        let tls = QuicServerConfig::try_from(tls)
            .map_err(|error| Failure::Work(format!("cannot set up TLS: {error}")))?;
        let config = server_config(tls, &description.options);
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            Some(config.clone()),
            Arc::clone(&socket) as Arc<dyn quinn::AsyncUdpSocket>,
            Arc::new(Machine),
        )?;
        Ok(Quic { endpoint, socket, config, packets })
    }

    /// Closes all connections in order, and reports datagrams that found no room.
    pub async fn close(self, living: &Living) -> Result<(), Failure> {
        self.endpoint.close(NO_ERROR, b"");
        // The endpoint tells its connections, and they their clients.
        for _ in 0..4 {
            yield_now().await;
        }
        let dropped = self.socket.dropped()?;
        if dropped > 0 {
            let message =
                format!("the socket's receive buffer was full: {dropped} datagrams dropped");
            living.log().error(None, &message);
        }
        let (file, records) = self.packets.close().map_err(Failure::Work)?;
        living.report(&QuicEvent::Logged { file: &file, records });
        Ok(())
    }
}

impl Server {
    pub(super) async fn accept_quic(self: Rc<Self>, quic: Option<&Quic>) -> Result<(), Failure> {
        let Some(quic) = quic else {
            return std::future::pending().await;
        };
        while let Some(incoming) = quic.endpoint.accept().await {
            let SocketAddr::V4(peer) = incoming.remote_address() else {
                continue;
            };
            let Ok(payload_bytes) = payload_bytes(peer) else {
                // No way leads back to this client now; it will ask again.
                incoming.ignore();
                continue;
            };
            let mut config = quic.config.clone();
            if let Some(cca) = &self.cca {
                let transport = transport::server(
                    cca.factory.reading(
                        Pacing::Window,
                        &Marks::default(),
                        None,
                        self.description.options.idle_restart == Some(true),
                    ),
                    payload_bytes,
                    self.description.buffer_bytes,
                    &quic.packets,
                )
                .map_err(Failure::Work)?;
                config.transport_config(Arc::new(transport));
            }
            let number = self.living.begin(Probe::Nothing)?;
            let server = Rc::clone(&self);
            spawn_local(async move {
                let result = server.serve_quic(number, peer, payload_bytes, incoming, config).await;
                server.living.end(number, result.err().as_deref());
            });
        }
        Err(Failure::Work("the QUIC endpoint has ended".into()))
    }

    /// Serves a connection to its end. The error says what was out of order, in words.
    async fn serve_quic(
        self: &Rc<Self>,
        number: u32,
        peer: SocketAddrV4,
        mtu: u16,
        incoming: Incoming,
        config: ServerConfig,
    ) -> Result<(), String> {
        let connecting = incoming.accept_with(Arc::new(config)).map_err(|error| error.to_string());
        let connected = match connecting {
            Ok(connecting) => connecting.await.map_err(|error| error.to_string()),
            Err(error) => Err(error),
        };
        let connection = connected.as_ref().ok();
        let window = connection.map(|connection| connection.congestion_state().initial_window());
        let transport = AcceptedOver::Quic {
            protocol: connection.map(|_| Protocol::H3),
            peer,
            cca: self.cca.as_ref().map_or("", |cca| &cca.name),
            initial_window_bytes: window,
            mtu,
        };
        self.living.report(&WebEvent::Accepted { connection: number, transport });
        let connection = connected?;
        self.living.probe(number, Probe::Quic(connection.clone()));
        let carrier = h3_quinn::Connection::new(connection.clone());
        let mut http = h3::server::builder()
            // What means nothing and is drawn by chance.
            .send_grease(false)
            .build::<_, Bytes>(carrier)
            .await
            .map_err(|error| error.to_string())?;
        loop {
            match http.accept().await {
                Ok(Some(request)) => {
                    let server = Rc::clone(self);
                    spawn_local(async move {
                        // What became of it is in its event.
                        let _ = server.answer(number, request).await;
                    });
                }
                Ok(None) => return Ok(()),
                Err(_) if connection.close_reason().is_some_and(|reason| is_goodbye(&reason)) => {
                    return Ok(())
                }
                Err(error) => return Err(error.to_string()),
            }
        }
    }

    async fn answer(
        &self,
        connection: u32,
        request: h3::server::RequestResolver<h3_quinn::Connection, Bytes>,
    ) -> Result<(), h3::error::StreamError> {
        let (request, mut stream) = request.resolve_request().await?;
        let (parts, mut reply) =
            self.reply(connection, Protocol::H3, request.method(), request.uri());
        stream.send_response(Response::from_parts(parts, ())).await?;
        while let Some(piece) = reply.next() {
            stream.send_data(piece).await?;
        }
        stream.finish().await
    }
}

/// Whether a client has closed its connection because it wanted to, in whichever words.
fn is_goodbye(reason: &ConnectionError) -> bool {
    match reason {
        ConnectionError::ApplicationClosed(_) => true,
        ConnectionError::ConnectionClosed(close) => {
            close.error_code == TransportErrorCode::NO_ERROR
        }
        _ => false,
    }
}
