//! Queueing disciplines: a line of `tc` as a message, and what the kernel has as tc's JSON.
//!
//! A discipline is a module here and a line in `KINDS`.

mod arq;
mod cake;
mod clsact;
mod codel;
mod dualpi2;
mod fifo;
mod fq;
mod fq_codel;
mod fq_pie;
mod gred;
mod htb;
mod netem;
mod pie;
mod prio;
mod radio;
pub mod rate;
mod sfq;
mod stab;
mod table;
mod tbf;

use super::line::Line;
use super::message::Message;
use super::words::{wrong, Words};
use serde_json::{Map, Value};

/// A JSON object.
pub type Object = Map<String, Value>;

/// Attributes of a message about a qdisc (`include/uapi/linux/rtnetlink.h`).
pub const TCA_KIND: u16 = 1;
/// Its options.
pub const TCA_OPTIONS: u16 = 2;
/// Statistics of a kind, as older kernels have them.
pub const TCA_XSTATS: u16 = 4;
/// Statistics.
pub const TCA_STATS2: u16 = 7;

const ROOT: u32 = 0xffff_ffff;

/// What is known of a discipline.
pub struct Kind {
    /// Its name.
    pub name: &'static str,
    /// Reads its arguments, to the end of the line, into the attribute of its options.
    pub options: fn(&mut Words) -> Result<Message, String>,
    /// Writes its options as tc does; they are the payload of their attribute.
    pub show: fn(&[u8], &mut Object),
    /// Writes its own statistics.
    pub statistics: fn(&[u8], &mut Object),
}

/// All that can be added, and shown in full.
pub const KINDS: &[Kind] = &[
    arq::KIND,
    cake::KIND,
    clsact::KIND,
    codel::KIND,
    dualpi2::KIND,
    fifo::BYTES,
    fifo::PACKETS,
    fq::KIND,
    fq_codel::KIND,
    fq_pie::KIND,
    gred::KIND,
    htb::KIND,
    netem::KIND,
    pie::KIND,
    prio::KIND,
    radio::KIND,
    sfq::KIND,
    tbf::KIND,
];

/// Whether a line is about a discipline that is not among `KINDS` and has arguments, which tc may
/// know.
#[must_use]
pub fn is_unknown(text: &str) -> bool {
    let mut words = Words::of(text);
    if words.next() != Some("qdisc") || words.next().is_none() {
        return false;
    }
    while let Some(word) = words.next() {
        match word {
            "dev" | "parent" | "handle" => drop(words.next()),
            "root" => {}
            "stab" => drop(stab::read(&mut words)),
            name => return known(name).is_none() && words.next().is_some(),
        }
    }
    false
}

fn known(name: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.name == name)
}

/// Of a discipline that has none of its own.
fn no_statistics(_: &[u8], _: &mut Object) {}

/// Reads `VERB dev NAME (root | parent CLASS) [handle HANDLE] [stab ...] KIND ...`, after `qdisc`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn read(words: &mut Words) -> Result<Line, String> {
    let flags = flags(words, "qdisc")?;
    let (mut device, mut parent, mut handle) = (None, None, 0);
    let mut sizes = Message::attributes();
    loop {
        match words.value("qdisc")? {
            "dev" => device = Some(words.value("dev")?),
            "root" => parent = Some(ROOT),
            "parent" => parent = Some(class(words.value("parent")?)?),
            "handle" => handle = class(words.value("handle")?)?,
            "stab" => sizes = stab::read(words)?,
            name => {
                let device = device.ok_or("`dev` is missing")?;
                if name == clsact::KIND.name {
                    (parent, handle) = (Some(clsact::PARENT), clsact::HANDLE);
                }
                let parent = parent.ok_or("`root` or `parent` is missing")?;
                // Without arguments the kernel has to know it, and nobody else.
                let mut options = match known(name) {
                    Some(kind) => (kind.options)(words)?,
                    None if words.next().is_none() => Message::attributes(),
                    None => return Err(format!("unknown discipline `{name}`")),
                };
                options.append(&sizes);
                return Ok(line(
                    libc::RTM_NEWQDISC,
                    flags,
                    device,
                    [handle, parent],
                    name,
                    options,
                ));
            }
        }
    }
}

/// Reads `VERB dev NAME parent HANDLE classid CLASS htb ...`, after `class`.
///
/// # Errors
/// A message that says what is wrong with the line.
pub fn read_class(words: &mut Words) -> Result<Line, String> {
    let flags = flags(words, "class")?;
    let (mut device, mut parent, mut number) = (None, None, None);
    loop {
        match words.value("class")? {
            "dev" => device = Some(words.value("dev")?),
            "parent" => parent = Some(class(words.value("parent")?)?),
            "classid" => number = Some(class(words.value("classid")?)?),
            "htb" => {
                let device = device.ok_or("`dev` is missing")?;
                let parent = parent.ok_or("`parent` is missing")?;
                let number = number.ok_or("`classid` is missing")?;
                let options = htb::class_options(words)?;
                let ids = [number, parent];
                return Ok(line(libc::RTM_NEWTCLASS, flags, device, ids, "htb", options));
            }
            name => return Err(format!("unknown discipline `{name}`")),
        }
    }
}

