//! `docs/reference/endpoints-protocol.md`: the fields of descriptions and events, from their types.
//!
//! Tests alone have this module, and the schemas that it reads. `UPDATE=1 cargo test --profile checks
//! protocol` writes the page.

use crate::description::network::{Network, NetworkFile, Order};
use crate::description::udp::Udp;
use crate::description::{Capture, Monitor, Qdiscs, TcpClient, TcpServer};
use crate::events::{Event, Usage};
use crate::media::description::Media;
use crate::media::end::MediaEvent;
use crate::pep::description::Pep;
use crate::pep::events::PepEvent;
use crate::policer::description::Policer;
use crate::policer::events::PolicerEvent;
use crate::quic::description::{QuicClient, QuicServer};
use crate::quic::report::QuicEvent;
use crate::roles::network::NetworkEvent;
use crate::roles::qdiscs::Shown;
use crate::roles::ROLES;
use crate::streams::Asked;
use crate::tunnel::description::Tunnel;
use crate::tunnel::events::TunnelEvent;
use crate::web::description::{WebClient, WebServer};
use crate::web::report::WebEvent;
use schemars::generate::SchemaSettings;
use schemars::JsonSchema;
use serde_json::{json, Map, Value};
use std::collections::HashSet;
use std::fmt::Write;
use std::{env, fs};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/endpoints-protocol.md");
const COLUMNS: usize = 100;

const HEAD: &str = "\
# The endpoints' protocol

    fairc-endpoints ROLE --epoch-ns N DESCRIPTION

DESCRIPTION is one JSON object; its fields depend on the role. The role writes one JSON object per
line, each with `t_ns` (ns after the epoch) and, except for the monitor, `event`. All times ending
in `_ns` are ns after the epoch, unless their meaning says otherwise; other units are in the names.
[endpoints.md](../build/endpoints.md) describes how the roles behave.

Exit status: 0 when the role did its work (being stopped is not a failure), 1 after an `error`, 2
for an invalid description, 127 for an unknown role.

This page is made from the types of the program (`endpoints/src/protocol.rs`).

## Descriptions

All fields are required unless they are marked \"may be absent\"; unknown fields are refused.
";

const BROWSER: &str = "\
### `browser`

