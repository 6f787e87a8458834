use super::*;
use crate::quic::{tls, transport};
use quinn_proto::crypto::rustls::{QuicClientConfig, QuicServerConfig};
use quinn_proto::{
    ClientConfig, Connection, ConnectionHandle, DatagramEvent, Dir, EcnCodepoint, Endpoint,
};
use rcgen::{CertificateParams, KeyPair as SigningKey};
use rustls::pki_types::PrivateKeyDer;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

/// Largest 0x1234, delay 5, ranges beside the first, then the counts; a PING behind.
fn frame(extra: &[u8], counts: &[u8]) -> Vec<u8> {
    let ranges = extra.len() as u8 / 2;
    let mut frame = vec![3, 0x52, 0x34, 5, ranges, 7];
    frame.extend(extra);
    frame.extend(counts);
    frame.push(1);
    frame
}

#[test]
fn integers_have_one_two_four_or_eight_bytes() {
    // The examples of RFC 9000, appendix A.1.
    for (bytes, expected) in [
        (&[0xc2, 0x19, 0x7c, 0x5e, 0xff, 0x14, 0xe8, 0x8c][..], (151_288_809_941_952_652, 8)),
        (&[0x9d, 0x7f, 0x3e, 0x7d], (494_878_333, 4)),
        (&[0x7b, 0xbd], (15_293, 2)),
        (&[0x25], (37, 1)),
    ] {
        assert_eq!(variable(bytes), Some(expected));
    }
    assert_eq!(variable(&[0x7b]), None, "cut off");
}

#[test]
fn counts_are_found_behind_the_ranges_and_exchanged() {
    for extra in [&[][..], &[1, 2, 3, 4]] {
        // ECT(0) 0, ECT(1) 300 (two bytes), CE 9.
        let mut payload = frame(extra, &[0, 0x41, 0x2c, 9]);
        let counts = Counts::find(&payload).unwrap();
        assert_eq!((counts.ect0.len(), counts.ect1.len(), counts.ce), (1, 2, 9));
        counts.exchange(&mut payload);
        assert_eq!(payload, frame(extra, &[0x41, 0x2c, 0, 9]));
    }
    // PADDING, PING, MAX_DATA, MAX_STREAM_DATA, CRYPTO, STREAM with its length, NEW_CONNECTION_ID.
    let before = [
        &[0, 1, 0x10, 0x44, 0, 0x11, 0, 0x44, 0, 0x06, 0, 3, 9, 9, 9, 0x0e, 0, 1, 2, 7, 7][..],
        &[0x18, 1, 0, 8],
        &[3; 24],
    ];
    let behind = [&before.concat()[..], &frame(&[], &[1, 2, 3])].concat();
    assert_eq!(Counts::find(&behind).unwrap().ce, 3);
}

#[test]
fn what_has_no_counts_stays_as_it_is() {
    let cut = frame(&[], &[0, 2]);
    for payload in [&[2, 1, 2, 0, 0][..], &[], &[1], &[0x08, 3, 0], &cut[..7]] {
        assert_eq!(Counts::find(payload), None, "{payload:?}");
    }
    // Far more ranges than bytes.
    let many = [&[3, 0, 0][..], &[0xff; 8], &[0; 20]].concat();
    assert_eq!(Counts::find(&many), None);
}

#[test]
fn a_late_count_changes_nothing() {
    let marks = Marks::default();
    for (count, expected) in [(3, 3), (7, 7), (5, 7)] {
        marks.take(count);
        assert_eq!(marks.packets(), expected);
    }
}

const NAME: &str = "server";
const TOTAL: usize = 4_000_000;
const STEP: Duration = Duration::from_millis(10);

/// An end of a connection in memory.
struct End {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    at: SocketAddr,
}

impl End {
    /// Takes a datagram.
    fn take(&mut self, now: Instant, from: SocketAddr, ecn: EcnCodepoint, datagram: &[u8]) {
        let mut answer = Vec::new();
        match self.endpoint.handle(now, from, None, Some(ecn), datagram.into(), &mut answer) {
            Some(DatagramEvent::NewConnection(incoming)) => {
                let accepted = self.endpoint.accept(incoming, now, &mut answer, None);
                self.connection = Some(accepted.map_err(|error| error.cause).unwrap());
            }
            Some(DatagramEvent::ConnectionEvent(_, event)) => {
                self.connection.as_mut().unwrap().1.handle_event(event);
            }
            _ => {}
        }
    }

