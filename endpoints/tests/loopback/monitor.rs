//! The CPU monitor.

use crate::common::{now_ns, Role};

#[test]
fn lines_come_at_the_epoch_and_at_multiples_of_the_period_until_sigterm() {
    const EVERY_NS: i64 = 20_000_000;
    let epoch_ns = now_ns() + 50_000_000;
    let role = Role::start_at("monitor", epoch_ns, &format!(r#"{{"every_ns": {EVERY_NS}}}"#));
    crate::common::wait_until(|| now_ns() > epoch_ns + 5 * EVERY_NS);
    role.signal(libc::SIGTERM);
    let ended = role.end();
    assert_eq!(ended.status, 0);
    assert!(ended.events.len() >= 2, "{:?}", ended.events);
    let number = |index: usize, name: &str| ended.events[index][name].as_i64().expect("a number");
    assert_eq!((number(0, "busy_ns"), number(0, "total_ns")), (0, 0));
    let cpus = std::thread::available_parallelism().expect("CPUs").get();
    for index in 1..ended.events.len() {
        let passed = number(index, "t_ns") - number(index - 1, "t_ns");
        // A container may be allowed fewer CPUs than the machine has.
        assert!(number(index, "total_ns") >= passed * i64::try_from(cpus).unwrap());
        assert!(number(index, "busy_ns") >= 0);
        assert!(number(index, "t_ns") >= 0, "nothing before the epoch");
    }
}