Not a role of fairc-endpoints but the program `fairc-browser --epoch-ns N DESCRIPTION`
([pages.md](../learn/pages.md#page-loads-in-chromium)). Takes the fields of web-client and one more:
`own_time` is null, or an object whose `quic` is that of a web-server: then the page is loaded from
a server on the client itself as well, after all loads. Trusts `<flow>.spki`; a failed load leaves
`<flow>.load-K.png` and `<flow>.load-K.log`.
";

const EVENTS: &str = "\
## Events

`server` and `client` are the roles of TCP, QUIC and UDP; a role's own row of an event takes
precedence. A browser writes the events of web-client, and `own-time` with the fields of `load`
except `load`: the page was loaded from a server on the client itself.

| event | by | written when |
|---|---|---|
";

const FIELDS: &str = "
### Fields of events

| event | by | field | type | meaning |
|---|---|---|---|---|
";

/// The fields of `load`, which `web::loading` puts together: name, type, meaning.
const LOAD: [(&str, &str, &str); 21] = [
    ("load", "integer", "number of the load, from 1"),
    ("wanted", "text", "protocol requested"),
    ("protocol", "text or null", "protocol used"),
    ("status", "integer or null", "HTTP status of the document"),
    ("error", "text", "why it failed; empty if it did not"),
    ("client", "text", "`plain`; `chromium` from the browser's driver"),
    ("version", "text", "version of the client"),
    ("begin_ns", "integer", "start of the load; in a browser, of the navigation"),
    ("connect_start_ns", "integer or null", "connectStart"),
    ("secure_start_ns", "integer or null", "secureConnectionStart; null over HTTP/3"),
    ("connect_end_ns", "integer or null", "connectEnd"),
    ("request_start_ns", "integer or null", "requestStart"),
    ("response_start_ns", "integer or null", "responseStart"),
    ("response_end_ns", "integer or null", "responseEnd"),
    ("dom_content_loaded_ns", "integer or null", "domContentLoadedEventEnd"),
    ("load_event_end_ns", "integer or null", "loadEventEnd"),
    ("fcp_ns", "integer or null", "first contentful paint"),
    ("lcp_ns", "integer or null", "largest contentful paint"),
    ("bytes", "integer", "bytes of bodies"),
    ("local_ports", "list of integer", "its local ports; empty in a browser"),
    (
        "resources",
        "list of object",
        "the document first: `path`, `type`, `protocol`, `status`, `bytes`, `start_ns`, \
         `connect_start_ns`, `connect_end_ns`, `request_start_ns`, `response_start_ns`, \
         `response_end_ns`",
    ),
];

/// What a role does beyond its line of `--help`.
fn more(role: &str) -> &'static str {
    match role {
        "tcp-server" => {
            "Ends on SIGTERM or, except for `requests`, when all connections have ended."
        }
        "tcp-client" => {
            "Ends when all connections have their bytes (a video: when it has been shown), or at \
             `stop_ns`."
        }
        "udp-server" => {
            "`file` and `bulk` are sent at `rate_bps`; connection k goes to port `port` + k. Ends \
             when everything is sent, or at `stop_ns`."
        }
        "udp-client" => {
            "Ends when a file is complete or can no longer be completed, or at `stop_ns`. Writes \
             `<flow>.client.transits` to its working directory."
        }
        "quic-server" => {
            "Writes `<flow>.certificate.der`, `<flow>.keys` and, with `qlog`, \
             `<flow>.server.sqlog` to its working directory."
        }
        "quic-client" => "Trusts only `<flow>.certificate.der` in its working directory.",
        "media-server" | "media-client" => {
            "See [media](../learn/media.md). Ends at `stop_ns`, on SIGTERM, or with its connection."
        }
        "web-server" => {
            "HTTP/3 is served where `quic` is not null. Before it listens it writes `<flow>.der` \
             (certificate for `web.fairc` and its address) and `<flow>.spki` (pin: base64 of \
             SHA-256) to its working directory. Ends on SIGTERM."
        }
        "web-client" => {
            "Loads the page once per entry of the workload's `protocols`. Trusts only `<flow>.der` \
             in its working directory. Ends when all loads have ended, at `stop_ns` or on SIGTERM; \
             a failed load is not an `error`."
        }
        "pep-terminal" | "pep-gateway" => {
            "[endpoints.md](../build/endpoints.md), \"Split connections\", lists the requirements \
             of its node. Ends on SIGTERM."
        }
        "policer" => "See [endpoints.md](../build/endpoints.md), \"Policing\". Ends on SIGTERM.",
        "tunnel" => "See [endpoints.md](../build/endpoints.md), \"Tunnels\". Ends on SIGTERM.",
        "network" => {
            "See [endpoints.md](../build/endpoints.md), \"Setting up a network\". Then it takes \
             orders from standard input, one JSON object per line. Ends when standard input ends; \
             the namespaces that it made end with it and the last program in them."
        }
        "qdiscs" => "For queues that the installed `tc` does not support.",
        _ => "Ends on SIGTERM.",
    }
}

/// The description of a role.
fn described(role: &str) -> Value {
    match role {
        "tcp-server" => taken::<TcpServer>(),
        "tcp-client" => taken::<TcpClient>(),
        "udp-server" | "udp-client" => taken::<Udp>(),
        "quic-server" => taken::<QuicServer>(),
        "quic-client" => taken::<QuicClient>(),
        "media-server" | "media-client" => taken::<Media>(),
        "web-server" => taken::<WebServer>(),
        "web-client" => taken::<WebClient>(),
        "pep-terminal" | "pep-gateway" => taken::<Pep>(),
        "policer" => taken::<Policer>(),
        "tunnel" => taken::<Tunnel>(),
        "network" => taken::<NetworkFile>(),
        "qdiscs" => taken::<Qdiscs>(),
        "monitor" => taken::<Monitor>(),
        "capture" => taken::<Capture>(),
        _ => panic!("`{role}` has a description that this page lacks"),
    }
}

fn taken<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_deserialize())
}

fn written<T: JsonSchema>() -> Value {
    schema::<T>(SchemaSettings::draft2020_12().for_serialize())
}

fn schema<T: JsonSchema>(settings: SchemaSettings) -> Value {
    settings.into_generator().into_root_schema_for::<T>().to_value()
}

