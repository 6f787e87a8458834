//! Loads that succeed.

use super::*;

#[test]
fn a_page_is_loaded_whole_and_once_in_the_order_of_its_graph() {
    let page = graph();
    let (server, client) = load("graph", &page, &page, &PROTOCOLS);
    assert_eq!((server.status, client.status), (0, 0), "{}", server.stderr);
    let loads = client.all("load");
    assert_eq!(client.one("done")["loads"], 3);
    for (load, protocol) in loads.iter().zip(PROTOCOLS) {
        assert_eq!((&load["error"], &load["status"]), (&json!(""), &json!(200)), "{load}");
        assert_eq!((&load["wanted"], &load["protocol"]), (&json!(protocol), &json!(protocol)));
        let resources = load["resources"].as_array().unwrap();
        assert_eq!(resources.len(), page.len());
        for (resource, object) in resources.iter().zip(&page) {
            for field in ["path", "bytes", "type"] {
                assert_eq!(resource[field], object[field]);
            }
            let steps = ["start_ns", "connect_start_ns", "connect_end_ns", "request_start_ns"];
            let rest = ["response_start_ns", "response_end_ns"];
            let times: Vec<i64> =
                steps.iter().chain(&rest).map(|name| number(resource, name)).collect();
            assert!(times.is_sorted(), "{resource}");
            let parent = object["parent"].as_u64().map(|parent| &resources[parent as usize]);
            let before =
                parent.map_or(number(load, "begin_ns"), |it| number(it, "response_end_ns"));
            assert!(before <= number(resource, "start_ns"), "{resource}");
            assert!(number(resource, "response_end_ns") <= number(load, "load_event_end_ns"));
        }
        let bytes: u64 = page.iter().map(|object| object["bytes"].as_u64().unwrap()).sum();
        assert_eq!(load["bytes"], bytes);
        assert_eq!(load["secure_start_ns"].is_null(), protocol == "h3");
        let connections =
            server.all("accepted").iter().filter(|it| it["protocol"] == protocol).count();
        assert_eq!(load["local_ports"].as_array().unwrap().len(), connections);
        assert!(connections == 1 || (protocol == "h1" && connections <= 6));
        let answers: Vec<_> =
            server.all("request").into_iter().filter(|it| it["protocol"] == protocol).collect();
        assert_eq!(answers.len(), page.len());
        for object in &page {
            let answer = answers.iter().find(|answer| answer["path"] == object["path"]).unwrap();
            assert_eq!((&answer["bytes"], &answer["status"]), (&object["bytes"], &json!(200)));
        }
    }
    for closed in server.all("closed") {
        assert_eq!(closed["error"], Value::Null);
    }
}

#[test]
fn every_connection_is_sampled_and_numbered_in_the_order_it_came() {
    let page = graph();
    let (server, _) = load("samples", &page, &page, &["h2", "h3"]);
    let accepted = server.all("accepted");
    for (index, (event, transport)) in accepted.iter().zip(["tcp", "quic"]).enumerate() {
        assert_eq!((&event["connection"], &event["transport"]), (&json!(index), &json!(transport)));
        assert!(event["peer"].as_str().unwrap().starts_with("127.0.0.1:"));
        let samples: Vec<_> =
            server.all("sample").into_iter().filter(|it| it["connection"] == index).collect();
        let window = if transport == "tcp" { "cwnd" } else { "cwnd_bytes" };
        assert!(!samples.is_empty() && samples.iter().all(|sample| sample[window].is_u64()));
        // The last one is taken at the end.
        let sent = number(samples[samples.len() - 1], "bytes_sent");
        assert!(sent > number(server.all("closed")[index], "bytes"));
    }
}

#[test]
fn without_quic_there_is_no_http_3() {
    let port = free_port();
    let page = one(1000, "text/html");
    let mut description = server("tcponly", port, &page);
    description["quic"] = Value::Null;
    let offering = Role::start_until("web-server", &description, "listening");
    let client = Role::start("web-client", &client("tcponly", port, &page, &["h3"])).end();
    assert!(reason(&client).contains("connecting: Connection refused"), "{}", reason(&client));
    offering.signal(libc::SIGTERM);
    assert_eq!(offering.end().one("listening")["quic"], Value::Null);
}

