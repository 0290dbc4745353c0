//! What lies on the disk.

use std::time::SystemTime;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Log,
    Artifact,
    Cache,
}

pub struct Entry {
    pub kind: Kind,
    pub made: SystemTime,
}

#[derive(Default)]
pub struct Store {
    entries: Vec<Entry>,
}

impl Store {
    pub fn remove_older_than(&mut self, kind: Kind, time: SystemTime) {
        self.entries.retain(|entry| entry.kind != kind || entry.made >= time);
    }
}
