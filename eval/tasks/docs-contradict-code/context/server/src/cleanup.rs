//! Removes what is too old. Runs once in an hour.

use std::time::{Duration, SystemTime};

use crate::store::{Kind, Store};

const HOUR: u64 = 60 * 60;

/// How long something is kept after the run that made it.
fn kept_for(kind: Kind) -> Duration {
    let hours = match kind {
        Kind::Log => 720,
        Kind::Artifact => 336,
        Kind::Cache => 168,
    };
    Duration::from_secs(hours * HOUR)
}

pub fn clean_up(store: &mut Store, now: SystemTime) {
    for kind in [Kind::Log, Kind::Artifact, Kind::Cache] {
        store.remove_older_than(kind, now - kept_for(kind));
    }
}
