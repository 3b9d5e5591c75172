//! Rules that can be made wrong, one at a time, to see whether a test notices.
//!
//! Each is a bug that somebody could write. Only the hook is wrong: the rest of the core goes on as
//! usual.

use core::fmt;
use core::str::FromStr;
use core::sync::atomic::{AtomicU8, Ordering};

macro_rules! rules {
    ($($rule:ident $name:literal $says:literal)*) => {
        /// A rule that is wrong.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
        pub enum Broken {
            $(#[doc = $says] $rule,)*
        }

        impl Broken {
            const ALL: &[(Broken, &str, &str)] = &[$((Broken::$rule, $name, $says),)*];
        }
    };
}

rules! {
    LimitOffByOne "limit-off-by-one" "One more item than `max_active` gets a slot; also while frozen."
    WaitersOvertaken "waiters-overtaken" "An item takes a free slot past those that wait for one."
    WaitingUnsaid "waiting-unsaid" "Who waits for a slot is in the list, but the word does not say so."
    TurnLost "turn-lost" "A pool that is told of its turn does nothing."
    CancelKeepsSlot "cancel-keeps-slot" "An item that is taken back keeps its slot."
    PlugIgnored "plug-ignored" "Items of an ordered queue begin before older ones have ended elsewhere."
    FifoOvertaken "fifo-overtaken" "What a worker of a FIFO queue was dealt stays with it while another one takes what is next."
    UnplugForgotten "unplug-forgotten" "Nobody lets the newer items begin when the older ones have ended."
    FreezeIgnored "freeze-ignored" "A frozen queue goes on."
    ReentrantInPool "reentrant-in-pool" "Nobody looks whether the item runs in the same pool."
    ReentrantAcrossPools "reentrant-across-pools" "Nobody looks whether the item runs in another pool."
    DeferralLost "deferral-lost" "The news that an execution has ended gets lost on its way to the item that waits for it."
    DisableIgnored "disable-ignored" "A disabled item can be queued."
    FlushEarly "flush-early" "A flush is over when the colour before its own is."
    DrainedEarly "drained-early" "A queue counts as drained while items of it wait for slots."
    TimerDropsItem "timer-drops-item" "A timer expires and its item is dropped."
    NoSpare "no-spare" "The worker that takes the last idle slot does not create a spare."
    TwoManagers "two-managers" "A worker creates another one while one is being created already."
    ThreadLimitIgnored "thread-limit-ignored" "Workers are made beyond the thread limit."
    SpawnFailureUnnoted "spawn-failure-unnoted" "A thread that could not be made counts as being made for ever."
    LastIdleCulled "last-idle-culled" "Idle workers are culled until none is left."
    WorkLeftBehind "work-left-behind" "A worker goes idle although an item waits, and tells nobody."
    WakeLost "wake-lost" "A worker is chosen and marked, and never woken."
    HintEndIgnored "hint-end-ignored" "An item that is back from a hint does not count as running."
    HogStaysCounted "hog-stays-counted" "An item that keeps the CPU of its pool goes on counting as running."
    TokenLeaked "token-leaked" "Tokens of the budget are not given back."
    HotplugIgnored "hotplug-ignored" "A per-CPU pool goes on as before when its CPU has gone."
    ExactIgnored "exact-ignored" "A limit that is to be exact is split among nodes."
    NodeShareIgnored "node-share-ignored" "Each node may use the whole limit of a queue."
    StrictIgnored "strict-ignored" "Workers of a strict queue leave its pod."
    RescuerNotCalled "rescuer-not-called" "Nobody calls rescuers."
    ClaimNotBusy "claim-not-busy" "Who looks whether an item runs does not see that somebody has claimed it."
    ClaimCountsTwice "claim-counts-twice" "A claim counts as running beside the item that it is in the middle of."
    ClaimNotGivenBack "claim-not-given-back" "A claim that is over keeps its number."
    ClaimLosesItems "claim-loses-items" "What stands behind a claimed item is not given to the workers."
    ClaimOfAnyKind "claim-of-any-kind" "Items of ordered queues are claimed."
    ClaimUnconfined "claim-unconfined" "A thread may leave the CPUs of the item that it has claimed."
    RescuerLeavesEarly "rescuer-leaves-early" "A rescuer leaves after its first item, though more wait that only it can run."
}

/// 0: none, otherwise one more than the rule's number.
#[cfg(not(test))]
static NOW: AtomicU8 = AtomicU8::new(0);

// Tests of this crate run side by side: each thread breaks its own.
#[cfg(test)]
std::thread_local! {
    static NOW: AtomicU8 = const { AtomicU8::new(0) };
}

#[cfg(not(test))]
fn with_now<R>(act: impl FnOnce(&AtomicU8) -> R) -> R {
    act(&NOW)
}

#[cfg(test)]
fn with_now<R>(act: impl FnOnce(&AtomicU8) -> R) -> R {
    NOW.with(act)
}

/// Breaks one rule for the whole process, or none. What runs while this changes sees either.
pub fn set(rule: Option<Broken>) {
    let word = rule.map_or(0, |rule| rule as u8 + 1);
    // Relaxed: whoever sets it starts what is to see it afterwards.
    with_now(|now| now.store(word, Ordering::Relaxed));
}

/// Whether this rule is broken.
pub fn is(rule: Broken) -> bool {
    // Relaxed: see `set`.
    with_now(|now| now.load(Ordering::Relaxed)) == rule as u8 + 1
}

impl Broken {
    /// All of them.
    pub fn all() -> impl Iterator<Item = Broken> {
        Broken::ALL.iter().map(|&(rule, ..)| rule)
    }

    /// Its name, in kebab-case.
    pub fn name(self) -> &'static str {
        Broken::ALL[self as usize].1
    }

    /// What is wrong then: one sentence.
    pub fn says(self) -> &'static str {
        Broken::ALL[self as usize].2
    }
}

/// No rule has this name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NoSuchRule;

impl fmt::Display for NoSuchRule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("no rule to break has this name; there are: ")?;
        Broken::all().enumerate().try_for_each(|(at, rule)| {
            let comma = if at == 0 { "" } else { ", " };
            write!(f, "{comma}{}", rule.name())
        })
    }
}

impl core::error::Error for NoSuchRule {}

impl FromStr for Broken {
    type Err = NoSuchRule;

    fn from_str(name: &str) -> Result<Broken, NoSuchRule> {
        Broken::all()
            .find(|rule| rule.name() == name)
            .ok_or(NoSuchRule)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::string::ToString;

    #[test]
    fn rules_are_found_by_their_names() {
        for (at, rule) in Broken::all().enumerate() {
            assert_eq!((rule as usize, rule.name().parse()), (at, Ok(rule)));
        }
        let error = "nothing".parse::<Broken>().unwrap_err().to_string();
        assert!(error.contains("limit-off-by-one, "), "{error}");
    }
}
