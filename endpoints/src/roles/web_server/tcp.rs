//! The side of a web server that speaks HTTP/1.1 and HTTP/2 over TLS and TCP.

use super::Server;
use crate::failure::Failure;
use crate::socket;
use crate::tcp_info;
use crate::web::description::Protocol;
use crate::web::link::with_causes;
use crate::web::living::Probe;
use crate::web::report::{AcceptedOver, WebEvent};
use crate::web::waiting::{self, Spawner};
use hyper::service::service_fn;
use hyper::Response;
use hyper_util::rt::TokioIo;
use socket2::Socket;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::rc::Rc;
use tokio::net::TcpStream;
use tokio::task::spawn_local;
use tokio_rustls::TlsAcceptor;

/// Makes TCP pace without limiting it: bytes/s that no link reaches.
const UNLIMITED: u64 = 1 << 40;

impl Server {
    pub(super) async fn accept_tcp(
        self: Rc<Self>,
        listener: Socket,
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
        socket: Socket,
        tls: TlsAcceptor,
    ) -> Result<(), String> {
        let accepted_ns = self.living.now_ns();
        let text = |error: std::io::Error| error.to_string();
        if self.description.options.pacing {
            socket::limit_pacing(&socket, UNLIMITED).map_err(text)?;
        }
        let (agreed, state, _) = tcp_info::agreed(&socket).map_err(text)?;
        let cca = socket::congestion_control(&socket).map_err(text)?;
        let limit = socket::pacing_limit(&socket).map_err(text)?;
        let stream = std::net::TcpStream::from(socket);
        // Nagle's algorithm off, as browsers and web servers have it.
        stream.set_nodelay(true).map_err(text)?;
        let SocketAddr::V4(peer) = stream.peer_addr().map_err(text)? else {
            return Err("the client has no IPv4 address".into());
        };
        let stream = TcpStream::from_std(stream).map_err(text)?;
        let accepted = tls.accept(stream).await;
        let h2 = accepted
            .as_ref()
            .is_ok_and(|stream| stream.get_ref().1.alpn_protocol() == Some(Protocol::H2.alpn()));
        let protocol = if h2 { Protocol::H2 } else { Protocol::H1 };
        let transport = AcceptedOver::Tcp {
            protocol: accepted.is_ok().then_some(protocol),
            peer,
            cca: &cca,
            initial_window_packets: state.cwnd,
            agreed,
            max_pacing_bps: limit.map(|bytes_per_s| bytes_per_s.saturating_mul(8)),
        };
        let event = WebEvent::Accepted { connection: number, transport };
        self.living.log().at(accepted_ns, &event);
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
