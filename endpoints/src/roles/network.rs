//! Role `network`: sets up all nodes of a cell over netlink, changes them and reads their queues
//! back.
//!
//! The namespaces are those of this process: the descriptors that it reports stay open until its
//! standard input ends, and others enter them by `/proc/PID/fd/N`.

use crate::clock::Timer;
use crate::description;
use crate::description::network::{Cable, Change, Network, NetworkEnd, NetworkFile, Order};
use crate::events::Log;
use crate::failure::Failure;
use crate::network::ip::{cable, End};
use crate::network::message::Message;
use crate::network::node::Node;
use crate::network::qdisc::{self, Object};
use crate::network::{namespace, offloads, sysctls};
use crate::sys;
use serde::Serialize;
use std::collections::HashMap;
use std::fs;
use std::io::{self, BufRead};
use std::os::fd::AsRawFd;
use std::time::Instant;

/// Sets up the network of the file, says so, and then carries out orders from standard input, a
/// line each, until that ends.
///
/// # Errors
/// A bad description or order; what cannot be set up or changed, with its node and its line.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let place: NetworkFile = description::read(text).map_err(Failure::Description)?;
    let text = fs::read_to_string(&place.file)
        .map_err(|error| Failure::Description(format!("{}: {error}", place.file)))?;
    let described: Network = description::read(&text).map_err(Failure::Description)?;
    let begin = Instant::now();
    let (mut nodes, in_force) = set_up(&described).map_err(Failure::Work)?;
    let took_ns = begin.elapsed().as_nanos() as i64;
    // Of what is due at one time, changes come before what other programs do.
    let first = sys::go_first();
    log.now(&NetworkEvent::Network { took_ns, first, nodes: in_force });
    log.flush();
    for order in io::stdin().lock().lines() {
        obey(&order?, &mut nodes, log)?;
        log.flush();
    }
    Ok(())
}

/// Makes the nodes and connects them, then configures each; returns what is in force in each of
/// them.
fn set_up(described: &Network) -> Result<(HashMap<String, Node>, Object), String> {
    let mut nodes = HashMap::with_capacity(described.nodes.len());
    let mut in_force = Object::new();
    for one in &described.nodes {
        let node = Node::create(&one.name)?;
        let mut options = Object::new();
        for (name, value) in &one.sysctls {
            let written =
                sysctls::write(name, value).map_err(|why| format!("{}: {why}", one.name))?;
            options.insert(name.clone(), written.into());
        }
        let mut state = Object::new();
        state.insert("namespace".into(), node.namespace.as_raw_fd().into());
        state.insert("sysctls".into(), options.into());
        in_force.insert(one.name.clone(), state.into());
        nodes.insert(one.name.clone(), node);
    }
    lay_cables(described, &mut nodes)?;
    for one in &described.nodes {
        let Some(node) = nodes.get_mut(&one.name) else { continue };
        node.carry_out(&one.ip)?;
        let state = switch_offloads_off(node, &one.interfaces)?;
        let (left, own): (Vec<String>, Vec<String>) =
            one.qdiscs.iter().cloned().partition(|line| qdisc::is_unknown(line));
        if let Some(Some(found)) = in_force.get_mut(&one.name).map(|one| one.as_object_mut()) {
            found.insert("offloads".into(), state.into());
            found.insert("left".into(), left.into());
        }
        node.carry_out(&own)?;
    }
    Ok((nodes, in_force))
}

/// Connects the nodes by pairs of virtual interfaces, all with one message to the first node's
/// kernel.
fn lay_cables(described: &Network, nodes: &mut HashMap<String, Node>) -> Result<(), String> {
    let mut messages: Vec<Message> = Vec::with_capacity(described.cables.len());
    let mut names = Vec::with_capacity(described.cables.len());
    for Cable { a, b } in &described.cables {
        let end = |end: &NetworkEnd| -> Result<End, String> {
            let node = nodes
                .get(&end.node)
                .ok_or_else(|| format!("a cable ends at `{}`, which is not a node", end.node))?;
            Ok(End {
                namespace: node.namespace.as_raw_fd(),
                interface: end.interface.clone(),
                mac: end.mac,
            })
        };
        messages.push(cable(&end(a)?, &end(b)?));
        names.push(format!("cable {}/{} {}/{}", a.node, a.interface, b.node, b.interface));
    }
    match described.nodes.first().and_then(|first| nodes.get_mut(&first.name)) {
        Some(first) => first.talk(&mut messages, &names),
        None => Ok(()),
    }
}

fn switch_offloads_off(node: &Node, interfaces: &[String]) -> Result<Object, String> {
    let mut state = Object::new();
    namespace::enter(&node.namespace).map_err(|error| format!("{}: {error}", node.name))?;
    for interface in interfaces {
        let found = offloads::switch_off(interface)
            .map_err(|error| format!("{}: offloads of `{interface}`: {error}", node.name))?;
        state.insert(interface.clone(), found.into());
    }
    Ok(state)
}

/// Carries out an order, and writes what came of it.
fn obey(text: &str, nodes: &mut HashMap<String, Node>, log: &mut Log) -> Result<(), Failure> {
    match description::read(text).map_err(Failure::Work)? {
        Order::Change { at_ns, changes } => {
            let clock = log.clock();
            let mut spans_ns = Vec::with_capacity(changes.len());
            Timer::new(clock)?.wait_until(at_ns)?;
            for Change { node, lines } in &changes {
                let found = nodes
                    .get_mut(node)
                    .ok_or_else(|| Failure::Work(format!("there is no node `{node}`")))?;
                let begin_ns = clock.now_ns();
                found.carry_out(lines).map_err(Failure::Work)?;
                spans_ns.push((begin_ns, clock.now_ns()));
            }
            log.now(&NetworkEvent::Changed { spans_ns });
        }
        Order::Qdiscs {} => {
            let mut all = Object::new();
            for (name, node) in nodes {
                all.insert(name.clone(), node.qdiscs()?.into());
            }
            log.now(&NetworkEvent::Qdiscs { nodes: all });
        }
    }
    Ok(())
}

/// One line of the role.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(crate) enum NetworkEvent {
    /// The network is set up; written at once.
    Network {
        /// How long it took.
        took_ns: i64,
        /// Whether it runs before all ordinary programs (`SCHED_FIFO`), so that of what is due at
        /// one time its changes come first.
        first: bool,
        /// Name to object: `namespace`, the number of the descriptor that holds it; `sysctls` and
        /// `offloads` in force; `left`, lines of `qdiscs` that it leaves to `tc`.
        nodes: Object,
    },
    /// An order `change` has been executed; written at once.
    Changed {
        /// Of each of `changes`, when it began and when the kernel had executed it, ns of
        /// `CLOCK_REALTIME`.
        spans_ns: Vec<(i64, i64)>,
    },
    /// The queues have been read; written at once.
    Qdiscs {
        /// Name to queues, in the form of `tc -s -j qdisc show`.
        nodes: Object,
    },
}