/// The types of a page that have sections of their own, in the order in which they are named.
#[derive(Default)]
struct Parts {
    /// Whether these are of events.
    written: bool,
    known: HashSet<String>,
    waiting: Vec<(String, Value)>,
}

impl Parts {
    /// Name a type, and describe it later.
    fn link(&mut self, name: &str, root: &Value) -> String {
        if self.known.insert(name.into()) {
            self.waiting.push((name.into(), root.clone()));
        }
        format!("[{name}](#{})", name.to_lowercase())
    }

    /// What a value may be.
    fn kind(&mut self, schema: &Value, root: &Value) -> String {
        if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
            let target = resolved(schema, root);
            return match words(target) {
                Some(words) => words,
                None => self.link(name, root),
            };
        }
        if let Some(words) = words(schema) {
            return words;
        }
        if let Some(several) = schema["anyOf"].as_array().or(schema["oneOf"].as_array()) {
            let kinds: Vec<String> = several.iter().map(|one| self.kind(one, root)).collect();
            return kinds.join(" or ");
        }
        match &schema["type"] {
            Value::Array(several) => {
                let kinds: Vec<String> = several
                    .iter()
                    .map(|one| {
                        let mut alone = schema.clone();
                        alone["type"] = one.clone();
                        self.kind(&alone, root)
                    })
                    .collect();
                kinds.join(" or ")
            }
            Value::String(name) => match name.as_str() {
                "string" if schema["format"] == "ipv4" => "IPv4 address".into(),
                "string" => "text".into(),
                "array" => match schema["prefixItems"].as_array() {
                    Some(items) => {
                        let kinds: Vec<String> =
                            items.iter().map(|one| self.kind(one, root)).collect();
                        format!("list of {}", kinds.join(" and "))
                    }
                    None => format!("list of {}", self.kind(&schema["items"], root)),
                },
                plain => plain.into(),
            },
            _ => "any".into(),
        }
    }

    /// The rows of a type's fields, each behind `before`.
    fn rows(&mut self, before: &str, schema: &Value, root: &Value) -> String {
        let mut rows = String::new();
        for (name, field) in properties(schema, root) {
            let absent =
                if self.written { field["absent"] == true } else { field.get("default").is_some() };
            let kind = self.kind(&field, root) + if absent { ", may be absent" } else { "" };
            let meaning = sentence(&field, name.as_str());
            writeln!(rows, "|{before} `{name}` | {kind} | {meaning} |").unwrap();
        }
        rows
    }

    /// The section of a type.
    fn section(&mut self, name: &str, root: &Value) -> String {
        let schema = &root["$defs"][name];
        let mut text = format!("### {name}\n\n{}.\n\n", wrapped(&sentence(schema, name)));
        let Some(variants) = schema["oneOf"].as_array() else {
            return text
                + "| field | type | meaning |\n|---|---|---|\n"
                + &self.rows("", schema, root);
        };
        text += "One of these, by its `kind`:\n\n| kind | field | type | meaning |\n|---|---|---|---|\n";
        for variant in variants {
            let meaning = sentence(variant, name);
            let inner = &variant["properties"];
            let (kind, fields) = if let Some(kind) = inner["kind"]["const"].as_str() {
                (kind, &inner["parameters"])
            } else {
                let (kind, fields) = inner.as_object().unwrap().iter().next().unwrap();
                (kind.as_str(), fields)
            };
            writeln!(text, "| `{kind}` | | | {meaning} |").unwrap();
            text += &self.rows(&format!(" `{kind}` |"), resolved(fields, root), root);
        }
        text
    }
}

/// The variants of an enum that is a word each; None: it is something else.
fn words(schema: &Value) -> Option<String> {
    if let Some(all) = schema["enum"].as_array() {
        return all
            .iter()
            .map(|word| word.as_str().map(|word| format!("`{word}`")))
            .collect::<Option<Vec<_>>>()
            .map(|all| all.join(", "));
    }
    if schema["const"].is_string() {
        return Some(format!("`{}`", schema["const"].as_str().unwrap()));
    }
    let several = schema["oneOf"].as_array()?;
    let all: Option<Vec<String>> = several.iter().map(words).collect();
    all.map(|all| all.join(", "))
}

