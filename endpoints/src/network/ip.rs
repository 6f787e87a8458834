//! Lines of `ip -batch`: links, addresses, neighbours, routes, rules; and the two ends of a cable.

use super::line::Line;
use super::message::Message;
use super::words::{time_ns, wrong, Words};
use std::net::Ipv4Addr;

// include/uapi/linux/if_link.h.
const IFLA_ADDRESS: u16 = 1;
const IFLA_IFNAME: u16 = 3;
const IFLA_MTU: u16 = 4;
const IFLA_LINK: u16 = 5;
const IFLA_TXQLEN: u16 = 13;
const IFLA_LINKINFO: u16 = 18;
const IFLA_NET_NS_FD: u16 = 28;
const IFLA_GSO_MAX_SEGS: u16 = 40;
const INFO_KIND: u16 = 1;
const INFO_DATA: u16 = 2;
const VETH_PEER: u16 = 1;
const MACVLAN_MODE: u16 = 1;
const PASSTHRU: u32 = 8;
// include/uapi/linux/if_addr.h, neighbour.h.
const IFA_ADDRESS: u16 = 1;
const IFA_LOCAL: u16 = 2;
const NDA_DST: u16 = 1;
const NDA_LLADDR: u16 = 2;
const PERMANENT: u16 = 0x80;
// include/uapi/linux/rtnetlink.h.
const RTA_DST: u16 = 1;
const RTA_OIF: u16 = 4;
const RTA_GATEWAY: u16 = 5;
const RTA_PREFSRC: u16 = 7;
const RTA_METRICS: u16 = 8;
const RTAX_LOCK: u16 = 1;
const RTAX_MTU: u16 = 2;
const RTAX_INITCWND: u16 = 11;
const RTAX_FEATURES: u16 = 12;
const RTAX_RTO_MIN: u16 = 13;
const RTAX_INITRWND: u16 = 14;
const RTAX_CC_ALGO: u16 = 16;
const FEATURE_ECN: u32 = 1;
const TABLE_MAIN: u8 = 254;
const BY_BOOT: u8 = 3;
const SCOPE_UNIVERSE: u8 = 0;
const SCOPE_LINK: u8 = 253;
const SCOPE_HOST: u8 = 254;
const UNICAST: u8 = 1;
const LOCAL: u8 = 2;
// include/uapi/linux/fib_rules.h.
const FRA_SRC: u16 = 2;
const FRA_IIFNAME: u16 = 3;
const FRA_IP_PROTO: u16 = 22;
const FRA_SPORT_RANGE: u16 = 23;
const FRA_DPORT_RANGE: u16 = 24;
const LOOK_UP: u8 = 1;
const BLACKHOLE: u8 = 6;

const INET: u8 = libc::AF_INET as u8;
const NEW: i32 = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
const REPLACE: i32 = libc::NLM_F_CREATE | libc::NLM_F_REPLACE;
/// Longest name of an interface (`IFNAMSIZ`, with its closing zero).
const LONGEST_NAME: usize = 15;

/// One end of a cable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct End {
    /// The descriptor of its node's namespace.
    pub namespace: i32,
    /// The name of its interface.
    pub interface: String,
    /// Its MAC address.
    pub mac: [u8; 6],
}

/// The message that makes a cable: a pair of virtual interfaces.
#[must_use]
pub fn cable(a: &End, b: &End) -> Message {
    let end = |message: &mut Message, end: &End| {
        message
            .put_text(IFLA_IFNAME, &end.interface)
            .put(IFLA_ADDRESS, &end.mac)
            .put_u32(IFLA_NET_NS_FD, end.namespace as u32);
    };
    let mut message = Message::request(libc::RTM_NEWLINK, NEW, &ifinfo(0, 0));
    end(&mut message, a);
    message.nest(IFLA_LINKINFO, |info| {
        info.put_text(INFO_KIND, "veth").nest(INFO_DATA, |data| {
            data.nest(VETH_PEER, |peer| {
                peer.raw(&ifinfo(0, 0));
                end(peer, b);
            });
        });
    });
    message
}

