//! A line of `ip -batch` or `tc -batch`, read: the interfaces that it names, and the message that
//! it becomes.

use super::message::Message;
use super::words::{wrong, Words};
use super::{filter, ip, qdisc};
use std::fmt;

/// Makes a message from the indexes of interfaces.
type Build = Box<dyn Fn(&[i32]) -> Message>;

/// A line that has been read.
pub struct Line {
    /// Names of interfaces, whose indexes its message needs.
    pub devices: Vec<String>,
    build: Build,
}

impl Line {
    /// Reads a line.
    ///
    /// # Errors
    /// A message that says what is wrong with it.
    pub fn read(text: &str) -> Result<Self, String> {
        let mut words = Words::of(text);
        let line = match words.next() {
            Some("qdisc") => qdisc::read(&mut words),
            Some("filter") => filter::read(&mut words),
            Some("class") => qdisc::read_class(&mut words),
            Some("link") => ip::link(&mut words),
            Some("address") => ip::address(&mut words),
            Some("neighbour") => ip::neighbour(&mut words),
            Some("route") => ip::route(&mut words),
            Some("rule") => ip::rule(&mut words),
            other => {
                let known =
                    "a command for a qdisc, class, filter, link, address, neighbour, route or rule";
                return Err(wrong("line", other.unwrap_or_default(), known));
            }
        }?;
        match words.next() {
            None => Ok(line),
            Some(word) => Err(format!("unexpected `{word}`")),
        }
    }

    /// A line about interfaces; build: makes its message from their indexes.
    pub fn about(devices: &[&str], build: impl Fn(&[i32]) -> Message + 'static) -> Self {
        let devices = devices.iter().map(|name| (*name).to_owned()).collect();
        Line { devices, build: Box::new(build) }
    }

    /// The message, for the indexes of its interfaces.
    #[must_use]
    pub fn message(&self, indexes: &[i32]) -> Message {
        (self.build)(indexes)
    }
}

impl fmt::Debug for Line {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        formatter.debug_struct("Line").field("devices", &self.devices).finish_non_exhaustive()
    }
}