fn resolved<'a>(schema: &'a Value, root: &'a Value) -> &'a Value {
    match schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        Some(name) => &root["$defs"][name],
        None => schema,
    }
}

/// The fields of an object, those of what is flattened into it included; `absent`: it may lack one.
fn properties(schema: &Value, root: &Value) -> Map<String, Value> {
    let mut all = schema["properties"].as_object().cloned().unwrap_or_default();
    for (name, field) in &mut all {
        let required = schema["required"]
            .as_array()
            .is_some_and(|names| names.contains(&name.as_str().into()));
        field["absent"] = (!required).into();
    }
    if schema["$ref"].is_string() {
        all.extend(properties(resolved(schema, root), root));
    }
    for one in schema["allOf"].as_array().into_iter().flatten() {
        all.extend(properties(resolved(one, root), root));
    }
    for several in [&schema["anyOf"], &schema["oneOf"]] {
        let parts: Vec<_> = several
            .as_array()
            .into_iter()
            .flatten()
            .map(|one| properties(resolved(one, root), root))
            .collect();
        for (name, field) in parts.iter().flatten() {
            let same: Vec<_> = parts.iter().filter_map(|part| part.get(name)).collect();
            let mut field = field.clone();
            if same.len() < parts.len() {
                field["absent"] = true.into();
            }
            let tags: Vec<_> = same.iter().map(|one| one["const"].clone()).collect();
            if tags.iter().all(Value::is_string) {
                field = json!({"enum": tags, "absent": false, "description": "Which of them."});
            }
            all.insert(name.clone(), field);
        }
    }
    all
}

/// What its comment says, in one line.
fn sentence(schema: &Value, name: &str) -> String {
    let text = schema["description"].as_str().unwrap_or_default();
    assert!(!text.is_empty(), "`{name}` has no comment: {schema}");
    let first = text.split("\n\n").next().unwrap().replace('\n', " ");
    first.replace("None:", "null:").trim_end_matches('.').replace('|', "\\|")
}

fn wrapped(text: &str) -> String {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let last = lines.last_mut().unwrap();
        if !last.is_empty() && last.chars().count() + 1 + word.chars().count() > COLUMNS {
            lines.push(word.into());
        } else {
            *last = [last.as_str(), word].join(if last.is_empty() { "" } else { " " });
        }
    }
    lines.join("\n")
}

/// The events of a type: who writes each, what it is, and its schema.
fn events(by: &str, root: &Value) -> Vec<(String, String, String, Value)> {
    let variants = root["oneOf"].as_array().cloned().unwrap_or_else(|| vec![root.clone()]);
    variants
        .into_iter()
        .map(|variant| {
            // A struct has no field for its tag.
            let name = variant["properties"]["event"]["const"].as_str();
            let name = name.or(root["title"].as_str()).unwrap().to_string();
            let said = sentence(&variant, &name);
            let (who, when) = match said.split_once(": ") {
                Some((who, when)) if !who.contains(['(', ',']) => (who.to_lowercase(), when),
                _ => (String::new(), said.as_str()),
            };
            let who = match (by, who.as_str()) {
                ("", who) => who.replace(' ', "-"),
                (by, "server" | "client") => format!("{by}-{who}"),
                (by, _) => by.into(),
            };
            (name, who, when.into(), variant)
        })
        .collect()
}

