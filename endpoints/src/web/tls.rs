//! TLS of the web roles: one key, and a certificate of it.
//!
//! The key is a constant, so that a browser can be told of it before the server starts. It secures
//! nothing: whoever reads this file has it. It is the SHA-256 of `fairc web-server` as a number on
//! the curve P-256. Certificates of it are signed by the server at its start.

use crate::quic::tls::{server_side, write_whole};
use data_encoding::BASE64;
use rcgen::{date_time_ymd, CertificateParams, DistinguishedName, DnType, KeyPair, PublicKeyData};
use rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use rustls::ServerConfig;
use std::net::Ipv4Addr;

/// Host name in the certificate.
pub const HOST: &str = "web.fairc";

/// PKCS #8.
const KEY: &[u8] = &[
    0x30, 0x81, 0x87, 0x02, 0x01, 0x00, 0x30, 0x13, 0x06, 0x07, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x02,
    0x01, 0x06, 0x08, 0x2a, 0x86, 0x48, 0xce, 0x3d, 0x03, 0x01, 0x07, 0x04, 0x6d, 0x30, 0x6b, 0x02,
    0x01, 0x01, 0x04, 0x20, 0xd4, 0x99, 0x40, 0x0a, 0x27, 0x1f, 0xd3, 0x31, 0x21, 0x0b, 0xbe, 0x9f,
    0x1e, 0xa6, 0x54, 0xca, 0x3d, 0x77, 0x7d, 0x1a, 0x66, 0x67, 0xb3, 0x5f, 0x08, 0xa5, 0xac, 0xb8,
    0x8c, 0x3a, 0x60, 0xfb, 0xa1, 0x44, 0x03, 0x42, 0x00, 0x04, 0x92, 0xc9, 0x36, 0xd6, 0x27, 0xef,
    0xd4, 0xd4, 0x57, 0xa9, 0xfa, 0xf6, 0xa7, 0x60, 0x4c, 0x1e, 0x17, 0x4e, 0xc9, 0x5e, 0x83, 0x01,
    0x11, 0x37, 0x3f, 0x8e, 0x84, 0xde, 0xe2, 0x36, 0xc3, 0xb2, 0xc1, 0xba, 0xc7, 0x94, 0xe0, 0x02,
    0x30, 0xac, 0xd8, 0x89, 0x54, 0xe2, 0x04, 0xb1, 0x4a, 0x6f, 0xa8, 0x1a, 0x8c, 0xf7, 0xec, 0x8e,
    0x26, 0x5f, 0xe4, 0xd8, 0x4b, 0xa6, 0x97, 0xbb, 0x5d, 0x60,
];
/// Between these years any clock of an emulated machine stands.
const YEARS_VALID: (i32, i32) = (2000, 2100);

/// Where the server of a flow leaves its certificate (DER).
#[must_use]
pub fn certificate_file(flow: &str) -> String {
    format!("{flow}.der")
}

/// A certificate and what a browser pins it by.
pub struct Identity {
    /// The certificate.
    pub certificate: CertificateDer<'static>,
    /// Base64 of the SHA-256 of its `SubjectPublicKeyInfo`.
    pub spki: String,
}

impl Identity {
    /// A fresh certificate for the host name and `address`.
    ///
    /// # Errors
    /// A message.
    pub fn new(address: Ipv4Addr) -> Result<Self, String> {
        let cannot = |error: rcgen::Error| format!("cannot make a certificate: {error}");
        let key = KeyPair::try_from(KEY).map_err(cannot)?;
        let mut parameters =
            CertificateParams::new([HOST.to_owned(), address.to_string()]).map_err(cannot)?;
        parameters.not_before = date_time_ymd(YEARS_VALID.0, 1, 1);
        parameters.not_after = date_time_ymd(YEARS_VALID.1, 1, 1);
        parameters.distinguished_name = DistinguishedName::new();
        parameters.distinguished_name.push(DnType::CommonName, HOST);
        let certificate = parameters.self_signed(&key).map_err(cannot)?.der().clone();
        let digest = ring::digest::digest(&ring::digest::SHA256, &key.subject_public_key_info());
        Ok(Identity { certificate, spki: BASE64.encode(digest.as_ref()) })
    }

    /// Writes `<flow>.der`, the certificate, and `<flow>.spki`.
    ///
    /// # Errors
    /// A message.
    pub fn write(&self, flow: &str) -> Result<(), String> {
        write_whole(&certificate_file(flow), &self.certificate)?;
        write_whole(&format!("{flow}.spki"), self.spki.as_bytes())
    }

    /// Of a server that speaks these protocols (ALPN).
    ///
    /// # Errors
    /// A message.
    pub fn server(&self, protocols: &[&[u8]]) -> Result<ServerConfig, String> {
        let key = PrivatePkcs8KeyDer::from(KEY).into();
        server_side(self.certificate.clone(), key, protocols)
    }
}
