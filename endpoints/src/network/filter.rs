//! Filters: a line of `tc filter` as a message. What packets are changed or dropped by, as they
//! arrive or leave.

use super::line::Line;
use super::message::Message;
use super::qdisc::{class, fixed, rate, TCA_KIND, TCA_OPTIONS};
use super::words::{wrong, Words};

/// Where filters are, within the qdisc `clsact` (`TC_H_MIN_INGRESS`, `TC_H_MIN_EGRESS`).
const INGRESS: u32 = 0xffff_fff2;
const EGRESS: u32 = 0xffff_fff3;
const ETH_P_IP: u16 = 0x0800;

/// The class of a qdisc that packets go to, in either classifier.
const CLASS: u16 = 1;
const MATCHALL_ACTIONS: u16 = 2;
const FLOWER_ACTIONS: u16 = 3;
const FLOWER_ETH_TYPE: u16 = 8;
const FLOWER_IP_PROTO: u16 = 9;
/// `TCA_FLOWER_KEY_TCP_SRC`; of UDP they are two further.
const FLOWER_SOURCE: u16 = 18;
const FLOWER_DESTINATION: u16 = 19;
const OF_UDP: u16 = 2;
/// `TCA_FLOWER_KEY_TCP_FLAGS`, and its mask.
const FLOWER_TCP_FLAGS: u16 = 71;
const FLOWER_TCP_FLAGS_MASK: u16 = 72;
/// `TCA_FLOWER_KEY_IP_TOS`, and its mask.
const FLOWER_TOS: u16 = 73;
const FLOWER_TOS_MASK: u16 = 74;

const U32_SELECTOR: u16 = 5;
const U32_ACTIONS: u16 = 7;
const U32_TERMINAL: u8 = 1;

const ACT_KIND: u16 = 1;
const ACT_OPTIONS: u16 = 2;
/// `TC_ACT_UNSPEC` (the next filter), `TC_ACT_OK`, `TC_ACT_SHOT`, `TC_ACT_PIPE`.
const CONTINUE: u32 = u32::MAX;
const OK: u32 = 0;
const SHOT: u32 = 2;
const PIPE: u32 = 3;

const POLICE_PARAMETERS: u16 = 1;
const POLICE_TABLE: u16 = 2;
const POLICE_RESULT: u16 = 5;
const POLICE_RATE64: u16 = 8;
/// Entries of a rate's table, which the kernel wants and does not read any more.
const CELLS: u64 = 256;

const PEDIT_PARAMETERS: u16 = 2;
const CSUM_PARAMETERS: u16 = 1;
const CSUM_IPV4: u32 = 1;
const CSUM_TCP_AND_UDP: u32 = 8 | 16;
const SKBMOD_PARAMETERS: u16 = 2;
const SKBMOD_ECN: u64 = 16;

/// An action: its name, and its options with what follows it.
type Action = (&'static str, Box<dyn Fn(u32) -> Message>);

/// Reads `add dev NAME (ingress | egress) protocol ip prio N CLASSIFIER action ... [pipe action
/// ...]`, or `add dev NAME parent HANDLE protocol ip prio N flower ip_tos VALUE/MASK classid
/// CLASS`, after `filter`; or `del dev NAME (ingress | egress) protocol ip prio N`: all of them.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn read(words: &mut Words) -> Result<Line, String> {
    let verb = words.value("filter")?.to_owned();
    if !["add", "del"].contains(&verb.as_str()) {
        return Err(wrong("filter", &verb, "`add` or `del`"));
    }
    expect(words, "filter", "dev")?;
    let device = words.value("dev")?.to_owned();
    let parent = match words.value("filter")? {
        "ingress" => INGRESS,
        "egress" => EGRESS,
        "parent" => class(words.value("parent")?)?,
        other => return Err(wrong("filter", other, "`ingress`, `egress` or `parent`")),
    };
    expect(words, "filter", "protocol")?;
    expect(words, "protocol", "ip")?;
    expect(words, "filter", "prio")?;
    let priority: u16 = words.number("prio")?;
    let info = u32::from(priority) << 16 | u32::from(ETH_P_IP.to_be());
    let head = move |index: i32| {
        let mut head = fixed(index, 0, parent);
        let end = head.len();
        head[end - 4..].copy_from_slice(&info.to_ne_bytes());
        head
    };
    if verb == "del" {
        return Ok(Line::about(&[&device], move |index| {
            Message::request(libc::RTM_DELTFILTER, 0, &head(index[0]))
        }));
    }
    let kind = words.value("filter")?.to_owned();
    let mut options = Message::attributes();
    match kind.as_str() {
        "matchall" => {
            expect(words, "matchall", "action")?;
            put_actions(MATCHALL_ACTIONS, &actions(words)?, &mut options);
        }
        "flower" => {
            if flower(words, &mut options)? {
                put_actions(FLOWER_ACTIONS, &actions(words)?, &mut options);
            }
        }
        "u32" => {
            options.put(U32_SELECTOR, &selector(words)?);
            put_actions(U32_ACTIONS, &actions(words)?, &mut options);
        }
        other => return Err(wrong("filter", other, "`matchall`, `flower` or `u32`")),
    }
    Ok(Line::about(&[&device], move |index| {
        let flags = libc::NLM_F_CREATE | libc::NLM_F_EXCL;
        let mut message = Message::request(libc::RTM_NEWTFILTER, flags, &head(index[0]));
        message.put_text(TCA_KIND, &kind).nest(TCA_OPTIONS, |inner| {
            inner.append(&options);
        });
        message
    }))
}

