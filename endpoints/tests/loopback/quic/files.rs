//! The files that a server leaves: qlog and TLS secrets.

use super::*;

#[test]
fn a_qlog_file_is_whole_and_every_record_parses() {
    let port = free_port();
    let mut serving = server(port, 2, &file(300_000));
    serving["qlog"] = json!(true);
    serving["cca"] = json!({"name": "bbr3", "parameters": {}});
    let (server, _) = run(&serving, &client(port, 2, &file(300_000)));
    let traced = server.one("traced");
    assert_eq!(traced["file"], format!("f{port}.server.sqlog"));
    let text = fs::read_to_string(left_by(port, "server.sqlog")).expect("a file");
    assert_eq!(traced["bytes"], text.len());
    let records = qlog_records(&text).expect("whole");
    assert_eq!(records[0]["qlog_format"], "JSON-SEQ");
    assert_eq!(records[0]["qlog_version"], "0.3");
    assert!(records[0]["trace"]["vantage_point"].is_object());
    let named = |name: &str| records.iter().filter(|one| one["name"] == name).count() as u64;
    let sent: u64 = numbers(&server.all("sample"), "packets_sent").iter().sum();
    assert!(named("transport:packet_sent") >= sent, "every packet is there");
    assert!(named("recovery:metrics_updated") > 0);
    let mut connections: Vec<&str> =
        records[1..].iter().map(|one| one["group_id"].as_str().expect("an id")).collect();
    connections.sort_unstable();
    connections.dedup();
    assert_eq!(connections.len(), 2);
    // Every change of the controller's state, with its connection: they begin in Startup.
    let states: Vec<&Value> =
        records.iter().filter(|one| one["name"] == "recovery:congestion_state_updated").collect();
    let begun = states.iter().filter(|one| one["data"]["old"].is_null());
    assert_eq!(begun.map(|one| &one["data"]["new"]).collect::<Vec<_>>(), ["startup"; 2]);
    for connection in connections {
        let mut last = &Value::Null;
        for one in states.iter().filter(|one| one["group_id"] == connection) {
            assert_eq!(&one["data"]["old"], last, "{one}");
            last = &one["data"]["new"];
        }
    }
    // What is cut off does not pass for whole: neither within a record nor, by its length, between.
    assert!(qlog_records(&text[..text.len() - 10]).is_none());
}

/// The records of a JSON-SEQ text (RFC 7464); None if one of them is not whole.
fn qlog_records(text: &str) -> Option<Vec<Value>> {
    let parts = text.strip_prefix('\u{1e}')?.split('\u{1e}');
    parts.map(|part| serde_json::from_str(part.strip_suffix('\n')?).ok()).collect()
}

#[test]
fn secrets_are_logged_for_every_connection() {
    let port = free_port();
    run(&server(port, 2, &file(1)), &client(port, 2, &file(1)));
    let text = fs::read_to_string(left_by(port, "keys")).expect("a file");
    for label in [
        "CLIENT_HANDSHAKE_TRAFFIC_SECRET",
        "SERVER_HANDSHAKE_TRAFFIC_SECRET",
        "CLIENT_TRAFFIC_SECRET_0",
        "SERVER_TRAFFIC_SECRET_0",
    ] {
        let lines: Vec<&str> = text.lines().filter(|line| line.starts_with(label)).collect();
        assert_eq!(lines.len(), 2, "{text}");
        for line in lines {
            let [_, random, secret] = line.split(' ').collect::<Vec<_>>()[..] else {
                panic!("three words: {line}");
            };
            assert_eq!((random.len(), secret.len()), (64, 64));
        }
    }
}
