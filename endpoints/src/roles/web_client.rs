//! Role `web-client`: loads a page several times, over a new connection each time, without a
//! browser.

use crate::clock::Clock;
use crate::description;
use crate::events::Log;
use crate::failure::Failure;
use crate::socket;
use crate::web::content::{contents, Content};
use crate::web::description::WebClient;
use crate::web::link::Quic;
use crate::web::loading::Loading;
use crate::web::report::WebEvent;
use crate::web::waiting::{self, Sleeper, Stop};
use std::io;
use std::sync::Arc;

/// How long the last server may be waited for to hear that its connection is closed, ns.
const GOODBYE_NS: i64 = 500_000_000;

/// Loads until all loads have ended, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, or what the kernel says.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: WebClient = description::read(text).map_err(Failure::Description)?;
    let contents = contents(&description.workload.page).map_err(Failure::Description)?;
    socket::warm_up()?;
    waiting::run(load_all(&description, &contents, log))
}

/// Ends the work early.
struct End {
    stop: Stop,
    sleeper: Sleeper,
    at_ns: Option<i64>,
}

impl End {
    async fn wait(&self) -> io::Result<&'static str> {
        tokio::select! {
            biased;
            result = self.stop.wait() => result.map(|()| "the client was stopped"),
            result = self.sleeper.until_some(self.at_ns) => result.map(|()| "the flow ended"),
        }
    }
}

async fn load_all(client: &WebClient, contents: &[Content], log: &mut Log) -> Result<(), Failure> {
    let clock = log.clock();
    let end = End { stop: Stop::new()?, sleeper: Sleeper::new(clock)?, at_ns: client.stop_ns };
    let sleeper = Sleeper::new(clock)?;
    let mut ended_ns = client.start_ns();
    let mut loads = 0;
    let mut last = None;
    for (wanted, pause_ns, after_ns) in client.workload.each() {
        let pause_ns = if loads == 0 { 0 } else { pause_ns };
        let rested_ns = ended_ns.saturating_add(pause_ns);
        let begin_ns = rested_ns.max(client.start_ns().saturating_add(after_ns));
        tokio::select! {
            biased;
            reason = end.wait() => { reason?; break; }
            result = sleeper.until(begin_ns) => result?,
        }
        loads += 1;
        let loading = Loading::new(client, contents, clock, loads, wanted);
        let stopped = attempt(&loading, client.workload.timeout_ns, &sleeper, &end).await?;
        last = loading.quic().or(last);
        ended_ns = clock.now_ns();
        log.at(ended_ns, &WebEvent::Load(loading.report()));
        // A load is seldom; whoever looks on sees it at once.
        log.flush();
        if stopped {
            break;
        }
    }
    log.now(&WebEvent::Done { loads });
    say_goodbye(last, &sleeper, clock).await
}

/// Works on a load until it ends, in whichever way; true: nothing is to follow.
async fn attempt(
    loading: &Loading<'_>,
    timeout_ns: i64,
    sleeper: &Sleeper,
    end: &End,
) -> Result<bool, Failure> {
    let deadline_ns = loading.begin_ns().saturating_add(timeout_ns);
    let stopped = tokio::select! {
        biased;
        reason = end.wait() => {
            loading.fail(reason?.to_owned());
            true
        }
        () = loading.work() => false,
        result = sleeper.until(deadline_ns) => {
            result?;
            loading.fail(format!("not complete after {} s", timeout_ns as f64 / 1e9));
            false
        }
    };
    if let Some(quic) = loading.quic() {
        quic.close();
        let dropped = quic.dropped()?;
        if dropped > 0 {
            loading
                .fail(format!("the socket's receive buffer was full: {dropped} datagrams dropped"));
        }
    }
    Ok(stopped)
}

/// Waits until the last server knows that its connection is closed, or for a while.
async fn say_goodbye(
    last: Option<Arc<Quic>>,
    sleeper: &Sleeper,
    clock: Clock,
) -> Result<(), Failure> {
    if let Some(quic) = last {
        tokio::select! {
            biased;
            () = quic.endpoint.wait_idle() => {}
            result = sleeper.until(clock.now_ns() + GOODBYE_NS) => result?,
        }
    }
    Ok(())
}