fn flags(words: &mut Words, of: &str) -> Result<i32, String> {
    match words.value(of)? {
        "add" => Ok(libc::NLM_F_CREATE | libc::NLM_F_EXCL),
        "change" => Ok(0),
        "replace" => Ok(libc::NLM_F_CREATE | libc::NLM_F_REPLACE),
        other => Err(wrong(of, other, "`add`, `change` or `replace`")),
    }
}

/// ids: handle and parent.
fn line(
    kind: u16,
    flags: i32,
    device: &str,
    [handle, parent]: [u32; 2],
    name: &str,
    options: Message,
) -> Line {
    let name = name.to_owned();
    Line::about(&[device], move |index| {
        let mut message = Message::request(kind, flags, &fixed(index[0], handle, parent));
        message.put_text(TCA_KIND, &name).append(&options);
        message
    })
}

/// `struct tcmsg`.
#[must_use]
pub fn fixed(index: i32, handle: u32, parent: u32) -> Vec<u8> {
    let mut bytes = vec![0; 4];
    bytes.extend_from_slice(&index.to_ne_bytes());
    bytes.extend_from_slice(&handle.to_ne_bytes());
    bytes.extend_from_slice(&parent.to_ne_bytes());
    bytes.extend_from_slice(&[0; 4]);
    bytes
}

/// Reads `1:`, `1:1`: hexadecimal, as tc has them.
///
/// # Errors
/// A message with the word.
pub fn class(word: &str) -> Result<u32, String> {
    let numbers = word.split_once(':').and_then(|(major, minor)| {
        let minor = if minor.is_empty() { "0" } else { minor };
        Some((u16::from_str_radix(major, 16).ok()?, u16::from_str_radix(minor, 16).ok()?))
    });
    let (major, minor) =
        numbers.ok_or_else(|| wrong("handle", word, "one such as `1:` or `1:1`"))?;
    Ok(u32::from(major) << 16 | u32::from(minor))
}

