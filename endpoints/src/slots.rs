//! A table of things that come and go, by number.
//!
//! A number that was given up is used again, but not before `turn`: an event that was reported in
//! the same wake-up as the end of its thing must not reach another thing.

/// The table.
#[derive(Debug)]
pub struct Slots<T> {
    things: Vec<Option<T>>,
    free: Vec<usize>,
    given_up: Vec<usize>,
}

impl<T> Slots<T> {
    /// An empty table.
    #[must_use]
    pub fn new() -> Self {
        Slots { things: Vec::new(), free: Vec::new(), given_up: Vec::new() }
    }

    /// Number of a slot that is free, to be filled by `put`.
    pub fn reserve(&mut self) -> usize {
        self.free.pop().unwrap_or_else(|| {
            self.things.push(None);
            self.things.len() - 1
        })
    }

    /// Puts a thing into its slot.
    pub fn put(&mut self, slot: usize, thing: T) {
        self.things[slot] = Some(thing);
    }

    /// Takes a thing out of its slot, which stays its own until it is put back or the slot given
    /// up.
    pub fn take(&mut self, slot: usize) -> Option<T> {
        self.things.get_mut(slot).and_then(Option::take)
    }

    /// Gives a slot up, whose thing has been taken out.
    pub fn give_up(&mut self, slot: usize) {
        self.given_up.push(slot);
    }

    /// Begins a new turn: from now on what was given up may be used again.
    pub fn turn(&mut self) {
        self.free.append(&mut self.given_up);
    }

    /// All numbers so far are below this.
    #[must_use]
    pub fn len(&self) -> usize {
        self.things.len()
    }

    /// All things.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.things.iter().flatten()
    }

    /// Empties the table.
    pub fn drain(&mut self) -> impl Iterator<Item = T> {
        self.free.clear();
        self.given_up.clear();
        std::mem::take(&mut self.things).into_iter().flatten()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_used_again_in_the_next_turn() {
        let mut slots = Slots::new();
        let (a, b) = (slots.reserve(), slots.reserve());
        slots.put(a, "a");
        slots.put(b, "b");
        assert_eq!(slots.take(a), Some("a"));
        slots.give_up(a);
        assert_eq!((slots.take(a), slots.reserve()), (None, 2));
        slots.turn();
        assert_eq!(slots.reserve(), a);
        slots.put(a, "c");
        assert_eq!(slots.iter().copied().collect::<Vec<_>>(), ["c", "b"]);
        assert_eq!(slots.drain().count(), 2);
        assert_eq!((slots.take(b), slots.reserve()), (None, 0));
    }
}
