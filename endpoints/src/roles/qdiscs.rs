//! Role `qdiscs`: adds queueing disciplines that `tc` may not know, and reads them all back.

use crate::description::{self, Qdiscs};
use crate::events::{Log, Report};
use crate::json::Line;
use crate::network::qdisc::{Object, Request};
use crate::network::show;
use crate::network::socket::Socket;
use crate::roles::Failure;
use std::io;

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
    let mut socket = Socket::open()?;
    let interfaces = show::interfaces(&mut socket)?;
    for line in &description.lines {
        let request = Request::read(line)
            .map_err(|why| Failure::Description(format!("line `{line}`: {why}")))?;
        let index = interfaces
            .get(&request.device)
            .ok_or_else(|| Failure::Work(format!("there is no interface `{}`", request.device)))?;
        socket
            .talk(&mut [request.message(*index)])
            .map_err(|refusal| Failure::Work(format!("`{line}`: {}", refusal.words)))?;
    }
    let qdiscs = show::qdiscs(&mut socket)?;
    log.now(&Shown { qdiscs });
    Ok(())
}

struct Shown {
    qdiscs: Vec<Object>,
}

impl Report for Shown {
    fn write(&self, line: &mut Line) -> io::Result<()> {
        line.field("event", "qdiscs")?.field("qdiscs", &self.qdiscs).map(drop)
    }
}
