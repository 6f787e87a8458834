//! What `tc -s -j qdisc show` writes, read over netlink.

use super::message::{attributes, find, text, u32_at, u64_at, Message};
use super::qdisc::{fixed, handle, Object, KINDS, TCA_KIND, TCA_OPTIONS, TCA_STATS2, TCA_XSTATS};
use super::socket::Socket;
use serde_json::Value;
use std::collections::HashMap;
use std::io;

// include/uapi/linux/gen_stats.h.
const STATS_BASIC: u16 = 1;
const STATS_QUEUE: u16 = 3;
const STATS_APP: u16 = 4;
/// `IFLA_IFNAME`.
const IFLA_IFNAME: u16 = 3;
/// Length of `struct tcmsg`, `struct ifinfomsg`.
const TCMSG: usize = 20;
const IFINFOMSG: usize = 16;
const ROOT: u32 = 0xffff_ffff;

/// The interfaces of the socket's namespace: name -> index.
pub fn interfaces(socket: &mut Socket) -> io::Result<HashMap<String, i32>> {
    let answers =
        socket.dump(Message::request(libc::RTM_GETLINK, 0, &[0; IFINFOMSG]), libc::RTM_NEWLINK)?;
    Ok(answers
        .iter()
        .filter_map(|answer| {
            let name = find(answer.get(IFINFOMSG..)?, IFLA_IFNAME)?;
            Some((text(name), u32_at(answer, 4) as i32))
        })
        .collect())
}

/// The qdiscs of the socket's namespace, as tc lists them; indexes: of its interfaces.
pub fn qdiscs(socket: &mut Socket, indexes: &HashMap<String, i32>) -> io::Result<Vec<Object>> {
    let names: HashMap<i32, &str> =
        indexes.iter().map(|(name, index)| (*index, name.as_str())).collect();
    let message = Message::request(libc::RTM_GETQDISC, 0, &fixed(0, 0, 0));
    let answers = socket.dump(message, libc::RTM_NEWQDISC)?;
    Ok(answers.iter().map(|answer| entry(answer, &names)).collect())
}

fn entry(answer: &[u8], names: &HashMap<i32, &str>) -> Object {
    let (index, parent) = (u32_at(answer, 4) as i32, u32_at(answer, 12));
    let rest = answer.get(TCMSG..).unwrap_or_default();
    let kind = find(rest, TCA_KIND).map(text).unwrap_or_default();
    let mut shown = Object::new();
    shown.insert("kind".into(), kind.clone().into());
    shown.insert("handle".into(), handle(u32_at(answer, 8) & 0xffff_0000).into());
    shown.insert("dev".into(), names.get(&index).copied().unwrap_or_default().into());
    match parent {
        ROOT => shown.insert("root".into(), true.into()),
        0 => None,
        class => shown.insert("parent".into(), handle(class).into()),
    };
    let references = u32_at(answer, 16);
    if references != 1 {
        shown.insert("refcnt".into(), references.into());
    }
    let known = KINDS.iter().find(|one| one.name == kind);
    let mut options = Object::new();
    if let (Some(known), Some(payload)) = (known, find(rest, TCA_OPTIONS)) {
        (known.show)(payload, &mut options);
    }
    shown.insert("options".into(), Value::Object(options));
    let statistics = find(rest, TCA_STATS2).unwrap_or_default();
    counters(statistics, &mut shown);
    let own = find(statistics, STATS_APP).or_else(|| find(rest, TCA_XSTATS));
    if let (Some(known), Some(payload)) = (known, own) {
        (known.statistics)(payload, &mut shown);
    }
    shown
}

/// Counters that every discipline has.
fn counters(statistics: &[u8], shown: &mut Object) {
    for (kind, payload) in attributes(statistics) {
        match kind {
            STATS_BASIC => {
                shown.insert("bytes".into(), u64_at(payload, 0).into());
                shown.insert("packets".into(), u32_at(payload, 8).into());
            }
            STATS_QUEUE => {
                for (name, offset) in [
                    ("drops", 8),
                    ("overlimits", 16),
                    ("requeues", 12),
                    ("backlog", 4),
                    ("qlen", 0),
                ] {
                    shown.insert(name.into(), u32_at(payload, offset).into());
                }
            }
            _ => {}
        }
    }
}
