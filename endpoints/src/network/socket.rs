//! A socket to the kernel's rtnetlink, in the network namespace in which it was opened.

use super::message::{attributes, u32_at, Message, HEADER};
use socket2::{Domain, Type};
use std::io::{self, Read};

/// More than the kernel puts into one datagram of a dump (`max_recvmsg_len`, 32 KiB).
const BUFFER: usize = 64 << 10;
/// What is sent at once: the kernel takes 208 KiB of a socket's messages by default.
const BATCH: usize = 32 << 10;
/// `NLMSGERR_ATTR_MSG`: what the kernel says about an error, in words.
const ERROR_TEXT: u16 = 1;
/// `NLM_F_ACK_TLVS`, `NLM_F_CAPPED`: what follows the code of an error.
const HAS_ATTRIBUTES: u16 = 0x200;
const IS_CAPPED: u16 = 0x100;

/// Why the kernel refused the message of an index.
#[derive(Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which message, from 0.
    pub index: usize,
    /// Its error number.
    pub code: i32,
    /// The kernel's words for it, or those for its number.
    pub words: String,
}

/// A socket to rtnetlink.
#[derive(Debug)]
pub struct Socket {
    descriptor: socket2::Socket,
    sequence: u32,
    buffer: Vec<u8>,
}

impl Socket {
    /// Opens a socket in the namespace of this thread.
    pub fn open() -> io::Result<Self> {
        let (domain, kind) = (Domain::from(libc::AF_NETLINK), Type::RAW.cloexec());
        let socket = socket2::Socket::new_raw(domain, kind, Some(libc::NETLINK_ROUTE.into()))?;
        for option in [libc::NETLINK_EXT_ACK, libc::NETLINK_CAP_ACK] {
            crate::sys::set_option(&socket, libc::SOL_NETLINK, option, 1)?;
        }
        Ok(Socket { descriptor: socket, sequence: 0, buffer: vec![0; BUFFER] })
    }

    /// Has the kernel carry out messages in order, many with one system call.
    ///
    /// # Errors
    /// The first message that the kernel refuses, or an error of the socket, whose index is that of
    /// the first message that was not sent.
    pub fn talk(&mut self, messages: &mut [Message]) -> Result<(), Refusal> {
        let mut begin = 0;
        while begin < messages.len() {
            let mut end = begin;
            let mut bytes = 0;
            while end < messages.len() && (end == begin || bytes < BATCH) {
                bytes += messages[end].bytes().len();
                end += 1;
            }
            self.talk_at_once(&mut messages[begin..end]).map_err(|mut refusal| {
                refusal.index += begin;
                refusal
            })?;
            begin = end;
        }
        Ok(())
    }

    fn talk_at_once(&mut self, messages: &mut [Message]) -> Result<(), Refusal> {
        let first = self.sequence.wrapping_add(1);
        let last = messages.len() - 1;
        let mut all = Vec::with_capacity(BATCH);
        for (index, message) in messages.iter_mut().enumerate() {
            // Errors are always answered; an answer to the last one says that all are done.
            let flags = if index == last { libc::NLM_F_ACK } else { 0 };
            all.extend_from_slice(message.finish(first.wrapping_add(index as u32), flags));
        }
        self.sequence = first.wrapping_add(last as u32);
        self.send(&all).map_err(|error| broken(&error))?;
        let mut refused: Option<Refusal> = None;
        loop {
            let length = self.receive().map_err(|error| broken(&error))?;
            for (kind, sequence, payload, flags) in parts(&self.buffer[..length]) {
                let index = sequence.wrapping_sub(first) as usize;
                if i32::from(kind) != libc::NLMSG_ERROR || index > last {
                    continue;
                }
                let code = -(u32_at(payload, 0) as i32);
                if code != 0 && refused.is_none() {
                    refused = Some(Refusal { index, code, words: words(code, payload, flags) });
                }
                if index == last {
                    return refused.map_or(Ok(()), Err);
                }
            }
        }
    }

