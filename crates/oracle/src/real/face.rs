//! What carries a script's calls out: an interface in some language.

use std::sync::Arc;

use crate::actor::{Answer, Play};
use crate::op::{Call, Name};

/// Calls an item's function by its name.
pub type Execute = Arc<dyn Fn(&Name) + Send + Sync>;

/// Makes a face for one run.
pub type MakeFace = fn(Run) -> Box<dyn Face>;

/// One run, as a face sees it.
#[derive(Clone)]
pub struct Run {
    /// The scenario.
    pub id: String,
    /// The play; misuse is told to it.
    pub play: Play,
    /// All times are so many times as long.
    pub stretch: u64,
    /// The names of the script's items.
    pub items: Vec<Name>,
    /// What each item's function does.
    pub execute: Execute,
    pub(super) places: super::places::CpuPairs,
}

impl Run {
    /// The CPU of this machine that plays this one of the script.
    pub fn cpu(&self, cpu: u32) -> usize {
        self.places.ours(cpu)
    }
}

/// The queues and items of one run, behind an interface.
pub trait Face: Send + Sync {
    /// Carries out a call of the script, but for what the harness does by itself: [`Call::Pin`],
    /// [`Call::Cpu`] and [`Call::Comm`].
    fn call(&self, call: Call) -> Answer;

    /// Runs `wait`, which blocks, so that another worker may start.
    fn blocking(&self, wait: &mut dyn FnMut());

    /// All latches are open: what is left of items ends, at the latest when this is dropped.
    fn end(&self);
}