/// `link set dev NAME [mtu N] [gso_max_segs N] [up]`, `link add link LOWER name NAME type macvlan
/// mode passthru`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn link(words: &mut Words) -> Result<Line, String> {
    match words.value("link")? {
        "set" => set_link(words),
        "add" => add_macvlan(words),
        other => Err(wrong("link", other, "`set` or `add`")),
    }
}

fn set_link(words: &mut Words) -> Result<Line, String> {
    let (mut device, mut up) = (None, false);
    let mut attributes = Message::attributes();
    while let Some(word) = words.next() {
        match word {
            "dev" => device = Some(name(words, word)?),
            "mtu" => drop(attributes.put_u32(IFLA_MTU, words.number(word)?)),
            "gso_max_segs" => drop(attributes.put_u32(IFLA_GSO_MAX_SEGS, words.number(word)?)),
            "txqueuelen" => drop(attributes.put_u32(IFLA_TXQLEN, words.number(word)?)),
            "up" => up = true,
            _ => return Err(format!("`link set` has no `{word}`")),
        }
    }
    let flags = if up { libc::IFF_UP as u32 } else { 0 };
    Ok(Line::about(&[device.ok_or("`dev` is missing")?], move |index| {
        let mut message = Message::request(libc::RTM_NEWLINK, 0, &ifinfo(index[0], flags));
        message.append(&attributes);
        message
    }))
}

fn add_macvlan(words: &mut Words) -> Result<Line, String> {
    let (mut lower, mut upper) = (None, None);
    while let Some(word) = words.next() {
        match word {
            "link" => lower = Some(name(words, word)?),
            "name" => upper = Some(name(words, word)?.to_owned()),
            "type" => only(words, word, "macvlan")?,
            "mode" => only(words, word, "passthru")?,
            _ => return Err(format!("`link add` has no `{word}`")),
        }
    }
    let upper = upper.ok_or("`name` is missing")?;
    Ok(Line::about(&[lower.ok_or("`link` is missing")?], move |index| {
        let mut message = Message::request(libc::RTM_NEWLINK, NEW, &ifinfo(0, 0));
        message.put_text(IFLA_IFNAME, &upper).put_u32(IFLA_LINK, index[0] as u32);
        message.nest(IFLA_LINKINFO, |info| {
            info.put_text(INFO_KIND, "macvlan").nest(INFO_DATA, |data| {
                data.put_u32(MACVLAN_MODE, PASSTHRU);
            });
        });
        message
    }))
}

/// `address add A.B.C.D/N dev NAME`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn address(words: &mut Words) -> Result<Line, String> {
    only(words, "address", "add")?;
    let (address, prefix) = network(words.value("address")?)?;
    only(words, "address", "dev")?;
    let device = name(words, "dev")?;
    Ok(Line::about(&[device], move |index| {
        // struct ifaddrmsg: family, length of the prefix, flags, scope, index.
        let mut fixed = vec![INET, prefix, 0, SCOPE_UNIVERSE];
        fixed.extend_from_slice(&index[0].to_ne_bytes());
        let mut message = Message::request(libc::RTM_NEWADDR, NEW, &fixed);
        message.put(IFA_LOCAL, &address.octets()).put(IFA_ADDRESS, &address.octets());
        message
    }))
}

/// `neighbour add A.B.C.D lladdr MAC dev NAME nud permanent`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn neighbour(words: &mut Words) -> Result<Line, String> {
    only(words, "neighbour", "add")?;
    let address = ipv4(words.value("neighbour")?)?;
    only(words, "neighbour", "lladdr")?;
    let mac = mac(words.value("lladdr")?)?;
    only(words, "neighbour", "dev")?;
    let device = name(words, "dev")?;
    only(words, "neighbour", "nud")?;
    only(words, "nud", "permanent")?;
    Ok(Line::about(&[device], move |index| {
        // struct ndmsg: family, padding, index, state, flags, type.
        let mut fixed = vec![INET, 0, 0, 0];
        fixed.extend_from_slice(&index[0].to_ne_bytes());
        fixed.extend_from_slice(&PERMANENT.to_ne_bytes());
        fixed.extend_from_slice(&[0; 2]);
        let mut message = Message::request(libc::RTM_NEWNEIGH, NEW, &fixed);
        message.put(NDA_DST, &address.octets()).put(NDA_LLADDR, &mac);
        message
    }))
}

