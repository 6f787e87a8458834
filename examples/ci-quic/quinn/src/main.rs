//! The library under test, as its own users have it: a server that sends as many bytes as a stream
//! asks for, and a client that opens a connection and downloads over it.
//!
//!     ci-quinn server PORT CCA
//!     ci-quinn client ADDRESS PORT BYTES
//!
//! CCA: `reno`, `cubic` or `bbr`. The client writes transfer.json: times in ms of its handshake and
//! download.

use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Instant;

use quinn::congestion::{BbrConfig, ControllerFactory, CubicConfig, NewRenoConfig};
use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, Connection, Endpoint, ServerConfig, TransportConfig, VarInt};
use rustls::RootCertStore;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{DigitallySignedStruct, SignatureScheme};

type Failure = Box<dyn Error + Send + Sync>;

const USAGE: &str = "usage: ci-quinn server PORT CCA | client ADDRESS PORT BYTES";

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    match words.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["server", port, cca] => serve(port.parse()?, cca).await,
        ["client", address, port, bytes] => {
            download(SocketAddr::new(address.parse()?, port.parse()?), bytes.parse()?).await
        }
        _ => Err(USAGE.into()),
    }
}

fn controller(cca: &str) -> Result<Arc<dyn ControllerFactory + Send + Sync>, Failure> {
    Ok(match cca {
        "reno" => Arc::new(NewRenoConfig::default()),
        "cubic" => Arc::new(CubicConfig::default()),
        "bbr" => Arc::new(BbrConfig::default()),
        _ => return Err(format!("no controller is called {cca}").into()),
    })
}

async fn serve(port: u16, cca: &str) -> Result<(), Failure> {
    let made = rcgen::generate_simple_self_signed(vec!["server".into()])?;
    let key = PrivatePkcs8KeyDer::from(made.signing_key.serialize_der());
    let mut config = ServerConfig::with_single_cert(vec![made.cert.into()], key.into())?;
    let mut transport = TransportConfig::default();
    transport.congestion_controller_factory(controller(cca)?);
    config.transport_config(Arc::new(transport));
    let endpoint = Endpoint::server(config, (Ipv4Addr::UNSPECIFIED, port).into())?;
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(async move {
            if let Ok(connection) = incoming.await {
                while answer(&connection).await.is_ok() {} // until the client closes it
            }
        });
    }
    Ok(())
}

async fn answer(connection: &Connection) -> Result<(), Failure> {
    let (mut send, mut receive) = connection.accept_bi().await?;
    let mut wanted = [0; 8];
    receive.read_exact(&mut wanted).await?;
    let (mut left, block) = (u64::from_be_bytes(wanted), [0; 1 << 16]);
    while left > 0 {
        let part = left.min(block.len() as u64);
        send.write_all(&block[..part as usize]).await?;
        left -= part;
    }
    send.finish()?;
    Ok(())
}

async fn download(server: SocketAddr, bytes: u64) -> Result<(), Failure> {
    let mut crypto = rustls::ClientConfig::builder()
        .with_root_certificates(RootCertStore::empty())
        .with_no_client_auth();
    crypto.dangerous().set_certificate_verifier(Arc::new(Anyone));
    let mut endpoint = Endpoint::client((Ipv4Addr::UNSPECIFIED, 0).into())?;
    endpoint.set_default_client_config(ClientConfig::new(Arc::new(
        QuicClientConfig::try_from(crypto)?,
    )));
    let begin = Instant::now();
    let connection = endpoint.connect(server, "server")?.await?;
    let handshake = begin.elapsed();
    let (mut send, mut receive) = connection.open_bi().await?;
    send.write_all(&bytes.to_be_bytes()).await?;
    send.finish()?;
    let mut received = 0;
    while let Some(chunk) = receive.read_chunk(1 << 16, true).await? {
        received += chunk.bytes.len() as u64;
    }
    let took = begin.elapsed();
    connection.close(VarInt::from_u32(0), b"");
    endpoint.wait_idle().await;
    if received != bytes {
        return Err(format!("received {received} of {bytes} bytes").into());
    }
    let [handshake, took] = [handshake, took].map(|time| time.as_micros() as f64 / 1e3);
    let text = format!("{{\"handshake\": {handshake}, \"download\": {took}}}\n");
    Ok(std::fs::write("transfer.json", text)?)
}

/// Takes every certificate: the server makes a new one each time.
#[derive(Debug)]
struct Anyone;

impl ServerCertVerifier for Anyone {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn verify_tls13_signature(
        &self,
        _: &[u8],
        _: &CertificateDer<'_>,
        _: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        Ok(HandshakeSignatureValid::assertion())
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        rustls::crypto::ring::default_provider()
            .signature_verification_algorithms
            .supported_schemes()
    }
}
