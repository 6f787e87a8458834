//! What the role `network` is asked to do: a file with a whole network, then orders.

use crate::json::{text, Description};
use crate::network::ip::{checked_name, mac};
use serde::de::{Deserializer, Error};
use serde::Deserialize;
use serde_json::{Map, Value};

/// Most nodes and cables of a network: more than any machine has memory for.
const MOST: usize = 100_000;

/// The description on the command line: where the network is written.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetworkFile {
    /// Path of a JSON file.
    #[serde(deserialize_with = "text")]
    pub file: String,
}

/// A network: nodes, and the cables between them.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Network {
    /// The nodes.
    pub nodes: Vec<NetworkNode>,
    /// The cables.
    pub cables: Vec<Cable>,
}

/// A node.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetworkNode {
    /// Its name.
    #[serde(deserialize_with = "text")]
    pub name: String,
    /// Kernel options and their values, in order.
    #[serde(deserialize_with = "texts_in_order")]
    #[cfg_attr(test, schemars(with = "std::collections::BTreeMap<String, String>"))]
    pub sysctls: Vec<(String, String)>,
    /// Lines as of `ip -batch`.
    pub ip: Vec<String>,
    /// Interfaces whose segmentation offloads are switched off after that.
    pub interfaces: Vec<String>,
    /// Lines as of `tc -batch`.
    pub qdiscs: Vec<String>,
}

/// A cable: its two ends.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Cable {
    /// One of them.
    pub a: NetworkEnd,
    /// The other one.
    pub b: NetworkEnd,
}

/// One end of a cable.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct NetworkEnd {
    /// Its node.
    #[serde(deserialize_with = "text")]
    pub node: String,
    /// The name of its interface.
    pub interface: String,
    /// Its MAC address.
    #[serde(deserialize_with = "address")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub mac: [u8; 6],
}

/// What standard input asks for.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase", deny_unknown_fields)]
pub enum Order {
    /// Carry out changes at a time.
    Change {
        /// That time, ns of `CLOCK_REALTIME`.
        at_ns: i64,
        /// The changes, in order.
        changes: Vec<Change>,
    },
    /// Write the qdiscs of all nodes.
    Qdiscs {},
}

/// A change of links or routes.
#[derive(Debug, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(deny_unknown_fields)]
pub struct Change {
    /// The name of a node.
    #[serde(deserialize_with = "text")]
    pub node: String,
    /// Lines as of `ip -batch` and `tc -batch`.
    pub lines: Vec<String>,
}

impl Description for NetworkFile {}

impl Description for Network {
    fn check(&self) -> Result<(), String> {
        for (name, count) in [("nodes", self.nodes.len()), ("cables", self.cables.len())] {
            if count > MOST {
                return Err(format!("`{name}` has {count} entries, {MOST} at most"));
            }
        }
        let mut names: Vec<&str> = self.nodes.iter().map(|node| node.name.as_str()).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two nodes have the name `{twice}`"));
        }
        for interface in self.nodes.iter().flat_map(|node| &node.interfaces) {
            checked_name(interface, "interfaces")?;
        }
        for cable in &self.cables {
            checked_name(&cable.a.interface, "interface")?;
            checked_name(&cable.b.interface, "interface")?;
        }
        Ok(())
    }
}

impl Description for Order {
    const TAG: Option<&'static str> = Some("order");
}

fn texts_in_order<'de, D: Deserializer<'de>>(from: D) -> Result<Vec<(String, String)>, D::Error> {
    let text = |(name, value): (String, Value)| match value {
        Value::String(text) => Ok((name, text)),
        other => Err(D::Error::custom(format!("has {other} for `{name}`, not a text"))),
    };
    Map::<String, Value>::deserialize(from)?.into_iter().map(text).collect()
}

fn address<'de, D: Deserializer<'de>>(from: D) -> Result<[u8; 6], D::Error> {
    mac(&text(from)?).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::read;

    const GOOD: &str = r#"{"nodes": [
        {"name": "a", "sysctls": {"net.ipv4.ip_forward": "1"}, "ip": ["link set dev lo up"],
         "interfaces": ["a-eth0"], "qdiscs": []},
        {"name": "b", "sysctls": {}, "ip": [], "interfaces": [], "qdiscs": []}],
        "cables": [{"a": {"node": "a", "interface": "a-eth0", "mac": "02:00:0a:00:00:01"},
                    "b": {"node": "b", "interface": "b-eth0", "mac": "02:00:0a:00:00:02"}}]}"#;

    #[test]
    fn a_network_has_nodes_and_cables() {
        let network: Network = read(GOOD).unwrap();
        assert_eq!(network.nodes[0].sysctls, [("net.ipv4.ip_forward".into(), "1".into())]);
        assert_eq!(network.cables[0].b.mac, [2, 0, 10, 0, 0, 2]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            (r#""name": "b""#, r#""name": "a""#, "two nodes have the name `a`"),
            (r#""name": "a","#, "", "`nodes[0].name` is missing"),
            (r#"["a-eth0"]"#, r#"["a eth0"]"#, "`interfaces` is `a eth0`"),
            (r#""1"}"#, "1}", "`nodes[0].sysctls` has 1 for `net.ipv4.ip_forward`, not a text"),
            ("02:00:0a:00:00:02", "02:00:0a", "lladdr` is `02:00:0a`, not a MAC address"),
            (r#""qdiscs": []},"#, r#""qdiscs": [], "tc": 1},"#, "unknown field `tc`"),
        ] {
            let error = read::<Network>(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let order = read::<Order>(r#"{"order": "delete"}"#).unwrap_err();
        assert!(order.contains("`order`: unknown variant `delete`"), "{order}");
    }
}