    /// Asks for a list; returns the payload of every answer of a kind, without its header.
    pub fn dump(&mut self, mut message: Message, kind: u16) -> io::Result<Vec<Vec<u8>>> {
        self.sequence = self.sequence.wrapping_add(1);
        let bytes = message.finish(self.sequence, libc::NLM_F_DUMP).to_vec();
        self.send(&bytes)?;
        let mut found = Vec::new();
        loop {
            let length = self.receive()?;
            for (answer, sequence, payload, _) in parts(&self.buffer[..length]) {
                if sequence != self.sequence {
                    continue;
                }
                match i32::from(answer) {
                    libc::NLMSG_DONE => return Ok(found),
                    libc::NLMSG_ERROR => {
                        return Err(io::Error::from_raw_os_error(-(u32_at(payload, 0) as i32)))
                    }
                    _ if answer == kind => found.push(payload.to_vec()),
                    _ => {}
                }
            }
        }
    }

    /// A netlink socket that is not connected sends to the kernel.
    fn send(&self, bytes: &[u8]) -> io::Result<()> {
        self.descriptor.send(bytes).map(drop)
    }

    fn receive(&mut self) -> io::Result<usize> {
        match (&self.descriptor).read(&mut self.buffer)? {
            BUFFER => {
                Err(io::Error::other(format!("the kernel answered with {BUFFER} bytes or more")))
            }
            length => Ok(length),
        }
    }
}

fn broken(error: &io::Error) -> Refusal {
    Refusal { index: 0, code: error.raw_os_error().unwrap_or(0), words: error.to_string() }
}

/// The messages in a datagram: kind, number, payload, flags.
fn parts(datagram: &[u8]) -> impl Iterator<Item = (u16, u32, &[u8], u16)> {
    let mut left = datagram;
    std::iter::from_fn(move || {
        let length = left.get(..HEADER).map(|head| u32_at(head, 0) as usize)?;
        let kind = u16::from_ne_bytes([left[4], left[5]]);
        let flags = u16::from_ne_bytes([left[6], left[7]]);
        let sequence = u32_at(left, 8);
        let payload = left.get(HEADER..length)?;
        left = left.get(length.next_multiple_of(4)..).unwrap_or_default();
        Some((kind, sequence, payload, flags))
    })
}

/// What the kernel says of an error; payload: its code, the header of the request (and, unless
/// capped, all of it), then attributes.
fn words(code: i32, payload: &[u8], flags: u16) -> String {
    let request = payload.get(4..).unwrap_or_default();
    let skip = if flags & IS_CAPPED == 0 { u32_at(request, 0) as usize } else { HEADER };
    let said = (flags & HAS_ATTRIBUTES != 0)
        .then(|| attributes(request.get(skip.next_multiple_of(4)..).unwrap_or_default()))
        .and_then(|mut all| all.find(|(kind, _)| *kind == ERROR_TEXT))
        .map(|(_, text)| super::message::text(text));
    let plain = io::Error::from_raw_os_error(code).to_string();
    said.map_or(plain.clone(), |text| format!("{text} ({plain})"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernel_says_why_it_refuses() {
        let mut socket = Socket::open().unwrap();
        let deletion = |index: i32| {
            let mut fixed = vec![0; 4];
            fixed.extend_from_slice(&index.to_ne_bytes());
            fixed.extend_from_slice(&[0; 8]);
            Message::request(libc::RTM_DELLINK, 0, &fixed)
        };
        // A user may not, and no one can delete a link that is not there.
        let refusal = socket.talk(&mut [deletion(i32::MAX), deletion(i32::MAX)]).unwrap_err();
        assert_eq!(refusal.index, 0);
        assert!([libc::EPERM, libc::ENODEV].contains(&refusal.code), "{refusal:?}");
        assert!(refusal.words.contains("os error"), "{refusal:?}");
    }

    #[test]
    fn links_are_listed() {
        let mut socket = Socket::open().unwrap();
        let message = Message::request(libc::RTM_GETLINK, 0, &[0; 16]);
        assert!(!socket.dump(message, libc::RTM_NEWLINK).unwrap().is_empty());
    }
}
