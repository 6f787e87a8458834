//! A connection of a web client: how it is opened, and what a request over it brings.

use crate::quic::datagrams::Datagrams;
use crate::quic::tls::client_side;
use crate::quic::transport::payload_bytes;
use crate::socket;
use crate::sys;
use crate::web::description::{Protocol, WebClient};
use crate::web::quinn_io::{Machine, Socket};
use crate::web::tls::certificate_file;
use crate::web::transport;
use crate::web::waiting::Spawner;
use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::CONTENT_TYPE;
use hyper::http::response::Parts;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{Endpoint, EndpointConfig, VarInt};
use rustls::pki_types::ServerName;
use std::future::poll_fn;
use std::net::{Ipv4Addr, SocketAddrV4};
use std::sync::Arc;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio_rustls::client::TlsStream;
use tokio_rustls::TlsConnector;

/// Code of a connection that is closed in order (`H3_NO_ERROR`, RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);
/// Least window that HTTP/2 begins with (RFC 9113, section 6.9.2), bytes.
const LEAST_WINDOW: u32 = 65_535;
/// The largest window of HTTP/2 (RFC 9113, section 6.9.1), bytes.
const MOST_WINDOW: u32 = i32::MAX as u32;
/// Makes `connect` wait for the first data, which goes with the SYN (linux/tcp.h).
const TCP_FASTOPEN_CONNECT: i32 = 30;

/// A connection that requests can be sent over.
pub enum Link {
    /// HTTP/1.1: one request at a time.
    H1(hyper::client::conn::http1::SendRequest<Empty<Bytes>>),
    /// HTTP/2: shared by all requests.
    H2(hyper::client::conn::http2::SendRequest<Empty<Bytes>>),
    /// HTTP/3: shared by all requests.
    H3(h3::client::SendRequest<h3_quinn::OpenStreams, Bytes>, Arc<Quic>),
}

/// A QUIC connection with the socket that is its own.
pub struct Quic {
    connection: quinn::Connection,
    /// What carries its packets, and the end of it.
    pub endpoint: Endpoint,
    socket: Arc<Socket>,
}

/// When the steps of opening a connection were taken, and from where. Filled step by step.
pub trait Steps {
    /// The local port is known.
    fn port(&self, port: u16);
    /// It begins.
    fn connect_start(&self);
    /// TCP is established, TLS begins.
    fn secure_start(&self);
    /// Requests can be sent.
    fn connect_end(&self);
}

/// The rest of an answer.
pub enum Body {
    /// Of hyper.
    Hyper(Incoming),
    /// Of h3.
    H3(Box<h3::client::RequestStream<h3_quinn::BidiStream<Bytes>, Bytes>>, Arc<Quic>),
}

/// Opens a connection.
///
/// # Errors
/// Why it did not come about.
pub async fn open(
    client: &WebClient,
    protocol: Protocol,
    steps: &impl Steps,
) -> Result<Link, String> {
    let file = certificate_file(&client.flow);
    let certificate =
        std::fs::read(&file).map_err(|error| format!("cannot read {file}: {error}"))?;
    let config = client_side(certificate, protocol.alpn())?;
    match protocol {
        Protocol::H1 | Protocol::H2 => open_tcp(client, protocol, config, steps).await,
        Protocol::H3 => open_quic(client, config, steps).await,
    }
}

async fn open_tcp(
    client: &WebClient,
    protocol: Protocol,
    config: rustls::ClientConfig,
    steps: &impl Steps,
) -> Result<Link, String> {
    let failed = |error: std::io::Error| format!("connecting: {error}");
    let socket = connecting(client).map_err(failed)?;
    steps.connect_start();
    socket::connect(&socket, SocketAddrV4::new(client.address, client.port)).map_err(failed)?;
    let stream = TcpStream::from_std(socket.into()).map_err(failed)?;
    stream.writable().await.map_err(failed)?;
    if let Some(error) = stream.take_error().map_err(failed)? {
        return Err(failed(error));
    }
    steps.port(stream.local_addr().map_err(failed)?.port());
    steps.secure_start();
    let name = ServerName::try_from(client.name.clone())
        .map_err(|_| format!("`{}` is not a host name", client.name))?;
    let stream = TlsConnector::from(Arc::new(config))
        .connect(name, stream)
        .await
        .map_err(|error| format!("TLS: {error}"))?;
    if stream.get_ref().1.alpn_protocol() != Some(protocol.alpn()) {
        return Err(format!("the server does not speak {}", protocol.name()));
    }
    steps.connect_end();
    over_tls(client, protocol, stream).await.map_err(|error| with_causes("HTTP", &error))
}

