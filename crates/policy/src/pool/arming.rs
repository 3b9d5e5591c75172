//! When canaries are armed. Hysteresis keeps their cost from growing with the rate of items.
//!
//! Items that wait only until some worker ends, for microseconds, are no reason to wake a thread on
//! every idle CPU: they are taken before it has looked. What came of the last arming tells whether
//! a pool's backlog is of that kind. If no report led to a start before the backlog was gone, twice
//! as much must wait the next time. A report that led to a start halves it. No more than a part of
//! the target must ever wait, so on few CPUs every item arms. The tick looks in any case.

/// No more than one item for so many CPUs must wait.
const CPUS_PER_ITEM: u32 = 2;

/// The state of one pool's arming.
#[derive(Clone, Copy, Debug)]
pub(super) struct Arming {
    /// Items that must wait for canaries to be armed.
    needs: u32,
    on: bool,
    /// A report has led to a start since they were armed.
    paid: bool,
}

impl Default for Arming {
    fn default() -> Self {
        Arming {
            needs: 1,
            on: false,
            paid: false,
        }
    }
}

impl Arming {
    /// So many items wait that nobody is on the way to.
    pub(super) fn update(&mut self, spare: u32, target: u32) {
        let most = (target / CPUS_PER_ITEM).max(1);
        match self.on {
            true if spare == 0 => self.disarm(most),
            false if spare >= self.needs.min(most) => (self.on, self.paid) = (true, false),
            _ => (),
        }
    }

    fn disarm(&mut self, most: u32) {
        self.on = false;
        self.needs = match self.paid {
            true => self.needs,
            false => (2 * self.needs).min(most),
        };
    }

    /// A report has led to a start.
    pub(super) fn paid(&mut self) {
        self.paid = true;
        self.needs = (self.needs / 2).max(1);
    }

    /// Whether reports are asked for.
    pub(super) fn is_on(&self) -> bool {
        self.on
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Some items wait, and then none; whether canaries were armed for that.
    fn wave(arming: &mut Arming, spare: u32) -> bool {
        arming.update(spare, 16);
        let armed = arming.is_on();
        arming.update(0, 16);
        assert!(!arming.is_on());
        armed
    }

    #[test]
    fn what_nobody_reports_to_needs_more_the_next_time() {
        let mut arming = Arming::default();
        assert!(wave(&mut arming, 1));
        assert!(!wave(&mut arming, 1) && wave(&mut arming, 2));
        assert!(!wave(&mut arming, 3) && wave(&mut arming, 4));
        assert!(!wave(&mut arming, 7) && wave(&mut arming, 8));
        assert!(wave(&mut arming, 8), "an item for two CPUs is enough");
    }

    #[test]
    fn a_report_that_pays_needs_less() {
        let mut arming = Arming::default();
        wave(&mut arming, 1);
        wave(&mut arming, 2);
        arming.update(4, 16);
        arming.paid();
        arming.paid();
        arming.update(1, 16);
        assert!(arming.is_on(), "as long as anything waits");
        arming.update(0, 16);
        assert!(wave(&mut arming, 1));
    }

    #[test]
    fn on_few_cpus_every_item_arms() {
        let mut arming = Arming::default();
        for _ in 0..10 {
            arming.update(1, 3);
            assert!(arming.is_on());
            arming.update(0, 7);
        }
    }
}
