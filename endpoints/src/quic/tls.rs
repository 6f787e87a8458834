//! TLS: the server's certificate, its check by the client, and the log of the secrets.
//!
//! The server signs a certificate for its address and leaves it in the working directory before it
//! listens; the client trusts this one alone, and checks that it is of that address and valid now.

use data_encoding::HEXLOWER;
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use rcgen::{CertificateParams, KeyPair};
use rustls::client::Resumption;
use rustls::crypto::{ring, CryptoProvider};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::version::TLS13;
use rustls::{ClientConfig, KeyLog, RootCertStore, ServerConfig};
use std::fs::{self, File};
use std::io::{self, Write as _};
use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};
use time::{Duration, OffsetDateTime};

/// The protocol inside (ALPN): the 16-byte request and its data.
const PROTOCOL: &[u8] = b"fairc/1";
/// How long a certificate is valid unless the description says so.
const YEARS_VALID: i64 = 10;
const DAYS_PER_YEAR: i64 = 365;

/// Where the server of a flow leaves its certificate (DER).
#[must_use]
pub fn certificate_file(flow: &str) -> String {
    format!("{flow}.certificate.der")
}

/// The server's configuration with a fresh certificate for `address`, which is written to a file
/// as well, as are the secrets of its connections (NSS key log, `<flow>.keys`) if `secrets`.
///
/// `now_ns` and `expires_ns` are times of `CLOCK_REALTIME`, ns; None: in ten years.
///
/// # Errors
/// A message that says which step failed.
pub fn server(
    flow: &str,
    address: Ipv4Addr,
    now_ns: i64,
    expires_ns: Option<i64>,
    secrets: bool,
) -> Result<QuicServerConfig, String> {
    let key = KeyPair::generate().map_err(|error| format!("cannot make a key: {error}"))?;
    let certificate = certificate(&key, address, now_ns, expires_ns)?;
    write_whole(&certificate_file(flow), &certificate)?;
    let keys = Keys::create(&format!("{flow}.keys"))?;
    let private = PrivateKeyDer::try_from(key.serialize_der())?;
    let mut config = server_side(certificate, private, &[PROTOCOL])?;
    if secrets {
        config.key_log = Arc::new(keys);
    }
    config.try_into().map_err(|error| format!("cannot set up TLS: {error}"))
}

/// The client's configuration, that trusts this certificate (DER) alone.
///
/// # Errors
/// A message, if it is no certificate.
pub fn client(certificate: Vec<u8>) -> Result<QuicClientConfig, String> {
    client_side(certificate, PROTOCOL)?
        .try_into()
        .map_err(|error| format!("cannot set up TLS: {error}"))
}

/// Of any server with this certificate and its key, that speaks these protocols (ALPN).
///
/// # Errors
/// A message.
pub fn server_side(
    certificate: CertificateDer<'static>,
    key: PrivateKeyDer<'static>,
    protocols: &[&[u8]],
) -> Result<ServerConfig, String> {
    let mut config = ServerConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .and_then(|builder| builder.with_no_client_auth().with_single_cert(vec![certificate], key))
        .map_err(|error| format!("cannot set up TLS: {error}"))?;
    config.alpn_protocols = protocols.iter().map(|name| name.to_vec()).collect();
    // No connection is resumed, so no ticket is worth its bytes.
    config.send_tls13_tickets = 0;
    Ok(config)
}

/// Of any client that trusts this certificate (DER) alone and speaks one protocol (ALPN).
///
/// # Errors
/// A message, if it is no certificate.
pub fn client_side(certificate: Vec<u8>, protocol: &[u8]) -> Result<ClientConfig, String> {
    let mut roots = RootCertStore::empty();
    roots
        .add(CertificateDer::from(certificate))
        .map_err(|error| format!("the server's certificate cannot be read: {error}"))?;
    let mut config = ClientConfig::builder_with_provider(provider())
        .with_protocol_versions(&[&TLS13])
        .map_err(|error| format!("cannot set up TLS: {error}"))?
        .with_root_certificates(roots)
        .with_no_client_auth();
    config.alpn_protocols = vec![protocol.to_vec()];
    config.resumption = Resumption::disabled();
    Ok(config)
}

/// AES-128-GCM alone: what every QUIC implementation has, and what costs least where it was
/// measured (docs/build/endpoints.md, "QUIC"). The same over TCP.
fn provider() -> Arc<CryptoProvider> {
    let mut provider = ring::default_provider();
    provider.cipher_suites = vec![ring::cipher_suite::TLS13_AES_128_GCM_SHA256];
    Arc::new(provider)
}

fn certificate(
    key: &KeyPair,
    address: Ipv4Addr,
    now_ns: i64,
    expires_ns: Option<i64>,
) -> Result<CertificateDer<'static>, String> {
    let moment = |ns: i64| {
        OffsetDateTime::from_unix_timestamp_nanos(ns.into()).map_err(|error| {
            format!("{ns} ns after 1970 cannot be the time of a certificate: {error}")
        })
    };
    let mut parameters = CertificateParams::new([address.to_string()])
        .map_err(|error| format!("cannot make a certificate: {error}"))?;
    parameters.not_after = match expires_ns {
        Some(expires_ns) => moment(expires_ns)?,
        None => moment(now_ns)? + Duration::days(YEARS_VALID * DAYS_PER_YEAR),
    };
    // A day earlier than either, so that the start is never what makes it invalid.
    parameters.not_before = moment(now_ns)?.min(parameters.not_after) - Duration::days(1);
    parameters
        .self_signed(key)
        .map(|certificate| certificate.der().clone())
        .map_err(|error| format!("cannot make a certificate: {error}"))
}

/// Writes a file that nobody sees half written.
pub(crate) fn write_whole(path: &str, content: &[u8]) -> Result<(), String> {
    let part = format!("{path}.part");
    fs::write(&part, content)
        .and_then(|()| fs::rename(&part, path))
        .map_err(|error| format!("cannot write {path}: {error}"))
}

/// A log of secrets in NSS format, by which captured packets can be read.
#[derive(Debug)]
struct Keys(Mutex<File>);

impl Keys {
    fn create(path: &str) -> Result<Self, String> {
        let file = File::create(path).map_err(|error| format!("cannot write {path}: {error}"))?;
        Ok(Keys(Mutex::new(file)))
    }

    fn write(&self, line: &str) -> io::Result<()> {
        // One thread: the lock is free.
        self.0.lock().map_or(Ok(()), |mut file| file.write_all(line.as_bytes()))
    }
}

impl KeyLog for Keys {
    fn log(&self, label: &str, client_random: &[u8], secret: &[u8]) {
        let (random, secret) = (HEXLOWER.encode(client_random), HEXLOWER.encode(secret));
        // TLS cannot be told of a failure. What is missing is seen in the file.
        let _ = self.write(&format!("{label} {random} {secret}\n"));
    }
}
