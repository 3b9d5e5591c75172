//! How much CPU time looks may take.
//!
//! Looks say most when the jobs are new, so some of it may be taken before it is earned. What CPUs
//! idle costs nobody anything, and it is where CPUs idle that more jobs should run: so part of it
//! may go into looks as well.

use cmwq_policy::time::{MILLISECOND, Nanos, Time};

/// One part of so many of the time: 1.6 % of one CPU.
const COST_PART: u64 = 64;
/// One part of so many of what the CPUs have idled.
const IDLE_PART: u64 = 8;
/// So much may be taken before.
const CREDIT: Nanos = 8 * MILLISECOND;

/// What looks have taken, and what they may.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Allowance {
    /// Taken and not earned yet, and when that was reckoned last.
    debt: Nanos,
    paid: Time,
    /// What the CPUs had idled at the last look, and since the one before that.
    idled: Option<Nanos>,
    idle: Nanos,
}

impl Allowance {
    /// The CPUs have idled for so long in all since some moment.
    pub(crate) fn idled(&mut self, idled: Nanos) {
        let before = self.idled.replace(idled).unwrap_or(idled);
        self.idle += idled.saturating_sub(before);
    }

    /// A look is over `now` and took so much CPU time. How long until the next one may begin.
    pub(crate) fn took(&mut self, now: Time, took: Nanos) -> Nanos {
        let passed = now.since(self.paid);
        self.paid = now;
        let earned = passed / COST_PART + core::mem::take(&mut self.idle) / IDLE_PART;
        self.debt = self.debt.saturating_sub(earned).saturating_add(took);
        let beyond = self.debt.saturating_sub(CREDIT);
        beyond.saturating_mul(COST_PART)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_policy::time::SECOND;

    const TOOK: Nanos = 2 * MILLISECOND;
    const LEAST: Nanos = 15 * MILLISECOND;

    /// What looks of 2 ms take in 10 s while so many parts of 1,000 of two CPUs idle.
    fn taken(idle: u64) -> Nanos {
        let mut allowance = Allowance::default();
        let mut now = Time(SECOND);
        let mut looks = 0;
        while now < Time(11 * SECOND) {
            allowance.idled(2 * now.0 / 1000 * idle);
            now = now.after(TOOK);
            looks += 1;
            let pause = allowance.took(now, TOOK);
            assert!(looks > 4 || pause == 0, "{looks}");
            now = now.after(pause.max(LEAST));
        }
        looks * TOOK
    }

    #[test]
    fn looks_cost_little() {
        let earned = 10 * SECOND / COST_PART + CREDIT;
        let taken = taken(0);
        assert!(taken <= earned + TOOK && taken >= earned * 3 / 4, "{taken}");
    }

    #[test]
    fn looks_take_of_what_idles() {
        let as_often_as_may_be = 10 * SECOND / (TOOK + LEAST) * TOOK;
        assert!(taken(900) >= as_often_as_may_be * 9 / 10);
        let earned = 10 * SECOND / COST_PART + CREDIT + 2 * 10 * SECOND / 100 / IDLE_PART;
        assert!(taken(10) <= earned + TOOK && taken(10) > taken(0));
    }

    #[test]
    fn a_count_that_goes_back_earns_nothing() {
        let mut allowance = Allowance::default();
        allowance.idled(SECOND);
        allowance.idled(0);
        let debt = 20 * MILLISECOND;
        assert_eq!(allowance.took(Time(0), CREDIT + debt), debt * COST_PART);
    }
}