/// Puts actions into a classifier's attribute, each followed by the next.
fn put_actions(at: u16, actions: &[Action], options: &mut Message) {
    options.nest(at, |list| {
        for (index, (name, made)) in actions.iter().enumerate() {
            let then = if index + 1 == actions.len() { OK } else { PIPE };
            list.nest(index as u16 + 1, |one| {
                one.put_text(ACT_KIND, name).nest(ACT_OPTIONS, |inner| {
                    inner.append(&made(then));
                });
            });
        }
    });
}

/// Reads `(ip_tos VALUE/MASK | ip_proto PROTOCOL FIELD) (action | classid CLASS)`, and says whether
/// actions follow.
fn flower(words: &mut Words, options: &mut Message) -> Result<bool, String> {
    options.put(FLOWER_ETH_TYPE, &ETH_P_IP.to_be_bytes());
    match words.value("flower")? {
        "ip_tos" => {
            let (value, mask) = masked(words, "ip_tos", "0xb8/0xfc")?;
            options.put_u8(FLOWER_TOS, value).put_u8(FLOWER_TOS_MASK, mask);
        }
        "ip_proto" => of_protocol(words, options)?,
        other => return Err(wrong("flower", other, "`ip_tos` or `ip_proto`")),
    }
    match words.value("flower")? {
        "action" => Ok(true),
        "classid" => {
            options.put_u32(CLASS, class(words.value("classid")?)?);
            Ok(false)
        }
        other => Err(wrong("flower", other, "`action` or `classid`")),
    }
}

/// Reads `match u32 VALUE MASK at OFFSET [match ...] action` as a `struct tc_u32_sel`; the offset is
/// from the header of IP on.
fn selector(words: &mut Words) -> Result<Vec<u8>, String> {
    let mut keys = Vec::new();
    loop {
        match words.value("u32")? {
            "match" => expect(words, "match", "u32")?,
            "action" => break,
            other => return Err(wrong("u32", other, "`match` or `action`")),
        }
        let [value, mask] = [hexadecimal(words)?, hexadecimal(words)?];
        expect(words, "match", "at")?;
        let offset: i32 = words.number("at")?;
        keys.push((mask, value & mask, offset));
    }
    let mut raw = vec![U32_TERMINAL, 0, keys.len() as u8];
    raw.resize(16, 0);
    for (mask, value, offset) in keys {
        raw.extend_from_slice(&mask.to_be_bytes());
        raw.extend_from_slice(&value.to_be_bytes());
        raw.extend_from_slice(&offset.to_ne_bytes());
        raw.extend_from_slice(&[0; 4]);
    }
    Ok(raw)
}

/// Takes a word of four bytes, hexadecimal.
fn hexadecimal(words: &mut Words) -> Result<u32, String> {
    let word = words.value("match")?;
    word.strip_prefix("0x")
        .and_then(|digits| u32::from_str_radix(digits, 16).ok())
        .ok_or_else(|| wrong("match", word, "a word such as `0xc0000000`"))
}

/// Takes a byte and its mask, hexadecimal, as tc has them.
fn masked(words: &mut Words, of: &str, example: &str) -> Result<(u8, u8), String> {
    let word = words.value(of)?;
    let byte = |text: &str| u8::from_str_radix(text.strip_prefix("0x")?, 16).ok();
    word.split_once('/')
        .and_then(|(value, mask)| Some((byte(value)?, byte(mask)?)))
        .ok_or_else(|| wrong(of, word, &format!("a value and its mask such as `{example}`")))
}