fn connecting(client: &WebClient) -> std::io::Result<socket2::Socket> {
    let options = &client.options;
    let socket = socket::connecting(client.buffer_bytes, options.receive_window_bytes)?;
    // Nagle's algorithm off, as browsers have it.
    socket.set_tcp_nodelay(true)?;
    if options.fast_open {
        sys::set_option(&socket, libc::IPPROTO_TCP, TCP_FASTOPEN_CONNECT, 1)?;
    }
    Ok(socket)
}

async fn over_tls(
    client: &WebClient,
    protocol: Protocol,
    stream: TlsStream<TcpStream>,
) -> hyper::Result<Link> {
    let stream = TokioIo::new(stream);
    // What becomes of a connection is seen by the requests over it.
    if protocol == Protocol::H1 {
        let (link, connection) = hyper::client::conn::http1::handshake(stream).await?;
        spawn_local(async { drop(connection.await) });
        return Ok(Link::H1(link));
    }
    let window = client.receive_window_bytes().map_or(MOST_WINDOW, |bytes| bytes.max(LEAST_WINDOW));
    let (link, connection) = hyper::client::conn::http2::Builder::new(Spawner)
        .initial_stream_window_size(window)
        .initial_connection_window_size(window)
        .handshake(stream)
        .await?;
    spawn_local(async { drop(connection.await) });
    Ok(Link::H2(link))
}

async fn open_quic(
    client: &WebClient,
    config: rustls::ClientConfig,
    steps: &impl Steps,
) -> Result<Link, String> {
    let failed = |error: std::io::Error| format!("connecting: {error}");
    let server = SocketAddrV4::new(client.address, client.port);
    let window = client.receive_window_bytes();
    let any = SocketAddrV4::new(Ipv4Addr::UNSPECIFIED, 0);
    let datagrams = Datagrams::bind(any, window, client.options.ecn).map_err(failed)?;
    datagrams.connect(server).map_err(failed)?;
    steps.port(datagrams.local_port().map_err(failed)?);
    let socket = Socket::new(datagrams, client.options.ecn).map_err(failed)?;
    let endpoint = Endpoint::new_with_abstract_socket(
        EndpointConfig::default(),
        None,
        Arc::clone(&socket) as Arc<dyn quinn::AsyncUdpSocket>,
        Arc::new(Machine),
    )
    .map_err(failed)?;
    let crypto = QuicClientConfig::try_from(config)
        .map_err(|error| format!("cannot set up TLS: {error}"))?;
    let mut config = quinn::ClientConfig::new(Arc::new(crypto));
    let mtu = payload_bytes(server).map_err(failed)?;
    config.transport_config(Arc::new(transport::client(mtu, window)?));
    steps.connect_start();
    let connecting = endpoint
        .connect_with(config, server.into(), &client.name)
        .map_err(|error| format!("connecting: {error}"))?;
    let connection = connecting.await.map_err(|error| match socket.refused() {
        Some(refused) => format!("connecting: {refused}"),
        None => format!("connecting: {error}"),
    })?;
    steps.connect_end();
    let carrier = h3_quinn::Connection::new(connection.clone());
    let (mut driver, link) = h3::client::builder()
        // What means nothing and is drawn by chance.
        .send_grease(false)
        .build::<_, _, Bytes>(carrier)
        .await
        .map_err(|error| format!("HTTP: {error}"))?;
    spawn_local(async move { drop(poll_fn(|context| driver.poll_close(context)).await) });
    Ok(Link::H3(link, Arc::new(Quic { connection, endpoint, socket })))
}

impl Link {
    /// The same connection for another request, where it can have several.
    #[must_use]
    pub fn share(&self) -> Option<Link> {
        match self {
            Link::H1(_) => None,
            Link::H2(link) => Some(Link::H2(link.clone())),
            Link::H3(link, quic) => Some(Link::H3(link.clone(), Arc::clone(quic))),
        }
    }