/// Writes a handle as tc does.
#[must_use]
pub fn handle(number: u32) -> String {
    match number & 0xffff {
        0 => format!("{:x}:", number >> 16),
        minor => format!("{:x}:{minor:x}", number >> 16),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_line(text: &str) -> Result<Line, String> {
        Line::read(text)
    }

    #[test]
    fn a_line_becomes_a_message() {
        let line = read_line("qdisc add dev r1-eth1 parent 1:1 handle 2: dualpi2 limit 7").unwrap();
        assert_eq!(line.devices, ["r1-eth1"]);
        let mut message = line.message(&[5]);
        let bytes = message.finish(1, 0);
        let header = crate::network::message::HEADER;
        assert_eq!(bytes[header..header + 20], fixed(5, 0x2_0000, 0x1_0001));
        assert_eq!(handle(0x1_0001), "1:1");
        assert_eq!(handle(0x2_0000), "2:");
    }

    #[test]
    fn what_is_not_known_is_left_to_tc() {
        assert!(is_unknown("qdisc add dev a parent 1:1 handle 2: choke limit 7"));
        assert!(!is_unknown("qdisc add dev choke parent 1:1 handle 2: pfifo limit 7"));
        assert!(!is_unknown("class add dev a parent 1: classid 1:1 htb rate 1mbit"));
        assert!(!is_unknown("qdisc add dev a root"));
        assert!(read_line("qdisc add dev a root choke limit 7").is_err());
    }

    #[test]
    fn what_has_no_arguments_is_the_kernels_to_know() {
        let text = "qdisc add dev a parent 1:1 handle 2: mine";
        assert!(!is_unknown(text));
        let mut line = read_line(text).unwrap().message(&[5]);
        let header = crate::network::message::HEADER;
        let attributes = &line.finish(1, 0)[header + 20..];
        assert_eq!(attributes, [9, 0, 1, 0, b'm', b'i', b'n', b'e', 0, 0, 0, 0]);
    }

    #[test]
    fn every_line_of_the_programs_is_read() {
        for line in [
            "qdisc add dev a root handle 1: htb default 1",
            "class add dev a parent 1: classid 1:1 htb rate 8000bit ceil 8000bit burst 1 cburst 1 \
             quantum 1514",
            "class change dev a parent 1: classid 1:1 htb rate 8000bit ceil 8000bit burst 1000ns \
             cburst 1000ns quantum 1514",
            "qdisc add dev a root handle 1: tbf rate 20000000bit burst 1764 limit 125000",
            "qdisc add dev a parent 1:1 handle 2: bfifo limit 3028",
            "qdisc add dev a parent 1:1 handle 2: gred setup vqs 1 default 0",
            "qdisc change dev a parent 1:1 handle 2: gred vq 0 limit 125000 min 12500 max 125000 \
             avpkt 1514 burst 35 probability 0.9999999998 bandwidth 20000000bit ecn",
            "qdisc change dev a parent 1:1 handle 2: gred vq 0 limit 125000 min 30280 max 30280 avpkt \
             1514 instant probability 0.9999999998 bandwidth 20000000bit ecn",
            "qdisc add dev a parent 1:1 handle 2: codel limit 13 target 7ms interval 80ms ecn \
             ce_threshold 1ms",
            "qdisc add dev a parent 1:1 handle 2: fq_codel limit 73 flows 1024 quantum 1514 \
             target 5ms interval 100ms memory_limit 33554432 drop_batch 64 ecn",
            "qdisc add dev a parent 1:1 handle 2: pie limit 12 target 20ms tupdate 15ms alpha 2 \
             beta 20 noecn nobytemode no_dq_rate_estimator",
            "qdisc add dev a parent 1:1 handle 2: fq_pie limit 77 flows 64 target 15ms tupdate 15ms \
             alpha 2 beta 20 quantum 1514 memory_limit 33554432 ecn_prob 10 ecn nobytemode \
             no_dq_rate_estimator",
            "qdisc add dev a parent 1:1 handle 2: fq limit 77 flow_limit 33 quantum 3028 \
             initial_quantum 15140 buckets 1024 orphan_mask 1023 nopacing ce_threshold 5ms",
            "qdisc add dev a parent 1:1 handle 2: sfq limit 77 flows 128 divisor 1024 depth 127 \
             quantum 1514 perturb 0",
            "qdisc add dev a parent 1:1 handle 2: cake unlimited besteffort flows nowash \
             no-ack-filter no-split-gso raw overhead 0 rtt 50ms memlimit 180488",
            "qdisc add dev a parent 1:1 handle 2: cake unlimited diffserv4 triple-isolate nowash \
             ack-filter-aggressive no-split-gso raw overhead 0 rtt 50ms memlimit 180488",
            "qdisc add dev a parent 1:1 handle 2: cake bandwidth 800000bit besteffort flows nowash \
             no-ack-filter no-split-gso atm overhead 10 mpu 84 rtt 50ms memlimit 180488",
            "qdisc add dev a parent 1:1 handle 2: prio bands 2 priomap 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1 1",
            "qdisc add dev a parent 2:1 handle 10: pfifo limit 100",
            "qdisc add dev a clsact",
            "qdisc add dev a root handle 1: stab mtu 1510 tsize 1510 overhead -4 linklayer atm htb \
             default 1",
            "qdisc change dev a root handle 1: stab mtu 84 tsize 84 overhead 24 mpu 84 linklayer \
             ethernet netem limit 1000 rate 8000bit",
            "qdisc add dev a root handle 1: radio rate 8000bit frame 1514 size 32 hold 4ms seed 7 since 9",
            "qdisc add dev a root handle 1: radio rate 8000bit frame 1514 every 900,1100us seed 7 since 9",
            "qdisc change dev a root handle 1: radio rate 16000bit",
            "qdisc add dev a root handle 1: arq limit 1000 delay 20ms loss 1.5% tries 3 wait 8ms order seed 7",
            "qdisc add dev a root handle 1: netem limit 1000 delay 10ms 2ms reorder 25% loss random \
             1% duplicate 1% rate 1000gbit seed 7",
        ] {
            read_line(line).unwrap();
        }
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, message) in [
            ("qdisc del dev a root", "`qdisc` is `del`"),
            ("qdisc add root dualpi2", "`dev` is missing"),
            ("qdisc add dev a dualpi2", "`root` or `parent` is missing"),
            ("qdisc add dev a root", "has no value"),
            ("qdisc add dev a parent 1 dualpi2", "`handle` is `1`"),
            ("qdisc add dev a root dualpie limit 7", "unknown discipline `dualpie`"),
            ("qdisc add dev a root tbf rate 1mbit burst 1514", "`tbf` needs `limit`"),
            ("qdisc add dev a root fq buckets 1000", "`buckets` is `1000`, not a power of two"),
            ("qdisc add dev a root gred setup vqs 17 default 0", "`gred` has 1 to 16 queues"),
            ("qdisc add dev a root cake overhead 999", "`overhead` is `999`"),
            ("class add dev a parent 1: htb rate 1mbit", "`classid` is missing"),
            ("class add dev a parent 1: classid 1:1 htb rate 1mbit", "needs `rate`, `ceil`"),
        ] {
            let error = read_line(line).err().unwrap();
            assert!(error.contains(message), "{error}");
        }
    }
}