fn expect(words: &mut Words, of: &str, wanted: &str) -> Result<(), String> {
    match words.value(of)? {
        word if word == wanted => Ok(()),
        other => Err(wrong(of, other, &format!("`{wanted}`"))),
    }
}

/// Reads `icmp`, `tcp tcp_flags VALUE/MASK`, or `(tcp | udp) (src_port | dst_port) N`.
fn of_protocol(words: &mut Words, options: &mut Message) -> Result<(), String> {
    let (protocol, more) = match words.value("ip_proto")? {
        "tcp" => (libc::IPPROTO_TCP, 0),
        "udp" => (libc::IPPROTO_UDP, OF_UDP),
        "icmp" => {
            options.put_u8(FLOWER_IP_PROTO, libc::IPPROTO_ICMP as u8);
            return Ok(());
        }
        other => return Err(wrong("ip_proto", other, "`icmp`, `tcp` or `udp`")),
    };
    options.put_u8(FLOWER_IP_PROTO, protocol as u8);
    let side = match words.value("flower")? {
        "src_port" => FLOWER_SOURCE,
        "dst_port" => FLOWER_DESTINATION,
        "tcp_flags" if protocol == libc::IPPROTO_TCP => {
            let (value, mask) = masked(words, "tcp_flags", "0x2/0x2")?;
            options
                .put(FLOWER_TCP_FLAGS, &u16::from(value).to_be_bytes())
                .put(FLOWER_TCP_FLAGS_MASK, &u16::from(mask).to_be_bytes());
            return Ok(());
        }
        other => return Err(wrong("flower", other, "`src_port` or `dst_port`")),
    };
    let port: u16 = words.number("port")?;
    options.put(side + more, &port.to_be_bytes());
    Ok(())
}

/// Reads the actions to the end of the line, each but the first after `pipe action`.
fn actions(words: &mut Words) -> Result<Vec<Action>, String> {
    let mut found = Vec::new();
    loop {
        found.push(match words.value("action")? {
            "police" => police(words)?,
            "pedit" => pedit(words)?,
            "csum" => {
                let of = match words.value("csum")? {
                    "ip" => CSUM_IPV4,
                    "tcp" => {
                        expect(words, "csum", "and")?;
                        expect(words, "csum", "udp")?;
                        CSUM_TCP_AND_UDP
                    }
                    other => return Err(wrong("csum", other, "`ip`, or `tcp and udp`")),
                };
                ("csum", Box::new(move |then| csum(of, then)) as Box<dyn Fn(u32) -> Message>)
            }
            "skbmod" => {
                expect(words, "skbmod", "ecn")?;
                ("skbmod", Box::new(set_ce) as Box<dyn Fn(u32) -> Message>)
            }
            other => return Err(format!("unknown action `{other}`")),
        });
        match words.next() {
            None => return Ok(found),
            Some("pipe") => expect(words, "pipe", "action")?,
            Some(word) => return Err(format!("unexpected `{word}`")),
        }
    }
}

/// Reads `EXCEED/CONFORM`: what becomes of a packet that finds too few tokens, and of one that
/// finds enough; each `drop`, `ok` (None: what follows the action) or `continue` (the next filter).
fn results(words: &mut Words) -> Result<[Option<u32>; 2], String> {
    expect(words, "police", "conform-exceed")?;
    let word = words.value("conform-exceed")?;
    let result = |text: &str| match text {
        "drop" => Some(Some(SHOT)),
        "continue" => Some(Some(CONTINUE)),
        "ok" => Some(None),
        _ => None,
    };
    word.split_once('/')
        .and_then(|(exceed, conform)| Some([result(exceed)?, result(conform)?]))
        .ok_or_else(|| wrong("conform-exceed", word, "two such as `drop/ok`"))
}

