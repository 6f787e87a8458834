//! A node: a namespace with a socket to its rtnetlink, in which lines are carried out.

use super::line::Line;
use super::message::Message;
use super::qdisc::Object;
use super::socket::Socket;
use super::{namespace, show};
use std::collections::HashMap;
use std::io;
use std::os::fd::OwnedFd;

/// A node of a network.
#[derive(Debug)]
pub struct Node {
    /// Its name, for messages.
    pub name: String,
    /// Its namespace.
    pub namespace: OwnedFd,
    socket: Socket,
    indexes: HashMap<String, i32>,
}

impl Node {
    /// Makes a node; this thread is in it from then on.
    ///
    /// # Errors
    /// A message that names the node.
    pub fn create(name: &str) -> Result<Self, String> {
        let made = namespace::create().and_then(|namespace| Ok((namespace, Socket::open()?)));
        let (namespace, socket) = made.map_err(|error| format!("{name}: {error}"))?;
        Ok(Node { name: name.to_owned(), namespace, socket, indexes: HashMap::new() })
    }

    /// The namespace of this thread, as a node without a name.
    pub fn here() -> io::Result<Self> {
        let namespace = namespace::own()?;
        let (name, socket) = ("this namespace".into(), Socket::open()?);
        Ok(Node { name, namespace, socket, indexes: HashMap::new() })
    }

    /// Carries out lines in order, as many as possible with one system call.
    ///
    /// # Errors
    /// A message that names the node, and the line that cannot be read or that the kernel refuses.
    pub fn carry_out(&mut self, lines: &[String]) -> Result<(), String> {
        let mut pending: Vec<Message> = Vec::with_capacity(lines.len());
        let mut done = 0;
        for text in lines {
            let line = Line::read(text).map_err(|why| self.about(text, &why))?;
            if line.devices.iter().any(|device| !self.indexes.contains_key(device)) {
                // What is not known yet may have been made by a line before this one.
                self.talk(&mut pending, &lines[done..])?;
                done += pending.len();
                pending.clear();
                self.look().map_err(|error| self.about(text, &error.to_string()))?;
            }
            let indexes: Option<Vec<i32>> =
                line.devices.iter().map(|device| self.indexes.get(device).copied()).collect();
            let Some(indexes) = indexes else {
                let missing =
                    line.devices.iter().find(|device| !self.indexes.contains_key(*device));
                let why = format!("there is no interface `{}`", missing.map_or("", String::as_str));
                return Err(self.about(text, &why));
            };
            pending.push(line.message(&indexes));
        }
        self.talk(&mut pending, &lines[done..])
    }

    /// Has the kernel carry out messages; `of` are their lines, or what they are about.
    ///
    /// # Errors
    /// A message that names the node and the line.
    pub fn talk(&mut self, messages: &mut [Message], of: &[String]) -> Result<(), String> {
        if messages.is_empty() {
            return Ok(());
        }
        self.socket.talk(messages).map_err(|refusal| {
            let line = of.get(refusal.index).map_or("", String::as_str);
            self.about(line, &refusal.words)
        })
    }

    /// The qdiscs, as `tc -s -j qdisc show` writes them.
    pub fn qdiscs(&mut self) -> io::Result<Vec<Object>> {
        self.look()?;
        show::qdiscs(&mut self.socket, &self.indexes)
    }

    /// Learns which interfaces there are.
    fn look(&mut self) -> io::Result<()> {
        self.indexes = show::interfaces(&mut self.socket)?;
        Ok(())
    }

    fn about(&self, line: &str, why: &str) -> String {
        format!("{}: `{line}`: {why}", self.name)
    }
}