    /// Sends a request and waits for the header of its answer.
    ///
    /// # Errors
    /// Why none came.
    pub async fn ask(&mut self, uri: &str) -> Result<(Parts, Body), String> {
        let failed = |error: hyper::Error| with_causes("HTTP", &error);
        let request = Request::get(uri);
        match self {
            Link::H1(link) => {
                // HTTP/1.1 has path and host apart.
                let (host, path) = split(uri);
                let request = Request::get(path).header("host", host);
                let request = request.body(Empty::new()).map_err(|error| error.to_string())?;
                link.ready().await.map_err(failed)?;
                let response = link.send_request(request).await.map_err(failed)?;
                Ok(parts(response))
            }
            Link::H2(link) => {
                let request = request.body(Empty::new()).map_err(|error| error.to_string())?;
                link.ready().await.map_err(failed)?;
                let response = link.send_request(request).await.map_err(failed)?;
                Ok(parts(response))
            }
            Link::H3(link, quic) => {
                let request = request.body(()).map_err(|error| error.to_string())?;
                let failed = |error| quic.words(&error);
                let mut stream = link.send_request(request).await.map_err(failed)?;
                stream.finish().await.map_err(failed)?;
                let response = stream.recv_response().await.map_err(failed)?;
                let body = Body::H3(Box::new(stream), Arc::clone(quic));
                Ok((response.into_parts().0, body))
            }
        }
    }

    /// The QUIC connection, if it is one.
    #[must_use]
    pub fn quic(&self) -> Option<&Arc<Quic>> {
        match self {
            Link::H3(_, quic) => Some(quic),
            Link::H1(_) | Link::H2(_) => None,
        }
    }
}

impl Body {
    /// The next data; None at the end.
    ///
    /// # Errors
    /// Why no more came.
    pub async fn next(&mut self) -> Result<Option<Bytes>, String> {
        match self {
            Body::Hyper(body) => loop {
                match body.frame().await {
                    None => return Ok(None),
                    Some(Err(error)) => return Err(with_causes("HTTP", &error)),
                    Some(Ok(frame)) => {
                        if let Ok(data) = frame.into_data() {
                            return Ok(Some(data));
                        }
                    }
                }
            },
            Body::H3(stream, quic) => {
                let data = stream.recv_data().await.map_err(|error| quic.words(&error))?;
                Ok(data.map(|mut data| data.copy_to_bytes(data.remaining())))
            }
        }
    }
}

impl Quic {
    fn words(&self, error: &h3::error::StreamError) -> String {
        match self.socket.refused() {
            Some(refused) => format!("HTTP: {refused}"),
            None => format!("HTTP: {error}"),
        }
    }

    /// Closes the connection; its endpoint goes on until the server must have heard of it.
    pub fn close(&self) {
        self.connection.close(NO_ERROR, b"");
    }

    /// Datagrams that have found no room in the socket's receive buffer.
    pub fn dropped(&self) -> std::io::Result<u32> {
        self.socket.dropped()
    }
}

/// The MIME type of an answer.
#[must_use]
pub fn mime(parts: &Parts) -> Option<String> {
    parts.headers.get(CONTENT_TYPE)?.to_str().ok().map(str::to_owned)
}

fn parts(response: Response<Incoming>) -> (Parts, Body) {
    let (parts, body) = response.into_parts();
    (parts, Body::Hyper(body))
}

/// Host with port, and path, of `https://HOST:PORT/PATH`.
fn split(uri: &str) -> (&str, &str) {
    let rest = uri.strip_prefix("https://").unwrap_or(uri);
    rest.find('/').map_or((rest, "/"), |slash| rest.split_at(slash))
}

/// An error with what caused it, which hyper leaves to the reader to ask for.
#[must_use]
pub fn with_causes(what: &str, error: &dyn std::error::Error) -> String {
    let mut text = format!("{what}: {error}");
    let mut cause = error.source();
    while let Some(error) = cause {
        text = format!("{text}: {error}");
        cause = error.source();
    }
    text
}
