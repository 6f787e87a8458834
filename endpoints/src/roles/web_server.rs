//! Role `web-server`: offers a page over HTTP/1.1, HTTP/2 and HTTP/3, and samples its connections.

use crate::description;
use crate::events::Log;
use crate::quic::datagrams::Datagrams;
use crate::quic::transport::{payload_bytes, LARGEST_PAYLOAD};
use crate::roles::Failure;
use crate::socket;
use crate::tcp_info;
use crate::web::content::{contents, Content};
use crate::web::description::{Protocol, WebServer};
use crate::web::link::with_causes;
use crate::web::living::{Living, Probe};
use crate::web::quinn_io::{Machine, Socket};
use crate::web::reply::{Headers, Reply};
use crate::web::report::{AcceptedQuic, AcceptedTcp, Listening, ListeningQuic};
use crate::web::tls::Identity;
use crate::web::transport;
use crate::web::waiting::{self, Spawner, Stop};
use bytes::Bytes;
use hyper::service::service_fn;
use hyper::{Method, Response, StatusCode};
use hyper_util::rt::TokioIo;
use quinn::crypto::rustls::QuicServerConfig;
use quinn::{
    ConnectionError, Endpoint, EndpointConfig, Incoming, ServerConfig, TransportErrorCode,
    ValidationTokenConfig, VarInt,
};
use std::convert::Infallible;
use std::net::{SocketAddr, SocketAddrV4};
use std::os::fd::OwnedFd;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;
use tokio::net::TcpStream;
use tokio::task::{spawn_local, yield_now};
use tokio_rustls::TlsAcceptor;

/// Clients that may wait to be accepted.
const BACKLOG: u32 = 1024;
/// Makes TCP pace without limiting it: bytes/s that no link reaches.
const UNLIMITED: u64 = 1 << 40;
/// Code of a connection that is closed in order (`H3_NO_ERROR`, RFC 9114, section 8.1).
const NO_ERROR: VarInt = VarInt::from_u32(0x100);

/// Serves until SIGTERM.
///
/// # Errors
/// A bad description, or sockets that cannot be had as described.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: WebServer = description::read(text).map_err(Failure::Description)?;
    let contents = contents(&description.workload.page).map_err(Failure::Description)?;
    crate::sys::raise_file_limit();
    let clock = log.clock();
    let own = std::mem::replace(log, Log::new(clock));
    let mut living = None;
    let result = waiting::run(async {
        let own = Rc::new(Living::new(own, description.sample_every_ns)?);
        living = Some(Rc::clone(&own));
        serve(description, contents, own).await
    });
    if let Some(living) = living {
        living.end_all();
        *log = std::mem::replace(&mut *living.log(), Log::new(clock));
    }
    result
}

/// What all connections share.
struct Server {
    description: WebServer,
    contents: Vec<Content>,
    living: Rc<Living>,
    /// The `Alt-Svc` of answers over TCP.
    alternative: Option<String>,
}

/// The QUIC side.
struct Quic {
    endpoint: Endpoint,
    socket: Arc<Socket>,
    config: ServerConfig,
}

async fn serve(
    description: WebServer,
    contents: Vec<Content>,
    living: Rc<Living>,
) -> Result<(), Failure> {
    let here = SocketAddrV4::new(description.address, description.port);
    let identity = Identity::new(description.address).map_err(Failure::Work)?;
    let listener = socket::listener(socket::Listening {
        address: here,
        cca: &description.cca,
        buffer_bytes: description.buffer_bytes,
        fills: false,
        backlog: BACKLOG,
        fast_open: description.options.fast_open,
    })
    .map_err(Failure::Work)?;
    let over_tcp = [Protocol::H2.alpn(), Protocol::H1.alpn()];
    let tls = identity.server(&over_tcp).map_err(Failure::Work)?;
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let quic = match &description.quic {
        Some(_) => Some(Quic::new(&description, &identity)?),
        None => None,
    };
    identity.write(&description.flow).map_err(Failure::Work)?;
    report_listening(&description, &identity, &listener, &living)?;
    let alternative = quic.is_some().then(|| format!("h3=\":{}\"", description.port));
    let server = Rc::new(Server { description, contents, living, alternative });
    let stop = Stop::new()?;
    tokio::select! {
        biased;
        result = stop.wait() => result?,
        result = server.living.watch() => result?,
        result = Rc::clone(&server).accept_tcp(listener, acceptor) => result?,
        result = Rc::clone(&server).accept_quic(quic.as_ref()) => result?,
    }
    if let Some(quic) = quic {
        quic.endpoint.close(NO_ERROR, b"");
        // The endpoint tells its connections, and they their clients.
        for _ in 0..4 {
            yield_now().await;
        }
        let dropped = quic.socket.dropped()?;
        if dropped > 0 {
            let message =
                format!("{dropped} datagrams found no room in the socket's receive buffer");
            server.living.log().error(None, &message);
        }
    }
    Ok(())
}