/// Reads `rate R burst BYTES mtu BYTES overhead BYTES conform-exceed EXCEED/CONFORM`, or `mtu BYTES
/// conform-exceed EXCEED/CONFORM`.
fn police(words: &mut Words) -> Result<Action, String> {
    if words.peek() == Some("mtu") {
        return above(words);
    }
    expect(words, "police", "rate")?;
    let bytes_per_s = rate::read(words, "rate")?;
    expect(words, "police", "burst")?;
    let burst: u64 = words.number("burst")?;
    expect(words, "police", "mtu")?;
    let mtu: u32 = words.number("mtu")?;
    expect(words, "police", "overhead")?;
    let overhead: u16 = words.number("overhead")?;
    let [exceed, conform] = results(words)?;
    // The smallest cells whose table reaches the mtu (tc's tc_calc_rtable).
    let cell_log = (1..32_u8).find(|log| u64::from(mtu >> log) < CELLS).unwrap_or(31);
    let mut specification = rate::specification(bytes_per_s);
    specification[0] = cell_log;
    specification[2..4].copy_from_slice(&overhead.to_ne_bytes());
    let table: Vec<u8> = (1..=CELLS)
        .flat_map(|cell| rate::ticks(bytes_per_s, cell << cell_log).to_ne_bytes())
        .collect();
    let burst = rate::ticks(bytes_per_s, burst);
    Ok((
        "police",
        Box::new(move |then| {
            let mut raw = [0_u8; 56];
            raw[4..8].copy_from_slice(&exceed.unwrap_or(then).to_ne_bytes());
            raw[12..16].copy_from_slice(&burst.to_ne_bytes());
            raw[16..20].copy_from_slice(&mtu.to_ne_bytes());
            raw[20..32].copy_from_slice(&specification);
            let mut options = Message::attributes();
            options.put(POLICE_PARAMETERS, &raw).put(POLICE_TABLE, &table);
            options.put_u32(POLICE_RESULT, conform.unwrap_or(then));
            if bytes_per_s > u64::from(u32::MAX) {
                options.put_u64(POLICE_RATE64, bytes_per_s);
            }
            options
        }),
    ))
}

/// Reads `mtu BYTES conform-exceed EXCEED/CONFORM`: longer packets exceed.
fn above(words: &mut Words) -> Result<Action, String> {
    expect(words, "police", "mtu")?;
    let mtu: u32 = words.number("mtu")?;
    let [exceed, conform] = results(words)?;
    Ok((
        "police",
        Box::new(move |then| {
            let mut raw = [0_u8; 56];
            raw[4..8].copy_from_slice(&exceed.unwrap_or(then).to_ne_bytes());
            raw[16..20].copy_from_slice(&mtu.to_ne_bytes());
            let mut options = Message::attributes();
            options.put(POLICE_PARAMETERS, &raw).put_u32(POLICE_RESULT, conform.unwrap_or(then));
            options
        }),
    ))
}

/// Reads `munge ip dsfield set VALUE retain MASK`: the bits of the mask get those of the value; or
/// `munge offset N u8 invert`: the bits of that byte of the packet change.
fn pedit(words: &mut Words) -> Result<Action, String> {
    expect(words, "pedit", "munge")?;
    let (at, value, stays) = if words.peek() == Some("offset") {
        expect(words, "munge", "offset")?;
        let at: u32 = words.number("offset")?;
        expect(words, "munge", "u8")?;
        expect(words, "munge", "invert")?;
        (at, 0xff, 0xff)
    } else {
        for wanted in ["ip", "dsfield", "set"] {
            expect(words, "munge", wanted)?;
        }
        let value: u8 = words.number("set")?;
        expect(words, "munge", "retain")?;
        let mask: u8 = words.number("retain")?;
        (1, value & mask, !mask)
    };
    Ok((
        "pedit",
        Box::new(move |then| {
            // `struct tc_pedit_sel`: the common part, one key, and that key: what stays, and what
            // is changed, of a word, and where that is.
            let (mut kept, mut changed) = ([0xff; 4], [0; 4]);
            let byte = (at % 4) as usize;
            kept[byte] = stays;
            changed[byte] = value;
            let mut raw = common(then);
            raw.extend_from_slice(&[1, 0, 0, 0]);
            raw.extend_from_slice(&kept);
            raw.extend_from_slice(&changed);
            raw.extend_from_slice(&(at / 4 * 4).to_ne_bytes());
            raw.extend_from_slice(&[0; 12]);
            let mut options = Message::attributes();
            options.put(PEDIT_PARAMETERS, &raw);
            options
        }),
    ))
}

fn csum(of: u32, then: u32) -> Message {
    let mut raw = common(then);
    raw.extend_from_slice(&of.to_ne_bytes());
    let mut options = Message::attributes();
    options.put(CSUM_PARAMETERS, &raw);
    options
}

