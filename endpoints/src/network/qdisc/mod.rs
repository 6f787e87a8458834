//! Queueing disciplines: a line of `tc` as a message, and what the kernel has as tc's JSON.
//!
//! A discipline is a module here and a line in `KINDS`.

pub mod dualpi2;

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
pub const KINDS: &[Kind] = &[dualpi2::KIND];

/// What a line wants done.
#[derive(Debug, PartialEq, Eq)]
pub struct Request {
    /// The name of the interface.
    pub device: String,
    /// `RTM_...`.
    kind: u16,
    /// `NLM_F_...`.
    flags: i32,
    parent: u32,
    handle: u32,
    discipline: &'static str,
    options: Message,
}

impl Request {
    /// Reads `qdisc add dev NAME (root | parent CLASS) [handle HANDLE] KIND ...`.
    ///
    /// # Errors
    /// A message that says what is wrong with the line.
    pub fn read(line: &str) -> Result<Self, String> {
        let mut words = Words::of(line);
        match words.next() {
            Some("qdisc") => {}
            other => return Err(wrong("line", other.unwrap_or_default(), "about a qdisc")),
        }
        let flags = match words.value("qdisc")? {
            "add" => libc::NLM_F_CREATE | libc::NLM_F_EXCL,
            "change" => 0,
            "replace" => libc::NLM_F_CREATE | libc::NLM_F_REPLACE,
            other => return Err(wrong("qdisc", other, "`add`, `change` or `replace`")),
        };
        let (mut device, mut parent, mut handle) = (None, None, 0);
        loop {
            match words.value(line)? {
                "dev" => device = Some(words.value("dev")?.to_owned()),
                "root" => parent = Some(ROOT),
                "parent" => parent = Some(class(words.value("parent")?)?),
                "handle" => handle = class(words.value("handle")?)?,
                name => {
                    let kind = KINDS
                        .iter()
                        .find(|kind| kind.name == name)
                        .ok_or_else(|| format!("unknown discipline `{name}`"))?;
                    return Ok(Request {
                        device: device.ok_or("`dev` is missing")?,
                        kind: libc::RTM_NEWQDISC,
                        flags,
                        parent: parent.ok_or("`root` or `parent` is missing")?,
                        handle,
                        discipline: kind.name,
                        options: (kind.options)(&mut words)?,
                    });
                }
            }
        }
    }

    /// The message, for an interface of an index.
    #[must_use]
    pub fn message(&self, index: i32) -> Message {
        let mut message =
            Message::request(self.kind, self.flags, &fixed(index, self.handle, self.parent));
        message.put_text(TCA_KIND, self.discipline).append(&self.options);
        message
    }
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
fn class(word: &str) -> Result<u32, String> {
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

    #[test]
    fn lines_are_read_as_tc_reads_them() {
        let request =
            Request::read("qdisc add dev r1-eth1 parent 1:1 handle 2: dualpi2 limit 7").unwrap();
        assert_eq!(request.device, "r1-eth1");
        assert_eq!((request.parent, request.handle), (0x1_0001, 0x2_0000));
        assert_eq!(request.flags, libc::NLM_F_CREATE | libc::NLM_F_EXCL);
        assert_eq!(handle(0x1_0001), "1:1");
        assert_eq!(handle(0x2_0000), "2:");
    }

    #[test]
    fn what_is_wrong_with_a_line_is_said() {
        for (line, message) in [
            ("class add dev a", "`line` is `class`, not about a qdisc"),
            ("qdisc del dev a root", "`qdisc` is `del`"),
            ("qdisc add root dualpi2", "`dev` is missing"),
            ("qdisc add dev a dualpi2", "`root` or `parent` is missing"),
            ("qdisc add dev a root", "has no value"),
            ("qdisc add dev a parent 1 dualpi2", "`handle` is `1`"),
            ("qdisc add dev a root dualpie", "unknown discipline `dualpie`"),
        ] {
            let error = Request::read(line).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
    }
}
