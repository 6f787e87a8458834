//! What is due when: many times on one timer of the kernel.

use crate::clock::{Clock, Timer};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

/// Things with the times at which they are due. Those of one time come in the order of `T`.
#[derive(Debug)]
pub struct Agenda<T> {
    timer: Timer,
    things: BinaryHeap<Reverse<(i64, T)>>,
    /// When the timer fires, if it is armed.
    armed_ns: Option<i64>,
}

impl<T: Ord> Agenda<T> {
    /// An empty agenda.
    pub fn new(clock: Clock) -> io::Result<Self> {
        Ok(Agenda { timer: Timer::new(clock)?, things: BinaryHeap::new(), armed_ns: None })
    }

    /// Notes a thing for `at_ns` after the epoch. `arm` has to follow before the program waits.
    pub fn put(&mut self, at_ns: i64, thing: T) {
        self.things.push(Reverse((at_ns, thing)));
    }

    /// Makes the timer fire when the first thing is due. It costs a system call only if that is
    /// another time than before.
    pub fn arm(&mut self) -> io::Result<()> {
        let first_ns = self.things.peek().map(|Reverse((at_ns, _))| *at_ns);
        if let Some(at_ns) = first_ns.filter(|at_ns| self.armed_ns != Some(*at_ns)) {
            self.timer.once(at_ns)?;
            self.armed_ns = Some(at_ns);
        }
        Ok(())
    }

    /// Takes note of having fired; false if it has not.
    pub fn fired(&mut self) -> io::Result<bool> {
        let fired = self.timer.fired()?;
        if fired {
            self.armed_ns = None;
        }
        Ok(fired)
    }

    /// Takes out the first thing that is due at `now_ns`, with its time.
    pub fn due(&mut self, now_ns: i64) -> Option<(i64, T)> {
        let Reverse((at_ns, _)) = self.things.peek()?;
        if *at_ns > now_ns {
            return None;
        }
        self.things.pop().map(|Reverse(entry)| entry)
    }
}

impl<T> AsFd for Agenda<T> {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.timer.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn things_come_by_time_and_then_by_order() {
        let mut agenda = Agenda::new(Clock::new(0)).unwrap();
        for (at_ns, thing) in [(7, "c"), (5, "b"), (5, "a"), (9, "d")] {
            agenda.put(at_ns, thing);
        }
        let due: Vec<_> = std::iter::from_fn(|| agenda.due(7)).collect();
        assert_eq!(due, [(5, "a"), (5, "b"), (7, "c")]);
        assert_eq!(agenda.due(8), None);
    }

    #[test]
    fn it_fires_when_the_first_is_due_and_again_only_when_armed_again() {
        let mut agenda = Agenda::new(Clock::new(crate::clock::realtime_ns())).unwrap();
        agenda.arm().unwrap();
        assert!(!agenda.fired().unwrap());
        agenda.put(i64::MAX / 2, 1);
        agenda.arm().unwrap();
        assert!(!agenda.fired().unwrap());
        agenda.put(-1, 0);
        agenda.arm().unwrap();
        assert!(agenda.fired().unwrap() && !agenda.fired().unwrap());
        // What was not taken out is still due.
        agenda.arm().unwrap();
        assert!(agenda.fired().unwrap());
    }
}