    /// What it has to send, and whether that is ECN-capable.
    fn send(&mut self, now: Instant) -> Vec<(Vec<u8>, bool)> {
        let Some((handle, connection)) = &mut self.connection else { return Vec::new() };
        connection.handle_timeout(now);
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
        let mut sent = Vec::new();
        let mut datagram = Vec::new();
        while let Some(transmit) = connection.poll_transmit(now, 1, &mut datagram) {
            sent.push((std::mem::take(&mut datagram), transmit.ecn.is_some()));
        }
        sent
    }
}

fn ends(marks: &Marks) -> (End, End) {
    let key = SigningKey::generate().unwrap();
    let params = CertificateParams::new([NAME.to_owned()]).unwrap();
    let certificate = params.self_signed(&key).unwrap().der().clone();
    let private = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
    let of_client = tls::client_side(certificate.to_vec(), b"test").unwrap();
    let of_server = tls::server_side(certificate, private, &[b"test"]).unwrap();
    let inner = Arc::new(QuicServerConfig::try_from(of_server).unwrap());
    let counting = Counting { inner, marks: marks.clone() };
    let mut config = quinn_proto::ServerConfig::with_crypto(Arc::new(counting));
    let mut settings = transport::client(1200, Some(1 << 17), Some(60_000_000_000)).unwrap();
    settings.max_concurrent_bidi_streams(1_u8.into());
    config.transport_config(Arc::new(settings));
    let trusting = Arc::new(QuicClientConfig::try_from(of_client).unwrap());
    let mut client_config = ClientConfig::new(trusting);
    client_config.transport_config(Arc::new(
        transport::client(1200, Some(1 << 17), Some(60_000_000_000)).unwrap(),
    ));
    let (here, there) = (([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
    let mut client = Endpoint::new(Arc::default(), None, false, None);
    let opened = client.connect(Instant::now(), client_config, there, NAME).unwrap();
    let server = Endpoint::new(Arc::default(), Some(Arc::new(config)), false, None);
    (
        End { endpoint: client, connection: Some(opened), at: here },
        End { endpoint: server, connection: None, at: there },
    )
}

/// Sends 4 MB through a window of 128 kB from a server whose `nth` datagram the network marks so;
/// returns how many datagrams with data had CE, and whether the last ones were still ECN-capable.
fn download(marks: &Marks, nth: impl Fn(usize) -> EcnCodepoint) -> (u64, bool) {
    let (mut client, mut server) = ends(marks);
    let mut now = Instant::now();
    let (mut count, mut congested, mut last) = (0, 0, false);
    let (mut asking, mut answering) = (None, None);
    let (mut written, mut read) = (0, 0);
    while read < TOTAL {
        assert!(count < 10 * TOTAL / 1200, "{written} {read}");
        now += STEP;
        for (datagram, _) in client.send(now) {
            server.take(now, client.at, EcnCodepoint::Ect0, &datagram);
        }
        if let Some((_, connection)) = &mut server.connection {
            answering = answering.or_else(|| connection.streams().accept(Dir::Bi));
            if let Some(id) = answering {
                let rest = vec![7; TOTAL - written];
                written += connection.send_stream(id).write(&rest).unwrap_or(0);
            }
        }
        now += STEP;
        for (datagram, capable) in server.send(now) {
            let ecn = nth(count);
            count += 1;
            // A short header: a packet of the application.
            congested += u64::from(ecn.is_ce() && datagram[0] & 0x80 == 0);
            last = capable;
            client.take(now, server.at, ecn, &datagram);
        }
        let connection = &mut client.connection.as_mut().unwrap().1;
        if let Some(id) = asking {
            let mut stream = connection.recv_stream(id);
            let mut chunks = stream.read(true).unwrap();
            while let Ok(Some(chunk)) = chunks.next(usize::MAX) {
                read += chunk.bytes.len();
            }
            let _ = chunks.finalize();
        } else if !connection.is_handshaking() {
            let id = connection.streams().open(Dir::Bi).unwrap();
            connection.send_stream(id).write(b"x").unwrap();
            asking = Some(id);
        }
    }
    (congested, last)
}

#[test]
fn every_mark_is_counted_and_ect1_is_validated() {
    let marks = Marks::default();
    let every_fifth = |n| if n % 50 == 1 { EcnCodepoint::Ce } else { EcnCodepoint::Ect1 };
    let (congested, capable) = download(&marks, every_fifth);
    assert!(congested > 10 && capable, "{congested} {capable}");
    assert_eq!(marks.packets(), congested);
}

#[test]
fn a_path_that_makes_ect0_of_ect1_ends_the_use_of_ecn() {
    let (_, capable) = download(&Marks::default(), |_| EcnCodepoint::Ect0);
    assert!(!capable);
}