fn page() -> String {
    let (mut text, mut parts) = (HEAD.to_string(), Parts::default());
    for (number, role) in ROLES.iter().enumerate() {
        let root = described(role.name);
        if number > 0 && described(ROLES[number - 1].name) == root {
            continue;
        }
        let twins: Vec<_> =
            ROLES[number..].iter().take_while(|one| described(one.name) == root).collect();
        let names: Vec<String> = twins.iter().map(|one| format!("`{}`", one.name)).collect();
        writeln!(text, "\n### {}\n", names.join(", ")).unwrap();
        let mut said = String::new();
        for one in &twins {
            let whose = if twins.len() > 1 { format!("{}: ", one.name) } else { String::new() };
            writeln!(
                said,
                "{}\n",
                wrapped(&format!(
                    "{whose}{}. {}",
                    capital(one.help, whose.is_empty()),
                    more(one.name)
                ))
            )
            .unwrap();
        }
        text += &said;
        text += "| field | type | meaning |\n|---|---|---|\n";
        text += &parts.rows("", &root, &root);
        if role.name == "network" {
            for (title, inner) in
                [("The network in that file:", taken::<Network>()), ("An order:", order())]
            {
                writeln!(text, "\n{title}\n\n| field | type | meaning |\n|---|---|---|").unwrap();
                text += &parts.rows("", &inner, &inner);
            }
        }
        if role.name == "web-client" {
            text += "\n";
            text += BROWSER;
        }
    }
    let mut at = 0;
    while at < parts.waiting.len() {
        let (name, root) = parts.waiting[at].clone();
        text += "\n";
        text += &parts.section(&name, &root);
        at += 1;
    }
    let known = parts.waiting.len();
    parts.written = true;
    text += "\n";
    text += EVENTS;
    let mut fields = String::new();
    for (by, root) in [
        ("", written::<Event>()),
        ("", written::<Asked>()),
        ("quic", written::<QuicEvent>()),
        ("web", written::<WebEvent>()),
        ("media-server, media-client", written::<MediaEvent>()),
        ("pep-terminal, pep-gateway", written::<PepEvent>()),
        ("policer", written::<PolicerEvent>()),
        ("tunnel", written::<TunnelEvent>()),
        ("network", written::<NetworkEvent>()),
        ("qdiscs", written::<Shown>()),
    ] {
        for (name, who, when, variant) in events(by, &root) {
            writeln!(text, "| `{name}` | {who} | {when} |").unwrap();
            if name == "load" {
                for (field, kind, meaning) in LOAD {
                    writeln!(fields, "| `load` | {who} | `{field}` | {kind} | {meaning} |")
                        .unwrap();
                }
                continue;
            }
            let mut own = variant.clone();
            if let Some(fields) = own["properties"].as_object_mut() {
                fields.shift_remove("event");
            }
            fields += &parts.rows(&format!(" `{name}` | {who} |"), &own, &root);
        }
    }
    assert_eq!(parts.waiting.len(), known, "events have no types of their own");
    text += FIELDS;
    text += &fields;
    text += "\nA line of the monitor:\n\n| field | type | meaning |\n|---|---|---|\n";
    let usage = written::<Usage>();
    text + &parts.rows("", &usage, &usage)
}

/// An order as it is read: `order` names the variant.
fn order() -> Value {
    let mut schema = taken::<Order>();
    let several = schema["oneOf"].as_array().unwrap().clone();
    let mut fields = Map::new();
    let names: Vec<String> = several
        .iter()
        .map(|one| {
            let (name, inner) = one["properties"].as_object().unwrap().iter().next().unwrap();
            fields.extend(properties(inner, &schema));
            format!("`{name}`: {}", sentence(one, name))
        })
        .collect();
    let mut all = Map::new();
    let order = json!({"type": "string", "description": names.join("; ")});
    all.insert("order".into(), order);
    all.extend(fields);
    schema.as_object_mut().unwrap().remove("oneOf");
    schema["properties"] = all.into();
    schema
}

fn capital(text: &str, begins: bool) -> String {
    let mut letters = text.chars();
    match letters.next() {
        Some(first) if begins => first.to_uppercase().chain(letters).collect(),
        _ => text.into(),
    }
}

#[test]
fn the_page_is_up_to_date() {
    let page = page();
    if env::var_os("UPDATE").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let there = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(page == there, "`UPDATE=1 cargo test --profile checks protocol` writes it");
}

#[test]
fn a_field_of_a_type_is_on_the_page() {
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Inner {
        /// How many.
        count: u32,
    }
    /// A toy.
    #[derive(JsonSchema, serde::Deserialize)]
    #[serde(rename_all = "lowercase")]
    #[allow(dead_code)]
    enum Word {
        /// One.
        One,
        /// Another.
        Other,
    }
    #[derive(JsonSchema)]
    #[allow(dead_code)]
    struct Toy {
        /// The inner one; None: there is none.
        inner: Option<Inner>,
        /// A word.
        word: Word,
    }
    let (root, mut parts) = (taken::<Toy>(), Parts::default());
    assert_eq!(
        parts.rows("", &root, &root),
        "| `inner` | [Inner](#inner) or null | The inner one; null: there is none |\n\
         | `word` | `one`, `other` | A word |\n"
    );
}
