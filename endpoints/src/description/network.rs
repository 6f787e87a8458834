//! What the role `network` is asked to do: a file with a whole network, then orders.

use super::Description;
use crate::json::Fields;
use crate::network::ip::{checked_name, mac};

/// Most nodes and cables of a network: more than any machine has memory for.
const MOST: usize = 100_000;

/// The description on the command line: where the network is written.
#[derive(Debug)]
pub struct NetworkFile {
    /// Path of a JSON file.
    pub file: String,
}

/// A network: nodes, and the cables between them.
#[derive(Debug)]
pub struct Network {
    /// The nodes.
    pub nodes: Vec<NetworkNode>,
    /// The two ends of each cable.
    pub cables: Vec<[NetworkEnd; 2]>,
}

/// A node.
#[derive(Debug)]
pub struct NetworkNode {
    /// Its name.
    pub name: String,
    /// Kernel options and their values, in order.
    pub sysctls: Vec<(String, String)>,
    /// Lines as of `ip -batch`.
    pub ip: Vec<String>,
    /// Interfaces whose segmentation offloads are switched off after that.
    pub interfaces: Vec<String>,
    /// Lines as of `tc -batch`.
    pub qdiscs: Vec<String>,
}

/// One end of a cable.
#[derive(Debug)]
pub struct NetworkEnd {
    /// Its node.
    pub node: String,
    /// The name of its interface.
    pub interface: String,
    /// Its MAC address.
    pub mac: [u8; 6],
}

/// What standard input asks for.
#[derive(Debug)]
pub enum Order {
    /// Carry out lines in a node.
    Change {
        /// Its name.
        node: String,
        /// Lines as of `ip -batch` and `tc -batch`.
        lines: Vec<String>,
    },
    /// Write the qdiscs of all nodes.
    Qdiscs,
}

impl Description for NetworkFile {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        Ok(NetworkFile { file: fields.text("file")? })
    }
}

impl Description for Network {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        let nodes =
            several(fields, "nodes")?.into_iter().map(node).collect::<Result<Vec<_>, _>>()?;
        let mut names: Vec<&str> = nodes.iter().map(|node| node.name.as_str()).collect();
        names.sort_unstable();
        if let Some([twice, _]) = names.windows(2).find(|pair| pair[0] == pair[1]) {
            return Err(format!("two nodes have the name `{twice}`"));
        }
        let cables = several(fields, "cables")?.into_iter().map(|mut cable| {
            let ends = [end(cable.object("a")?)?, end(cable.object("b")?)?];
            cable.end().map(|()| ends)
        });
        Ok(Network { cables: cables.collect::<Result<Vec<_>, String>>()?, nodes })
    }
}

fn several(fields: &mut Fields, name: &str) -> Result<Vec<Fields>, String> {
    let all = fields.objects(name)?;
    if all.len() > MOST {
        return Err(format!("{} has {} entries, {MOST} at most", fields.name(name), all.len()));
    }
    Ok(all)
}

fn node(mut fields: Fields) -> Result<NetworkNode, String> {
    let interfaces = fields.texts("interfaces")?;
    for interface in &interfaces {
        checked_name(interface, "interfaces")?;
    }
    let sysctls = fields.object("sysctls")?.rest().into_iter().map(|(name, value)| {
        let text = value.as_str().map(str::to_owned);
        text.map(|text| (name.clone(), text)).ok_or_else(|| format!("`{name}` is not a string"))
    });
    let node = NetworkNode {
        name: fields.text("name")?,
        sysctls: sysctls.collect::<Result<_, _>>()?,
        ip: fields.texts("ip")?,
        interfaces,
        qdiscs: fields.texts("qdiscs")?,
    };
    fields.end().map(|()| node)
}

fn end(mut fields: Fields) -> Result<NetworkEnd, String> {
    let end = NetworkEnd {
        node: fields.text("node")?,
        interface: checked_name(&fields.text("interface")?, "interface")?.to_owned(),
        mac: mac(&fields.text("mac")?)?,
    };
    fields.end().map(|()| end)
}

impl Description for Order {
    fn take(fields: &mut Fields) -> Result<Self, String> {
        match fields.text("order")?.as_str() {
            "change" => {
                Ok(Order::Change { node: fields.text("node")?, lines: fields.texts("lines")? })
            }
            "qdiscs" => Ok(Order::Qdiscs),
            other => Err(format!("`order` is `{other}`, not `change` or `qdiscs`")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::read;
    use super::*;

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
        assert_eq!(network.cables[0][1].mac, [2, 0, 10, 0, 0, 2]);
    }

    #[test]
    fn what_is_wrong_is_named() {
        for (from, to, message) in [
            (r#""name": "b""#, r#""name": "a""#, "two nodes have the name `a`"),
            (r#""name": "a","#, "", "`nodes[0].name` is missing"),
            (r#"["a-eth0"]"#, r#"["a eth0"]"#, "`interfaces` is `a eth0`"),
            (r#""1"}"#, "1}", "`net.ipv4.ip_forward` is not a string"),
            ("02:00:0a:00:00:02", "02:00:0a", "`lladdr` is `02:00:0a`, not a MAC address"),
            (r#""qdiscs": []},"#, r#""qdiscs": [], "tc": 1},"#, "unknown field `nodes[0].tc`"),
        ] {
            let error = read::<Network>(&GOOD.replacen(from, to, 1)).unwrap_err();
            assert!(error.contains(message), "{error}");
        }
        let order = read::<Order>(r#"{"order": "delete"}"#).unwrap_err();
        assert!(order.contains("`order` is `delete`"), "{order}");
    }
}
