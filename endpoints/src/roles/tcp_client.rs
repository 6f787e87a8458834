//! Role `tcp-client`: opens connections, asks for data and counts it.

use crate::description::{self, TcpClient};
use crate::downloads::{Download, Downloads, State, START, TICK};
use crate::events::{Event, Log};
use crate::failure::{Break, Failure};
use crate::reactor::{Interest, Reactor, Wake};
use crate::roles::tcp_requests;
use crate::tcp::fetch::{Dial, Fetch, Taken};
use crate::tcp::sink::{Sinks, Sunk};
use crate::workload::Workload;
use crate::{socket, sys};
use std::net::Shutdown;

const SUNK: u64 = 2;
/// Token of connection 0; the others follow.
const FIRST_CONNECTION: u64 = 3;

/// Works until every connection has its bytes, until `stop_ns`, or until SIGTERM.
///
/// # Errors
/// A bad description, or a machine that refuses timers or sockets.
pub fn run(text: &str, log: &mut Log) -> Result<(), Failure> {
    let description: TcpClient = description::read(text).map_err(Failure::Description)?;
    sys::raise_file_limit();
    socket::warm_up()?;
    if let Workload::Requests(requests) = &description.workload {
        return tcp_requests::run(&description, requests, log);
    }
    let mut reactor = Reactor::new()?;
    let mut client = Client::new(&description, &reactor, log)?;
    let mut wakes = Vec::new();
    while client.downloads.open > 0 {
        reactor.wait(&mut wakes)?;
        for wake in &wakes {
            match *wake {
                Wake::Stop => return client.stop(log),
                Wake::Ready(START) => client.start(&reactor, log)?,
                Wake::Ready(TICK) => client.tick(log)?,
                Wake::Ready(SUNK) => client.sunk(&reactor, log)?,
                Wake::Ready(token) => {
                    client.serve((token - FIRST_CONNECTION) as usize, &reactor, log)?;
                }
            }
        }
    }
    Ok(())
}

/// The state of the role.
struct Client {
    dial: Dial,
    downloads: Downloads<Fetch>,
    /// Take the data of long transfers.
    sinks: Sinks,
}

impl Client {
    fn new(description: &TcpClient, reactor: &Reactor, log: &Log) -> Result<Self, Failure> {
        let TcpClient { workload, starts_ns, stop_ns, progress_every_ns, .. } = description;
        let (stop_ns, every_ns) = (*stop_ns, *progress_every_ns);
        let downloads = Downloads::new(workload, starts_ns, stop_ns, every_ns, reactor, log)?;
        let sinks = Sinks::new(log.clock())?;
        reactor.add(&sinks, Interest::Read, SUNK)?;
        Ok(Client { dial: description.dial(), downloads, sinks })
    }

    /// Stops when it is time to, opens what is due, and sets the next start.
    fn start(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Some(now_ns) = self.downloads.started(log)? else {
            return Ok(());
        };
        if self.downloads.stops(now_ns) {
            return self.stop(log);
        }
        for index in 0..self.downloads.all.len() {
            if self.downloads.is_due(index, now_ns, log) {
                self.connect(index, reactor, log)?;
            }
        }
        self.downloads.set_start()
    }

    /// Starts to open a connection.
    fn connect(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let request = self.downloads.begin(index, log);
        match Fetch::open(&self.dial, request) {
            Ok(fetch) => {
                reactor.add(fetch.socket(), Interest::Write, FIRST_CONNECTION + index as u64)?;
                let download = &mut self.downloads.all[index];
                (download.state, download.link) = (State::Connecting, Some(fetch));
                Ok(())
            }
            Err(error) => self.downloads.refuse(index, error.into(), log),
        }
    }

    /// Does what can be done for one connection.
    fn serve(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        if self.downloads.all[index].state == State::Connecting {
            return self.ask(index, reactor, log);
        }
        self.take(index, log)?;
        self.sink(index, reactor)
    }

    /// Asks for the data of a connection that is established, and waits for it.
    fn ask(&mut self, index: usize, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        let Download { number, link: Some(fetch), .. } = &mut self.downloads.all[index] else {
            return Ok(());
        };
        match fetch.connected() {
            Ok(established) => {
                log.now(&Event::Connected { connection: *number, established });
                reactor.change(fetch.socket(), Interest::Read, FIRST_CONNECTION + index as u64)?;
                self.downloads.establish(index)
            }
            Err(error) => self.downloads.refuse(index, error.into(), log),
        }
    }

    /// Takes what has arrived on a connection, and ends it if that was the end.
    fn take(&mut self, index: usize, log: &mut Log) -> Result<(), Failure> {
        let download = &mut self.downloads.all[index];
        let Some(fetch) = &mut download.link else {
            return Ok(());
        };
        let over = match download.state {
            State::Receiving if fetch.sinks => return Ok(()),
            State::Receiving => fetch.take().map(|taken| deliver(download, taken, None, log)),
            State::Closing => fetch.closed().map_err(Break::Failed),
            _ => return Ok(()),
        };
        self.settle(index, over, log)
    }

