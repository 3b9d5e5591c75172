//! What the threads of one run have in common: names, places, and by how much times are longer.

use super::places::CpuPairs;
use crate::actor::Play;
use crate::op::Name;
use cmwq::{DelayedWork, Workqueue};
use std::collections::BTreeMap;
use std::sync::Mutex;

pub(super) struct Stage {
    pub(super) play: Play,
    pub(super) places: CpuPairs,
    /// All times are so many times as long.
    pub(super) stretch: u64,
    pub(super) items: Mutex<BTreeMap<Name, DelayedWork>>,
    pub(super) queues: Mutex<BTreeMap<Name, Workqueue>>,
}