/// Passes the first connection to a port on to another port and says nothing on all others.
fn pass_on_the_first(from: TcpListener, to: u16) {
    std::thread::spawn(move || {
        let mut silent = Vec::new();
        let mut first = None;
        for stream in from.incoming().map_while(Result::ok) {
            if first.is_some() {
                silent.push(stream);
                continue;
            }
            let onward = TcpStream::connect((Ipv4Addr::LOCALHOST, to)).unwrap();
            for (mut from, mut to) in [
                (stream.try_clone().unwrap(), onward.try_clone().unwrap()),
                (onward, stream.try_clone().unwrap()),
            ] {
                std::thread::spawn(move || {
                    drop(std::io::copy(&mut from, &mut to));
                    drop(to.shutdown(Shutdown::Both));
                });
            }
            first = Some(stream);
        }
    });
}

#[test]
fn over_http_1_1_what_waits_for_a_new_connection_takes_an_old_one_that_is_free() {
    let mut page = one(5_000, "text/html");
    page.extend((0..9).map(|i| object(&format!("/{i}.png"), 2_000, "image/png", Some(0))));
    let front = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let (near, far) = (front.local_addr().unwrap().port(), free_port());
    let offering = Role::start_until("web-server", &server("late", far, &page), "listening");
    pass_on_the_first(front, far);
    let client = Role::start("web-client", &client("late", near, &page, &["h1"])).end();
    offering.signal(libc::SIGTERM);
    let offering = offering.end();
    let load = client.one("load");
    assert_eq!((&load["error"], &load["bytes"]), (&json!(""), &json!(23_000)), "{load}");
    assert_eq!(load["local_ports"].as_array().unwrap().len(), 6);
    assert_eq!((offering.status, client.status), (0, 0), "{}", offering.stderr);
}

#[test]
fn loads_begin_at_their_times() {
    let (port, page) = (free_port(), one(1000, "text/html"));
    let offering = Role::start_until("web-server", &server("times", port, &page), "listening");
    let mut description = client("times", port, &page, &["h2", "h3", "h1"]);
    description["starts_ns"] = json!([200_000_000]);
    description["workload"]["idle_ns"] = json!([999_000_000_000_i64, 50_000_000, 100_000_000]);
    let client = Role::start("web-client", &description).end();
    let mut earliest = 200_000_000;
    for (load, pause) in client.all("load").iter().zip([50_000_000, 100_000_000, 0]) {
        assert_eq!(load["error"], "");
        assert!(number(load, "begin_ns") >= earliest, "{load}");
        earliest = number(load, "t_ns") + pause;
    }
    drop(offering);
}

#[test]
fn loads_begin_by_the_clock_unless_the_one_before_is_late() {
    let (port, page) = (free_port(), one(1000, "text/html"));
    let offering = Role::start_until("web-server", &server("clock", port, &page), "listening");
    let mut description = client("clock", port, &page, &["h2", "h1", "h1", "h1"]);
    description["starts_ns"] = json!([200_000_000]);
    description["workload"]["idle_ns"] = json!([0, 0, 700_000_000, 0]);
    description["workload"]["every_ns"] = json!(300_000_000);
    let client = Role::start("web-client", &description).end();
    let loads = client.all("load");
    let begins: Vec<i64> = loads.iter().map(|load| number(load, "begin_ns")).collect();
    let third_ns = number(loads[1], "t_ns") + 700_000_000;
    let due = [200_000_000, 500_000_000, third_ns, number(loads[2], "t_ns")];
    for (begin_ns, due_ns) in begins.iter().zip(due) {
        // The third begins after its pause, after the time at which the fourth was due.
        assert!((due_ns..due_ns + 250_000_000).contains(begin_ns), "{begins:?} {due:?}");
    }
    drop(offering);
}

#[test]
fn many_connections_are_served_and_forgotten() {
    let mut page = one(2000, "text/html");
    page.extend((0..20).map(|number| object(&format!("/{number}"), 100, "image/png", Some(0))));
    // So many that what both write fits into the pipes, which are read at the end.
    let protocols: Vec<&str> = PROTOCOLS.iter().cycle().take(12).copied().collect();
    let (server, client) = load("many", &page, &page, &protocols);
    for load in client.all("load") {
        assert_eq!(load["error"], "", "{load}");
    }
    assert_eq!(client.one("done")["loads"], 12);
    let accepted = server.all("accepted").len();
    assert!((8 + 4..=8 + 24).contains(&accepted), "{accepted}");
    assert_eq!(server.all("closed").len(), accepted);
    assert_eq!(server.all("request").len(), 12 * page.len());
}
