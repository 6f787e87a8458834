//! What waiting takes: sleep, wake, poll, busy, yield, in us.
use std::net::UdpSocket;
use std::sync::atomic::{AtomicBool, Ordering::SeqCst};
use std::sync::mpsc::channel;
use std::thread::{sleep, spawn, yield_now};
use std::time::{Duration, Instant};

static SPUN: AtomicBool = AtomicBool::new(false);

fn say(name: &str, since: Instant) {
    println!("{name} {}", since.elapsed().as_micros());
}

fn main() {
    let t = Instant::now();
    sleep(Duration::from_millis(20));
    say("sleep", t);

    let t = Instant::now();
    let (tell, told) = channel();
    let thread = spawn(move || {
        sleep(Duration::from_millis(20));
        tell.send(()).unwrap();
    });
    told.recv().unwrap();
    say("wake", t);
    thread.join().unwrap();

    let t = Instant::now();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(30))).unwrap();
    socket.recv(&mut [0]).unwrap_err();
    say("poll", t);

    let t = Instant::now();
    while t.elapsed() < Duration::from_millis(5) {}
    say("busy", t);

    let t = Instant::now();
    let thread = spawn(|| {
        sleep(Duration::from_millis(5));
        SPUN.store(true, SeqCst);
    });
    while !SPUN.load(SeqCst) {
        yield_now();
    }
    say("yield", t);
    thread.join().unwrap();
}