fn set_ce(then: u32) -> Message {
    let mut raw = common(then);
    raw.extend_from_slice(&[0; 4]); // 64 bits are aligned
    raw.extend_from_slice(&SKBMOD_ECN.to_ne_bytes());
    let mut options = Message::attributes();
    options.put(SKBMOD_PARAMETERS, &raw);
    options
}

/// What every action begins with (`tc_gen`): index, capabilities, what follows, and two counts.
fn common(then: u32) -> Vec<u8> {
    let mut raw = vec![0; 20];
    raw[8..12].copy_from_slice(&then.to_ne_bytes());
    raw
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_programs_is_read() {
        for line in [
            "filter add dev a ingress protocol ip prio 1 matchall action police rate 1500000bit \
             burst 8000 mtu 65535 overhead 14 conform-exceed drop/ok",
            "filter add dev a ingress protocol ip prio 1 matchall action pedit munge ip dsfield \
             set 0 retain 3 pipe action csum ip",
            "filter add dev a ingress protocol ip prio 1 matchall action skbmod ecn",
            "filter add dev a ingress protocol ip prio 2 matchall action pedit munge offset 20 u8 \
             invert pipe action csum tcp and udp",
            "filter del dev a ingress protocol ip prio 2",
            "filter add dev a egress protocol ip prio 2 flower ip_proto udp src_port 5001 action \
             pedit munge ip dsfield set 184 retain 252 pipe action csum ip",
            "filter add dev a parent 2: protocol ip prio 1 flower ip_tos 0xb8/0xfc classid 2:1",
            "filter add dev a ingress protocol ip prio 1 flower ip_tos 0x3/0x3 action police mtu \
             1 conform-exceed drop/continue",
            "filter add dev a ingress protocol ip prio 1 flower ip_proto tcp tcp_flags 0x2/0x2 \
             action police mtu 1 conform-exceed drop/continue",
            "filter add dev a ingress protocol ip prio 1 flower ip_proto icmp action police mtu \
             65535 conform-exceed drop/ok",
            "filter add dev a ingress protocol ip prio 2 matchall action police rate 2224bit burst \
             75000 mtu 65535 overhead 65535 conform-exceed continue/drop",
            "filter add dev a ingress protocol ip prio 1 matchall action police mtu 1300 \
             conform-exceed drop/continue",
            "filter add dev a ingress protocol ip prio 2 u32 match u32 0x00110000 0x00ff0000 at 8 \
             match u32 0x80000000 0x90ffffff at 28 action police mtu 1 conform-exceed drop/continue",
        ] {
            assert_eq!(Line::read(line).unwrap().devices, ["a"]);
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, message) in [
            ("filter add dev a root", "`filter` is `root`"),
            ("filter add dev a ingress protocol ip prio 1 fw", "`filter` is `fw`"),
            (
                "filter add dev a ingress protocol ip prio 1 u32 match u32 12 0xff at 8 action",
                "`match` is `12`",
            ),
            (
                "filter add dev a ingress protocol ip prio 1 matchall action drop",
                "unknown action `drop`",
            ),
            (
                "filter add dev a ingress protocol ip prio 1 matchall action csum ip ok",
                "unexpected `ok`",
            ),
            (
                "filter add dev a parent 2: protocol ip prio 1 flower ip_tos 184 classid 2:1",
                "`ip_tos` is `184`",
            ),
            (
                "filter add dev a parent 2: protocol ip prio 1 flower ip_tos 0xb8/0xfc classid x",
                "`handle` is `x`",
            ),
        ] {
            let error = Line::read(line).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }

    #[test]
    fn a_byte_anywhere_is_inverted() {
        let (_, made) = pedit(&mut Words::of("munge offset 22 u8 invert")).unwrap();
        let bytes = made(PIPE).bytes().to_vec();
        let key = [0xff, 0xff, 0xff, 0xff, 0, 0, 0xff, 0, 20, 0, 0, 0];
        assert_eq!(bytes[4 + 24..4 + 36], key);
    }

    #[test]
    fn a_byte_of_the_header_is_changed_and_the_others_stay() {
        let line = "munge ip dsfield set 255 retain 252";
        let (_, made) = pedit(&mut Words::of(line)).unwrap();
        let bytes = made(PIPE).bytes().to_vec();
        assert_eq!(bytes[4 + 24..4 + 32], [0xff, 0x03, 0xff, 0xff, 0, 0xfc, 0, 0]);
    }
}
