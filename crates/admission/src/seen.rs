//! What one look shows of a job.

/// What a look showed of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Chosen by the caller.
    pub job: u64,
    /// Its threads that want a CPU.
    pub runnable: u64,
    /// Some thread of it waits for a disk, or cannot be interrupted for another reason.
    pub loads: bool,
    /// If all of it sleeps for a time of its own choosing.
    pub naps: Option<Nap>,
}

/// How a job sleeps that nobody but a clock will wake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Nap {
    /// How often it has woken up.
    pub wakes: u64,
    /// A file that it has open to read and to write.
    pub file: Option<u64>,
}

impl Seen {
    /// It wants no CPU, and is not about to.
    pub fn is_asleep(&self) -> bool {
        self.runnable == 0 && !self.loads
    }
}