fn report_listening(
    description: &WebServer,
    identity: &Identity,
    listener: &OwnedFd,
    living: &Living,
) -> Result<(), Failure> {
    let quic = description.quic.as_ref().map(|cca| {
        let probe = Arc::clone(&cca.factory).build(Instant::now(), LARGEST_PAYLOAD);
        ListeningQuic {
            cca: &cca.name,
            parameters: &cca.parameters,
            ecn: description.options.ecn,
            initial_window_bytes: probe.initial_window(),
            send_buffer_bytes: description.buffer_bytes,
        }
    });
    let mut log = living.log();
    log.now(&Listening {
        cca: &socket::congestion_control(listener)?,
        send_buffer_bytes: socket::number(listener, libc::SO_SNDBUF)?,
        spki: &identity.spki,
        quic,
    });
    // Whoever started the server may wait for this line.
    log.flush();
    Ok(())
}

impl Quic {
    fn new(description: &WebServer, identity: &Identity) -> Result<Self, Failure> {
        let here = SocketAddrV4::new(description.address, description.port);
        let ecn = description.options.ecn;
        let datagrams = Datagrams::bind(here, description.buffer_bytes, ecn)
            .map_err(|error| Failure::Work(format!("cannot listen on {here} (UDP): {error}")))?;
        let socket = Socket::new(datagrams, ecn)?;
        let tls = identity.server(&[Protocol::H3.alpn()]).map_err(Failure::Work)?;
        let tls = QuicServerConfig::try_from(tls)
            .map_err(|error| Failure::Work(format!("cannot set up TLS: {error}")))?;
        let mut config = ServerConfig::with_crypto(Arc::new(tls));
        let mut tokens = ValidationTokenConfig::default();
        // No client comes a second time with a token of the first.
        tokens.sent(0);
        config.migration(false).validation_token_config(tokens);
        let endpoint = Endpoint::new_with_abstract_socket(
            EndpointConfig::default(),
            Some(config.clone()),
            Arc::clone(&socket) as Arc<dyn quinn::AsyncUdpSocket>,
            Arc::new(Machine),
        )?;
        Ok(Quic { endpoint, socket, config })
    }
}

impl Server {
    async fn accept_tcp(
        self: Rc<Self>,
        listener: OwnedFd,
        tls: TlsAcceptor,
    ) -> Result<(), Failure> {
        let listener = waiting::watched(listener)?;
        loop {
            let mut ready = listener.readable().await?;
            let accepted = socket::accept(listener.get_ref())
                .map_err(|error| Failure::Work(format!("cannot accept: {error}")))?;
            let Some(socket) = accepted else {
                ready.clear_ready();
                continue;
            };
            let number = self.living.begin(Probe::Tcp(socket.try_clone()?))?;
            let (server, tls) = (Rc::clone(&self), tls.clone());
            spawn_local(async move {
                let error = server.serve_tcp(number, socket, tls).await.err();
                server.living.end(number, error.as_deref());
            });
        }
    }

