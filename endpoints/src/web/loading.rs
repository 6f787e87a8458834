//! A load of a page by the plain client: each object is asked for when the one that refers to it is
//! there.

use crate::clock::Clock;
use crate::web::content::Content;
use crate::web::description::{Protocol, WebClient};
use crate::web::link::{mime, open, Link, Quic, Steps};
use futures_util::stream::{FuturesUnordered, StreamExt};
use serde_json::{json, Map, Value};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::sync::Arc;

/// Who loads, as events say it.
const CLIENT: &str = "plain";

/// A load and how far it has come. It stays readable when the load is given up.
pub struct Loading<'a> {
    client: &'a WebClient,
    contents: &'a [Content],
    clock: Clock,
    number: usize,
    wanted: Protocol,
    begin_ns: i64,
    /// By position in the page.
    fetches: Vec<RefCell<Fetch>>,
    ports: RefCell<Vec<u16>>,
    /// The QUIC connection, if one is open.
    quic: RefCell<Option<Arc<Quic>>>,
    /// Why the load has failed, if it has.
    error: RefCell<Option<String>>,
}

/// How far an object has come; times are ns after the epoch.
#[derive(Debug, Default, Clone)]
struct Fetch {
    start_ns: Option<i64>,
    connect_start_ns: Option<i64>,
    secure_start_ns: Option<i64>,
    connect_end_ns: Option<i64>,
    request_start_ns: Option<i64>,
    response_start_ns: Option<i64>,
    response_end_ns: Option<i64>,
    status: Option<u16>,
    mime: Option<String>,
    bytes: u64,
}

/// What is to be done next.
enum Job {
    /// Open a connection; the first one is the document's.
    Open { first: bool },
    /// Ask for an object over a connection, with the steps of its opening if nobody has used it
    /// before.
    Ask { position: usize, link: Link, opened: Option<Box<Fetch>> },
}

/// What has been done.
enum Outcome {
    Opened(Result<(Link, Fetch), String>),
    Answered(usize, Result<(Link, bool), String>),
}

/// The steps of a connection that is opened.
struct ForObject<'a> {
    clock: Clock,
    fetch: &'a RefCell<Fetch>,
    ports: &'a RefCell<Vec<u16>>,
}

impl Steps for ForObject<'_> {
    fn port(&self, port: u16) {
        self.ports.borrow_mut().push(port);
    }

    fn connect_start(&self) {
        self.fetch.borrow_mut().connect_start_ns = Some(self.clock.now_ns());
    }

    fn secure_start(&self) {
        self.fetch.borrow_mut().secure_start_ns = Some(self.clock.now_ns());
    }

    fn connect_end(&self) {
        self.fetch.borrow_mut().connect_end_ns = Some(self.clock.now_ns());
    }
}

/// A connection for a request, with the steps of its opening if it is the first one over it.
fn take(idle: &mut Vec<(Link, Option<Box<Fetch>>)>) -> Option<(Link, Option<Box<Fetch>>)> {
    let (link, opened) = idle.last_mut()?;
    match link.share() {
        Some(link) => Some((link, opened.take())),
        None => idle.pop(),
    }
}

impl<'a> Loading<'a> {
    /// A load that begins now. `number` counts from 1.
    #[must_use]
    pub fn new(
        client: &'a WebClient,
        contents: &'a [Content],
        clock: Clock,
        number: usize,
        wanted: Protocol,
    ) -> Self {
        Loading {
            client,
            contents,
            clock,
            number,
            wanted,
            begin_ns: clock.now_ns(),
            fetches: contents.iter().map(|_| RefCell::default()).collect(),
            ports: RefCell::default(),
            quic: RefCell::default(),
            error: RefCell::default(),
        }
    }

    /// When it began, ns after the epoch.
    #[must_use]
    pub fn begin_ns(&self) -> i64 {
        self.begin_ns
    }