/// `route (add | replace) [local] NETWORK [via A.B.C.D] [dev NAME] [src A.B.C.D] [table N] [mtu N]
/// [initcwnd N] [initrwnd N] [rto_min TIME] [features ecn] [congctl NAME]`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn route(words: &mut Words) -> Result<Line, String> {
    let flags = match words.value("route")? {
        "add" => NEW,
        "replace" => REPLACE,
        other => return Err(wrong("route", other, "`add` or `replace`")),
    };
    let mut word = words.value("route")?;
    let is_local = word == "local";
    if is_local {
        word = words.value("local")?;
    }
    let (destination, prefix) = network(word)?;
    let (mut gateway, mut device, mut table) = (None, None, TABLE_MAIN);
    let mut source = None;
    let mut metrics = Message::attributes();
    while let Some(word) = words.next() {
        match word {
            "src" => source = Some(ipv4(words.value(word)?)?),
            "via" => gateway = Some(ipv4(words.value(word)?)?),
            "dev" => device = Some(name(words, word)?),
            "table" => table = words.number(word)?,
            "mtu" => drop(metrics.put_u32(RTAX_MTU, words.number(word)?)),
            "initcwnd" => drop(metrics.put_u32(RTAX_INITCWND, words.number(word)?)),
            "initrwnd" => drop(metrics.put_u32(RTAX_INITRWND, words.number(word)?)),
            // The kernel takes no notice of it unless it is locked; `ip` does so, too.
            "rto_min" => {
                let least_ms = milliseconds(words)?;
                metrics.put_u32(RTAX_LOCK, 1 << RTAX_RTO_MIN).put_u32(RTAX_RTO_MIN, least_ms);
            }
            "features" => {
                only(words, word, "ecn")?;
                metrics.put_u32(RTAX_FEATURES, FEATURE_ECN);
            }
            "congctl" => drop(metrics.put_text(RTAX_CC_ALGO, words.value(word)?)),
            _ => return Err(format!("`route` has no `{word}`")),
        }
    }
    let (kind, scope) = match (is_local, gateway) {
        (true, _) => (LOCAL, SCOPE_HOST),
        (false, None) => (UNICAST, SCOPE_LINK),
        (false, Some(_)) => (UNICAST, SCOPE_UNIVERSE),
    };
    let devices: Vec<&str> = device.into_iter().collect();
    if devices.is_empty() && gateway.is_none() {
        return Err("a route needs `via` or `dev`".into());
    }
    Ok(Line::about(&devices, move |index| {
        // struct rtmsg: family, destination, source, type of service, table, protocol, scope, type,
        // flags.
        let fixed = [INET, prefix, 0, 0, table, BY_BOOT, scope, kind, 0, 0, 0, 0];
        let mut message = Message::request(libc::RTM_NEWROUTE, flags, &fixed);
        if prefix > 0 {
            message.put(RTA_DST, &destination.octets());
        }
        if let Some(gateway) = gateway {
            message.put(RTA_GATEWAY, &gateway.octets());
        }
        if let Some(source) = source {
            message.put(RTA_PREFSRC, &source.octets());
        }
        if let Some(index) = index.first() {
            message.put_u32(RTA_OIF, *index as u32);
        }
        if !metrics.bytes().is_empty() {
            message.nest(RTA_METRICS, |inner| {
                inner.append(&metrics);
            });
        }
        message
    }))
}