    /// Ends a connection if `over` says so, or why it failed.
    fn settle(
        &mut self,
        index: usize,
        over: Result<bool, Break>,
        log: &mut Log,
    ) -> Result<(), Failure> {
        self.downloads.settle(index, over, log)?;
        let download = &mut self.downloads.all[index];
        if matches!(download.state, State::Showing | State::Ended) {
            download.link = None;
        }
        Ok(())
    }

    /// Hands a connection whose first data is there to a thread, if that pays.
    fn sink(&mut self, index: usize, reactor: &Reactor) -> Result<(), Failure> {
        let Download { state: State::Receiving, link: Some(fetch), player: None, .. } =
            &mut self.downloads.all[index]
        else {
            return Ok(());
        };
        if fetch.bytes() > 0 && self.sinks.pays(fetch.missing()) {
            self.sinks.start(index, fetch.socket(), fetch.missing())?;
            reactor.remove(fetch.socket())?;
            fetch.sinks = true;
        }
        Ok(())
    }

    /// Takes note of connections whose threads have ended.
    fn sunk(&mut self, reactor: &Reactor, log: &mut Log) -> Result<(), Failure> {
        for Sunk { index, bytes, ended_ns, error } in self.sinks.ended() {
            let download = &mut self.downloads.all[index];
            let Some(fetch) = &mut download.link else {
                continue;
            };
            fetch.sinks = false;
            let taken = fetch.sunk(bytes, error);
            if taken.is_ok() {
                // What is left is the end, for which the reactor waits.
                fetch.socket().set_nonblocking(true)?;
                reactor.add(fetch.socket(), Interest::Read, FIRST_CONNECTION + index as u64)?;
            }
            let what = *taken.as_ref().unwrap_or(&Taken::Data);
            let complete = deliver(download, what, Some(ended_ns), log);
            self.settle(index, taken.map(|_| complete), log)?;
        }
        Ok(())
    }

    /// Reports how much every connection that is not complete has delivered: what has arrived,
    /// which is taken at the same instant. Looking costs no attempt to take what may not be there.
    fn tick(&mut self, log: &mut Log) -> Result<(), Failure> {
        if !self.downloads.ticked()? {
            return Ok(());
        }
        for index in 0..self.downloads.all.len() {
            let Download { state: State::Receiving, link: Some(fetch), .. } =
                &self.downloads.all[index]
            else {
                continue;
            };
            fetch.keep_window()?;
            let bytes = fetch.arrived()?;
            // If all of it is there, that is about to be told.
            if bytes == 0 || Some(bytes) != self.downloads.wanted {
                self.downloads.progress(index, bytes, log);
            }
        }
        Ok(())
    }

    /// Ends everything: with what has arrived by now, and without waiting for more.
    fn stop(&mut self, log: &mut Log) -> Result<(), Failure> {
        self.stop_sinks(log)?;
        for index in 0..self.downloads.all.len() {
            self.take(index, log)?;
            let receiving = self.downloads.all[index].state == State::Receiving;
            self.downloads.stop(index, log);
            if let Some(fetch) = self.downloads.all[index].link.take().filter(|_| receiving) {
                fetch.reset()?;
            }
        }
        // The program ends: a timer that is left alone costs no system call.
        self.downloads.open = 0;
        Ok(())
    }

    /// Ends the threads, each with what has arrived by now.
    fn stop_sinks(&mut self, log: &mut Log) -> Result<(), Failure> {
        for fetch in self.downloads.all.iter().filter_map(|download| download.link.as_ref()) {
            if fetch.sinks {
                // Of a connection that the server has just reset there is nothing left to read.
                let _ = fetch.socket().shutdown(Shutdown::Read);
            }
        }
        for Sunk { index, bytes, ended_ns, error } in self.sinks.join() {
            let download = &mut self.downloads.all[index];
            if let Some(fetch) = &mut download.link {
                let taken = fetch.sunk(bytes, error).unwrap_or(Taken::Data);
                let over = deliver(download, taken, Some(ended_ns), log);
                self.settle(index, Ok(over), log)?;
            }
        }
        Ok(())
    }
}

/// Reports what came of taking, at `ended_ns` or now; true: nothing more will come.
fn deliver(
    download: &mut Download<Fetch>,
    taken: Taken,
    ended_ns: Option<i64>,
    log: &mut Log,
) -> bool {
    let bytes = download.link.as_ref().map_or(0, Fetch::bytes);
    let complete = taken == Taken::Complete;
    if taken != Taken::Nothing {
        download.deliver(bytes, complete, ended_ns, log);
    }
    // Of a file without a byte the end is all that comes.
    complete && bytes == 0
}