    /// Gives the load up, or says that it is not what it should be. The first reason counts.
    pub fn fail(&self, reason: String) {
        self.error.borrow_mut().get_or_insert(reason);
    }

    /// The QUIC connection, if one was opened.
    #[must_use]
    pub fn quic(&self) -> Option<Arc<Quic>> {
        self.quic.borrow().clone()
    }

    /// Loads the page. What waits for a connection takes the first one that is free, one that has
    /// been opened for it or another one whose answer has come: browsers bind requests late.
    pub async fn work(&self) {
        let objects = &self.client.workload.page.objects;
        let most = self.wanted.most_connections();
        let (mut opened, mut opening, mut asking) = (0, 0, 0);
        let mut idle: Vec<(Link, Option<Box<Fetch>>)> = Vec::new();
        let mut waiting = VecDeque::new();
        let mut running = FuturesUnordered::new();
        self.find(&[0], &mut waiting);
        while asking > 0 || !waiting.is_empty() {
            while !waiting.is_empty() {
                let Some((link, opened)) = take(&mut idle) else { break };
                let Some(position) = waiting.pop_front() else { break };
                asking += 1;
                running.push(self.carry_out(Job::Ask { position, link, opened }));
            }
            while opening < waiting.len() && opened < most {
                running.push(self.carry_out(Job::Open { first: opened == 0 }));
                opened += 1;
                opening += 1;
            }
            match running.next().await {
                Some(Outcome::Opened(Ok((link, steps)))) => {
                    opening -= 1;
                    idle.push((link, Some(Box::new(steps))));
                }
                Some(Outcome::Answered(position, Ok((link, whole)))) => {
                    asking -= 1;
                    if idle.is_empty() || link.share().is_none() {
                        idle.push((link, None));
                    }
                    if whole {
                        self.find(&objects[position].children, &mut waiting);
                    }
                }
                // Without its connection a load is over.
                Some(Outcome::Opened(Err(reason))) => {
                    return self.fail(self.named(waiting.front().copied().unwrap_or(0), &reason));
                }
                Some(Outcome::Answered(position, Err(reason))) => {
                    return self.fail(self.named(position, &reason));
                }
                None => return,
            }
        }
    }

    /// Objects are to be asked for from now on.
    fn find(&self, positions: &[usize], waiting: &mut VecDeque<usize>) {
        for position in positions {
            self.fetches[*position].borrow_mut().start_ns = Some(self.clock.now_ns());
            waiting.push_back(*position);
        }
    }

    async fn carry_out(&self, job: Job) -> Outcome {
        match job {
            Job::Open { first } => Outcome::Opened(self.open(first).await),
            Job::Ask { position, link, opened } => {
                Outcome::Answered(position, self.fetch(position, link, opened).await)
            }
        }
    }

    async fn open(&self, first: bool) -> Result<(Link, Fetch), String> {
        let further = RefCell::default();
        let fetch = if first { &self.fetches[0] } else { &further };
        let steps = ForObject { clock: self.clock, fetch, ports: &self.ports };
        let link = open(self.client, self.wanted, &steps).await?;
        *self.quic.borrow_mut() = link.quic().cloned();
        let fetch = fetch.borrow().clone();
        Ok((link, fetch))
    }

    fn named(&self, position: usize, reason: &str) -> String {
        format!("{}: {reason}", self.client.workload.page.objects[position].path)
    }