/// Takes the time after `rto_min`, whole ms.
fn milliseconds(words: &mut Words) -> Result<u32, String> {
    let word = words.value("rto_min")?;
    time_ns(word)
        .filter(|ns| ns % 1_000_000 == 0)
        .and_then(|ns| u32::try_from(ns / 1_000_000).ok())
        .ok_or_else(|| wrong("rto_min", word, "a time in whole ms such as 20ms"))
}

/// `rule add [from NETWORK] [iif NAME] [ipproto tcp] [dport N] [sport N] (lookup N | blackhole)`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn rule(words: &mut Words) -> Result<Line, String> {
    only(words, "rule", "add")?;
    let mut attributes = Message::attributes();
    let (mut source_bits, mut table, mut action) = (0, 0_u8, LOOK_UP);
    while let Some(word) = words.next() {
        match word {
            "from" => {
                let (source, bits) = network(words.value(word)?)?;
                attributes.put(FRA_SRC, &source.octets());
                source_bits = bits;
            }
            "iif" => drop(attributes.put_text(FRA_IIFNAME, name(words, word)?)),
            "ipproto" => {
                only(words, word, "tcp")?;
                attributes.put_u8(FRA_IP_PROTO, libc::IPPROTO_TCP as u8);
            }
            "dport" | "sport" => {
                let port: u16 = words.number(word)?;
                let kind = if word == "dport" { FRA_DPORT_RANGE } else { FRA_SPORT_RANGE };
                attributes.put(kind, &[port.to_ne_bytes(), port.to_ne_bytes()].concat());
            }
            "lookup" => table = words.number(word)?,
            "blackhole" => action = BLACKHOLE,
            _ => return Err(format!("`rule` has no `{word}`")),
        }
    }
    if attributes.bytes().is_empty() {
        return Err("a rule needs `from` or `iif`".into());
    }
    if (action == LOOK_UP) == (table == 0) {
        return Err("a rule needs `lookup` or `blackhole`".into());
    }
    Ok(Line::about(&[], move |_| {
        // struct fib_rule_hdr: family, destination, source, type of service, table, two reserved,
        // action, flags.
        let fixed = [INET, 0, source_bits, 0, table, 0, 0, action, 0, 0, 0, 0];
        let mut message = Message::request(libc::RTM_NEWRULE, NEW, &fixed);
        message.append(&attributes);
        message
    }))
}

/// `struct ifinfomsg`; flags: those that are set.
fn ifinfo(index: i32, flags: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&index.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes.extend_from_slice(&flags.to_ne_bytes());
    bytes
}

fn only(words: &mut Words, of: &str, expected: &str) -> Result<(), String> {
    match words.value(of)? {
        word if word == expected => Ok(()),
        word => Err(wrong(of, word, &format!("`{expected}`"))),
    }
}

/// Takes the name of an interface.
fn name<'a>(words: &mut Words<'a>, of: &str) -> Result<&'a str, String> {
    checked_name(words.value(of)?, of)
}

/// Checks the name of an interface.
///
/// # Errors
/// A message that says what it is not.
pub fn checked_name<'a>(word: &'a str, of: &str) -> Result<&'a str, String> {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
    if word.is_empty() || word.len() > LONGEST_NAME || !word.bytes().all(plain) {
        return Err(wrong(of, word, "an interface name"));
    }
    Ok(word)
}

fn ipv4(word: &str) -> Result<Ipv4Addr, String> {
    word.parse().map_err(|_| wrong("address", word, "an IPv4 address"))
}

fn network(word: &str) -> Result<(Ipv4Addr, u8), String> {
    word.split_once('/')
        .and_then(|(address, prefix)| Some((address.parse().ok()?, prefix.parse().ok()?)))
        .filter(|(_, prefix)| *prefix <= 32)
        .ok_or_else(|| {
            wrong("address", word, "an IPv4 address with its prefix, such as 10.0.0.1/30")
        })
}