    /// Serves a connection to its end. The error says what was out of order, in words.
    async fn serve_tcp(
        self: &Rc<Self>,
        number: u32,
        socket: OwnedFd,
        tls: TlsAcceptor,
    ) -> Result<(), String> {
        let accepted_ns = self.living.now_ns();
        let text = |error: std::io::Error| error.to_string();
        if self.description.options.pacing {
            socket::limit_pacing(&socket, UNLIMITED).map_err(text)?;
        }
        let (agreed, state) = tcp_info::agreed(&socket).map_err(text)?;
        let cca = socket::congestion_control(&socket).map_err(text)?;
        let limit = socket::pacing_limit(&socket).map_err(text)?;
        let stream = std::net::TcpStream::from(socket);
        // Nagle's algorithm off, as browsers and web servers have it.
        stream.set_nodelay(true).map_err(text)?;
        let SocketAddr::V4(peer) = stream.peer_addr().map_err(text)? else {
            return Err("the client has no address of IPv4".into());
        };
        let stream = TcpStream::from_std(stream).map_err(text)?;
        let accepted = tls.accept(stream).await;
        let h2 = accepted
            .as_ref()
            .is_ok_and(|stream| stream.get_ref().1.alpn_protocol() == Some(Protocol::H2.alpn()));
        let protocol = if h2 { Protocol::H2 } else { Protocol::H1 };
        self.living.log().at(
            accepted_ns,
            &AcceptedTcp {
                connection: number,
                protocol: accepted.is_ok().then_some(protocol),
                peer,
                cca: &cca,
                initial_window_packets: state.cwnd,
                agreed,
                max_pacing_bps: limit.map(|bytes_per_s| bytes_per_s.saturating_mul(8)),
            },
        );
        let stream = TokioIo::new(accepted.map_err(|error| format!("TLS: {error}"))?);
        let service = service_fn(|request| {
            let (parts, reply) = self.reply(number, protocol, request.method(), request.uri());
            std::future::ready(Ok::<_, Infallible>(Response::from_parts(parts, reply)))
        });
        let result = if h2 {
            let mut builder = hyper::server::conn::http2::Builder::new(Spawner);
            builder.auto_date_header(false).serve_connection(stream, service).await
        } else {
            let mut builder = hyper::server::conn::http1::Builder::new();
            builder.auto_date_header(false).header_read_timeout(None);
            builder.serve_connection(stream, service).await
        };
        match result {
            // A client that goes away need not say so.
            Err(error) if !is_end(&error) => Err(with_causes("HTTP", &error)),
            _ => Ok(()),
        }
    }

    /// The answer to a request.
    fn reply(
        &self,
        connection: u32,
        protocol: Protocol,
        method: &Method,
        uri: &hyper::Uri,
    ) -> (hyper::http::response::Parts, Reply) {
        let path = uri.path_and_query().map_or("/", |path| path.as_str());
        let page = &self.description.workload.page;
        let (status, found) = match page.find(path) {
            _ if method != Method::GET => (StatusCode::METHOD_NOT_ALLOWED, None),
            Some(position) => (StatusCode::OK, Some(position)),
            None => (StatusCode::NOT_FOUND, None),
        };
        let headers = Headers {
            mime: found.map(|position| page.objects[position].mime.as_str()),
            bytes: found.map_or(0, |position| page.objects[position].bytes),
            alternative: self.alternative.as_deref().filter(|_| protocol != Protocol::H3),
        };
        let body = found.map(|position| (self.contents[position].cursor(), headers.bytes));
        let living = Rc::clone(&self.living);
        let reply = Reply::new(living, connection, protocol, path, status, body);
        (headers.parts(status), reply)
    }

    async fn accept_quic(self: Rc<Self>, quic: Option<&Quic>) -> Result<(), Failure> {
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
            if let Some(cca) = &self.description.quic {
                let transport =
                    transport::server(&cca.factory, payload_bytes, self.description.buffer_bytes)
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
        self.living.report(&AcceptedQuic {
            connection: number,
            protocol: connection.map(|_| Protocol::H3),
            peer,
            cca: self.description.quic.as_ref().map_or("", |cca| &cca.name),
            initial_window_bytes: window,
            mtu,
        });
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

/// Whether an error is that the client has closed its side without a word of TLS.
fn is_end(error: &hyper::Error) -> bool {
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<std::io::Error>() {
            return error.kind() == std::io::ErrorKind::UnexpectedEof;
        }
        cause = error.source();
    }
    false
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
