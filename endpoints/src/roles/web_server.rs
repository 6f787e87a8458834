//! Role `web-server`: serves a page over HTTP/1.1, HTTP/2 and HTTP/3, and samples its connections.

mod quic;
mod tcp;

use crate::description;
use crate::events::Log;
use crate::failure::Failure;
use crate::quic::description::Cca;
use crate::quic::report::ControllerInForce;
use crate::socket;
use crate::web::content::{contents, Content};
use crate::web::description::{Protocol, WebServer};
use crate::web::living::Living;
use crate::web::reply::{Headers, Reply};
use crate::web::report::WebEvent;
use crate::web::tls::Identity;
use crate::web::waiting::{self, Stop};
use hyper::{Method, StatusCode};
use quic::Quic;
use socket2::Socket;
use std::net::SocketAddrV4;
use std::rc::Rc;
use std::sync::Arc;
use tokio_rustls::TlsAcceptor;

/// Clients that may wait to be accepted.
const BACKLOG: u32 = 1024;

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
    /// Congestion controller of QUIC; None: no HTTP/3.
    cca: Option<Cca>,
    contents: Vec<Content>,
    living: Rc<Living>,
    /// The `Alt-Svc` of answers over TCP.
    alternative: Option<String>,
}

async fn serve(
    description: WebServer,
    contents: Vec<Content>,
    living: Rc<Living>,
) -> Result<(), Failure> {
    let here = SocketAddrV4::new(description.address, description.port);
    let identity = Identity::new(description.address).map_err(Failure::Work)?;
    let listener = socket::listener(socket::Listening {
        mptcp: false,
        address: here,
        cca: &description.cca,
        buffer_bytes: description.buffer_bytes,
        fills: false,
        unsent_bytes: description.options.notsent_lowat_bytes,
        backlog: BACKLOG,
        fast_open: description.options.fast_open,
    })
    .map_err(Failure::Work)?;
    let over_tcp = [Protocol::H2.alpn(), Protocol::H1.alpn()];
    let tls = identity.server(&over_tcp).map_err(Failure::Work)?;
    let acceptor = TlsAcceptor::from(Arc::new(tls));
    let cca = description.quic().map_err(Failure::Description)?;
    let quic = match &cca {
        Some(_) => Some(Quic::new(&description, &identity, living.clock())?),
        None => None,
    };
    identity.write(&description.flow).map_err(Failure::Work)?;
    report_listening(&description, cca.as_ref(), &identity, &listener, &living)?;
    let alternative = quic.is_some().then(|| format!("h3=\":{}\"", description.port));
    let server = Rc::new(Server { description, cca, contents, living, alternative });
    let stop = Stop::new()?;
    tokio::select! {
        biased;
        result = stop.wait() => result?,
        result = server.living.watch() => result?,
        result = Rc::clone(&server).accept_tcp(listener, acceptor) => result?,
        result = Rc::clone(&server).accept_quic(quic.as_ref()) => result?,
    }
    match quic {
        Some(quic) => quic.close(&server.living).await,
        None => Ok(()),
    }
}

fn report_listening(
    description: &WebServer,
    cca: Option<&Cca>,
    identity: &Identity,
    listener: &Socket,
    living: &Living,
) -> Result<(), Failure> {
    let quic = cca.map(|cca| {
        let ecn = description.options.ecn;
        serde_json::json!(ControllerInForce::new(cca, ecn, description.buffer_bytes))
    });
    let mut log = living.log();
    log.now(&WebEvent::Listening {
        cca: &socket::congestion_control(listener)?,
        send_buffer_bytes: socket::number(listener, libc::SO_SNDBUF)?,
        spki: &identity.spki,
        quic,
    });
    // Whoever started the server may wait for this line.
    log.flush();
    Ok(())
}

impl Server {
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
}
