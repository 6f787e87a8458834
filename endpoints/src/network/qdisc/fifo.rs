//! `bfifo` and `pfifo`: first in, first out, with a limit in bytes or packets.

use super::{no_statistics, Kind, Object, TCA_OPTIONS};
use crate::network::message::{u32_at, Message};
use crate::network::words::Words;

/// That with a limit in bytes.
pub const BYTES: Kind = Kind { name: "bfifo", options, show, statistics: no_statistics };
/// That with a limit in packets.
pub const PACKETS: Kind = Kind { name: "pfifo", options, show, statistics: no_statistics };

fn options(words: &mut Words) -> Result<Message, String> {
    let mut message = Message::attributes();
    while let Some(word) = words.next() {
        match word {
            "limit" => message.put_u32(TCA_OPTIONS, words.number(word)?),
            _ => return Err(format!("a fifo has no `{word}`")),
        };
    }
    Ok(message)
}

fn show(options: &[u8], shown: &mut Object) {
    shown.insert("limit".into(), u32_at(options, 0).into());
}
