//! Memory for the jobs: reads what [`memory::Memory`] wants to know, and keeps to what it says.

use cmwq_admission::memory::{self, Admit, Kills};
use cmwq_os::clock;
use cmwq_os::memory::Memory as Files;
use cmwq_os::observe::tree::{Resident, Tree, one_look};
use cmwq_os::usage::{self, Rusage};
use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// Memory that jobs are not to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MinFree {
    Bytes(u64),
    /// Of all there is, 0 to 100.
    Percent(u8),
}

impl MinFree {
    fn bytes(self, total: u64) -> u64 {
        match self {
            Self::Bytes(bytes) => bytes,
            Self::Percent(percent) => total / 100 * u64::from(percent),
        }
    }
}

impl FromStr for MinFree {
    type Err = String;

    /// `5%`, or bytes with K, M, G or T for powers of 1024.
    fn from_str(text: &str) -> Result<Self, String> {
        let bad = || "expected a size (1048576, 512M, 2G) or a part (0% to 100%)".to_owned();
        if let Some(percent) = text.strip_suffix('%') {
            let percent = percent.parse().ok().filter(|&percent| percent <= 100);
            return percent.map(Self::Percent).ok_or_else(bad);
        }
        let unit = text
            .chars()
            .last()
            .and_then(|unit| "KMGT".find(unit.to_ascii_uppercase()));
        let digits = match unit {
            Some(_) => &text[..text.len() - 1],
            None => text,
        };
        let shift = unit.map_or(0, |at| 10 * (at as u32 + 1));
        let number: u64 = digits.parse().map_err(|_| bad())?;
        let bytes = number.checked_mul(1 << shift);
        bytes.map(Self::Bytes).ok_or_else(bad)
    }
}

/// What is known of the jobs' memory.
pub(super) struct Memory {
    files: Files,
    state: Mutex<State>,
}

struct State {
    policy: memory::Memory,
    /// Running jobs by the number of their line.
    trees: BTreeMap<u64, Tree>,
    kills: Kills,
}

impl Memory {
    pub(super) fn new(min_free: MinFree) -> Self {
        let files = Files::find(Path::new("/"));
        let keep_free = min_free.bytes(files.total().unwrap_or(0));
        let state = State {
            policy: memory::Memory::new(keep_free, cmwq::cpus() as u32),
            trees: BTreeMap::new(),
            kills: Kills::since(files.kills()),
        };
        Self {
            files,
            state: Mutex::new(state),
        }
    }

    /// Lets the job of line `sequence` start. Else there is no memory for it: how long to wait
    /// before asking again, unless a job ends, and how many run.
    pub(super) fn admit(&self, sequence: u64) -> Result<(), (Duration, usize)> {
        let mut state = self.lock();
        loop {
            match state.policy.may_start(clock::now()) {
                Admit::Start => {
                    state.policy.started(sequence, clock::now());
                    return Ok(());
                }
                Admit::Read => self.read(&mut state),
                Admit::Wait(nanos) => {
                    return Err((Duration::from_nanos(nanos), state.policy.running()));
                }
            }
        }
    }

    /// The job that was let start is this process.
    pub(super) fn started(&self, sequence: u64, pid: u32) {
        let leader = i32::try_from(pid).unwrap_or(0);
        self.lock().trees.insert(sequence, Tree::new(leader));
    }

    /// The job that was let start could not.
    pub(super) fn not_started(&self, sequence: u64) {
        self.lock().policy.not_started(sequence);
    }

    /// The leader of the job is dead, has run for `ran` ns and used so much.
    pub(super) fn ended(&self, sequence: u64, ran: u64, used: &Rusage) {
        let bytes = |used: &Rusage| used.max_rss_kib.saturating_mul(1024);
        let (peak, own) = (bytes(used), bytes(&usage::process()));
        let mut state = self.lock();
        state.trees.remove(&sequence);
        state.policy.ended(sequence, ran, peak, own);
    }

    /// Whether the kernel has killed for want of memory since we began, more often than jobs were
    /// found to have been: asked for a job that was killed, which counts as one of them then.
    pub(super) fn has_killed(&self) -> bool {
        let now = self.files.kills();
        self.lock().kills.is_one(&now)
    }

    fn read(&self, state: &mut State) {
        let begun = clock::now();
        one_look(|| {
            for sequence in state.policy.sizes_to_read() {
                if let Some(tree) = state.trees.get_mut(&sequence) {
                    let Resident { all, anonymous } = tree.resident();
                    state.policy.is_now(sequence, all, anonymous);
                }
            }
        });
        let headroom = self.files.headroom().map_or(u64::MAX, |left| left.bytes);
        let now = clock::now();
        state.policy.read(now, headroom, now.since(begun));
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_and_parts() {
        let parsed = |text: &str| text.parse::<MinFree>().ok();
        assert_eq!(parsed("0"), Some(MinFree::Bytes(0)));
        assert_eq!(parsed("12k"), Some(MinFree::Bytes(12 << 10)));
        assert_eq!(parsed("3G"), Some(MinFree::Bytes(3 << 30)));
        assert_eq!(parsed("16777215T"), Some(MinFree::Bytes(16_777_215 << 40)));
        assert_eq!(parsed("100%"), Some(MinFree::Percent(100)));
        for bad in [
            "",
            "%",
            "K",
            "101%",
            "-1",
            "5.5G",
            "1 G",
            "16777216T",
            "5KB",
            "\u{e4}",
        ] {
            assert_eq!(parsed(bad), None, "{bad}");
        }
        assert_eq!(MinFree::Percent(5).bytes(2_000), 100);
    }

    #[test]
    fn a_job_is_known_until_it_ends() {
        let memory = Memory::new(MinFree::Percent(0));
        let mut child = std::process::Command::new("true").spawn().unwrap();
        assert!(memory.admit(7).is_ok());
        memory.started(7, child.id());
        assert!(memory.admit(8).is_ok());
        memory.not_started(8);
        let used = i32::try_from(child.id()).ok().and_then(usage::ended_child);
        memory.ended(7, 1_000_000, &used.unwrap_or_default());
        child.wait().unwrap();
        let state = memory.lock();
        assert_eq!((state.policy.running(), state.trees.len()), (0, 0));
    }
}
