//! Role `qdiscs`: carries out lines of `tc` in this namespace, and reads back all of its queueing
//! disciplines.

use crate::description::{self, Qdiscs};
use crate::events::Log;
use crate::failure::Failure;
use crate::network::node::Node;
use crate::network::qdisc::Object;
use serde::Serialize;

/// Carries out the lines in order, then writes every qdisc of this network namespace.
///
/// # Errors
/// A bad description; a line that cannot be read, or that the kernel refuses, with its reason.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: Qdiscs = description::read(text).map_err(Failure::Description)?;
    work(&description, log).inspect_err(|failure| {
        // Whoever reads what is there takes standard output for it.
        if let Failure::Work(message) = failure {
            eprintln!("fairc-endpoints: {message}");
        }
    })
}

fn work(description: &Qdiscs, log: &mut Log) -> Result<(), Failure> {
    let mut here = Node::here()?;
    here.carry_out(&description.lines).map_err(Failure::Work)?;
    let qdiscs = here.qdiscs()?;
    log.now(&Shown { qdiscs });
    Ok(())
}

/// It has executed its lines.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename = "qdiscs")]
pub(crate) struct Shown {
    /// The queues of its network namespace, in the form of `tc -s -j qdisc show`.
    qdiscs: Vec<Object>,
}