    /// Fetches an object. False: it is not what it should be.
    async fn fetch(
        &self,
        position: usize,
        mut link: Link,
        opened: Option<Box<Fetch>>,
    ) -> Result<(Link, bool), String> {
        let fetch = &self.fetches[position];
        let now_ns = self.clock.now_ns();
        {
            // A connection may have been begun for an object that was found earlier, or be an old
            // one.
            let mut fetch = fetch.borrow_mut();
            let opened = opened.unwrap_or_default();
            let since =
                |at_ns: Option<i64>| at_ns.map_or(Some(now_ns), |at| Some(at).max(fetch.start_ns));
            let (start_ns, end_ns) = (since(opened.connect_start_ns), since(opened.connect_end_ns));
            (fetch.connect_start_ns, fetch.connect_end_ns) = (start_ns, end_ns);
        }
        let object = &self.client.workload.page.objects[position];
        let WebClient { name, port, .. } = self.client;
        let uri = format!("https://{name}:{port}{}", object.path);
        fetch.borrow_mut().request_start_ns = Some(self.clock.now_ns());
        let (parts, mut body) = link.ask(&uri).await?;
        {
            let mut fetch = fetch.borrow_mut();
            fetch.response_start_ns = Some(self.clock.now_ns());
            fetch.status = Some(parts.status.as_u16());
            fetch.mime = mime(&parts);
        }
        let mut expected = self.contents[position].cursor();
        let mut same = true;
        while let Some(data) = body.next().await? {
            fetch.borrow_mut().bytes += data.len() as u64;
            same = same && expected.matches(data);
        }
        let mut fetch = fetch.borrow_mut();
        fetch.response_end_ns = Some(self.clock.now_ns());
        let reason = if parts.status.as_u16() != 200 {
            Some(format!("status {}", parts.status.as_u16()))
        } else if fetch.bytes != object.bytes {
            Some(format!("{} bytes instead of {}", fetch.bytes, object.bytes))
        } else if !same {
            Some("contents differ from what the server should send".into())
        } else {
            None
        };
        if let Some(reason) = &reason {
            self.fail(self.named(position, reason));
        }
        Ok((link, reason.is_none()))
    }

    /// What an event says of it.
    #[must_use]
    pub fn report(&self) -> Map<String, Value> {
        let objects = &self.client.workload.page.objects;
        let document = self.fetches[0].borrow();
        let error = self.error.borrow();
        let protocol = document.response_start_ns.map(|_| self.wanted.name());
        let last = self.fetches.iter().filter_map(|fetch| fetch.borrow().response_end_ns).max();
        let bytes: u64 = self.fetches.iter().map(|fetch| fetch.borrow().bytes).sum();
        let mut resources = Vec::new();
        for (object, fetch) in objects.iter().zip(&self.fetches) {
            let fetch = fetch.borrow();
            if fetch.start_ns.is_none() {
                continue;
            }
            resources.push(json!({
                "path": object.path,
                "type": fetch.mime,
                "protocol": fetch.response_start_ns.map(|_| self.wanted.name()),
                "status": fetch.status,
                "bytes": fetch.bytes,
                "start_ns": fetch.start_ns,
                "connect_start_ns": fetch.connect_start_ns,
                "connect_end_ns": fetch.connect_end_ns,
                "request_start_ns": fetch.request_start_ns,
                "response_start_ns": fetch.response_start_ns,
                "response_end_ns": fetch.response_end_ns,
            }));
        }
        let report = json!({
            "load": self.number,
            "wanted": self.wanted.name(),
            "protocol": protocol,
            "status": document.status,
            "error": error.as_deref().unwrap_or(""),
            "client": CLIENT,
            "version": concat!("fairc-endpoints ", env!("CARGO_PKG_VERSION")),
            "begin_ns": self.begin_ns,
            "connect_start_ns": document.connect_start_ns,
            "secure_start_ns": document.secure_start_ns,
            "connect_end_ns": document.connect_end_ns,
            "request_start_ns": document.request_start_ns,
            "response_start_ns": document.response_start_ns,
            "response_end_ns": document.response_end_ns,
            "dom_content_loaded_ns": null,
            "load_event_end_ns": last.filter(|_| error.is_none()),
            "fcp_ns": null,
            "lcp_ns": null,
            "bytes": bytes,
            "local_ports": *self.ports.borrow(),
            "resources": resources,
        });
        match report {
            Value::Object(fields) => fields,
            _ => Map::new(),
        }
    }
}