/// Reads a MAC address.
///
/// # Errors
/// A message that says what it is not.
pub fn mac(word: &str) -> Result<[u8; 6], String> {
    let bytes: Option<Vec<u8>> = word
        .split(':')
        .map(|byte| u8::from_str_radix(byte, 16).ok().filter(|_| byte.len() == 2))
        .collect();
    bytes
        .and_then(|bytes| bytes.try_into().ok())
        .ok_or_else(|| wrong("lladdr", word, "a MAC address"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_programs_is_read() {
        for (line, devices) in [
            ("link set dev lo up", vec!["lo"]),
            ("link set dev h-nic0 mtu 1500 gso_max_segs 1 up", vec!["h-nic0"]),
            ("link add link h-nic0 name h-eth0 type macvlan mode passthru", vec!["h-nic0"]),
            ("address add 10.0.0.1/30 dev h-eth0", vec!["h-eth0"]),
            ("neighbour add 10.0.0.2 lladdr 02:00:0a:00:00:02 dev a nud permanent", vec!["a"]),
            ("route add 10.0.0.0/8 via 10.0.0.2", vec![]),
            ("route add 10.0.0.9/32 via 10.0.0.2 mtu 1400", vec![]),
            ("route add 10.255.0.1/32 via 10.0.0.2 src 10.255.0.2", vec![]),
            ("route replace 10.0.0.9/32 dev a initcwnd 4", vec!["a"]),
            ("route replace 10.0.0.9/32 via 10.0.0.2 initcwnd 4 initrwnd 8", vec![]),
            ("route replace local 0.0.0.0/0 dev lo table 100", vec!["lo"]),
            ("route add 10.0.0.9/32 via 10.0.0.2 table 101 initcwnd 4 rto_min 5ms", vec![]),
            ("rule add iif a ipproto tcp dport 5001 lookup 100", vec![]),
            ("rule add iif a blackhole", vec![]),
            ("rule add from 10.0.0.1/32 lookup 60", vec![]),
            ("route add 10.0.0.9/32 via 10.0.0.2 table 101 features ecn congctl dctcp", vec![]),
            ("rule add from 10.0.0.1/32 iif lo ipproto tcp dport 5001 lookup 101", vec![]),
        ] {
            assert_eq!(Line::read(line).unwrap().devices, devices, "{line}");
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, message) in [
            ("", "`line` is ``"),
            ("addr add 10.0.0.1/30 dev a", "`line` is `addr`"),
            ("link del dev a", "`link` is `del`"),
            ("link set dev a-name-that-is-too-long up", "an interface name"),
            ("link set dev a/b up", "an interface name"),
            ("link set mtu 1500", "`dev` is missing"),
            ("link set dev a mtu -1", "`mtu` is `-1`"),
            ("link add link a name b type macvlan mode bridge", "`mode` is `bridge`"),
            ("address add 10.0.0.1 dev a", "with its prefix"),
            ("address add 10.0.0.1/33 dev a", "with its prefix"),
            ("neighbour add 10.0.0.2 lladdr 02:00 dev a nud permanent", "a MAC address"),
            ("neighbour add 10.0.0.2 lladdr 2:0:a:0:0:2 dev a nud permanent", "a MAC address"),
            ("route add 10.0.0.0/8", "needs `via` or `dev`"),
            ("route add 10.0.0.0/8 via 10.0.0.2 window 3", "`route` has no `window`"),
            ("route add 10.0.0.0/8 dev a table 300", "`table` is `300`"),
            ("route add 10.0.0.9/32 dev a features sack", "`features` is `sack`, not `ecn`"),
            ("route add 10.0.0.9/32 dev a rto_min 5", "`rto_min` is `5`"),
            ("route add 10.0.0.9/32 dev a rto_min 1500us", "a time in whole ms"),
            ("rule add lookup 100", "needs `from` or `iif`"),
            ("rule add iif a", "needs `lookup` or `blackhole`"),
            ("rule add iif a blackhole lookup 100", "needs `lookup` or `blackhole`"),
            ("address add 10.0.0.1/30 dev a up", "unexpected `up`"),
        ] {
            let error = Line::read(line).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
