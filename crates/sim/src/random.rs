//! Random numbers that are the same on every machine: SplitMix64, and integer arithmetic only.
//!
//! A generator is also the root of streams: [`stream(n)`](Random::stream) depends on how the
//! generator was made and on `n`, not on what was drawn. So who draws more, or a consumer that is
//! added, changes nothing for the others.

use std::cell::Cell;

use crate::api::names::Execution;

/// Kernel `GOLDEN_RATIO_64`, made odd: what SplitMix64 counts by.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
/// ln 2, in units of 2^-64.
const LN_2: u128 = 0xB172_17F7_D1CF_79AB;

/// A generator. Copies go on alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Random {
    /// How it was made.
    root: u64,
    state: u64,
}

fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

impl Random {
    /// A generator; equal seeds make equal ones.
    pub const fn new(seed: u64) -> Random {
        Random {
            root: seed,
            state: seed,
        }
    }

    /// The `n`-th of the generators that belong to this one, however much was drawn from it.
    #[must_use]
    pub fn stream(&self, n: u64) -> Random {
        // Mixed twice, so that neither (root, n) and (root + 1, n - 1) nor a stream's stream meet.
        Random::new(mix(mix(self.root.wrapping_add(STEP)) ^ n.wrapping_mul(STEP)))
    }

    /// 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.state = self.state.wrapping_add(STEP);
        mix(self.state)
    }

    /// A number less than `n`.
    ///
    /// # Panics
    /// If `n` is 0.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "no number is less than 0");
        // Some numbers have one 2^64-th more than others: nobody sees that.
        ((u128::from(self.bits()) * u128::from(n)) >> 64) as u64
    }

    /// A number from `least` to `most`, both included.
    ///
    /// # Panics
    /// If `least` is more than `most`.
    pub fn between(&mut self, least: u64, most: u64) -> u64 {
        assert!(least <= most, "nothing is between {least} and {most}");
        match (most - least).checked_add(1) {
            Some(n) => least + self.below(n),
            None => self.bits(),
        }
    }

    /// Yes, `per_mille` times of a thousand.
    pub fn chance(&mut self, per_mille: u32) -> bool {
        self.below(1000) < u64::from(per_mille)
    }

    /// One of the list.
    ///
    /// # Panics
    /// If it is empty.
    pub fn one_of<T: Copy>(&mut self, list: &[T]) -> T {
        list[self.below(list.len() as u64) as usize]
    }

    /// A number around `n`, each as likely, at most `per_mille` thousandths of `n` away from it.
    pub fn around(&mut self, n: u64, per_mille: u32) -> u64 {
        let most = u128::from(n) * u128::from(per_mille) / 1000;
        let away = u64::try_from(most).unwrap_or(u64::MAX).min(n);
        self.between(n - away, n.saturating_add(away))
    }

    /// A number with this mean, exponentially distributed: the time between two of many independent
    /// events.
    pub fn exponential(&mut self, mean: u64) -> u64 {
        // -ln(u) for u in 1..2^64, in units of 2^-32, times the mean.
        let wait = (u128::from(mean) * u128::from(minus_ln(self.bits() | 1))) >> 32;
        u64::try_from(wait).unwrap_or(u64::MAX)
    }
}

/// -ln(u / 2^64) in units of 2^-32; `u` is not 0.
fn minus_ln(u: u64) -> u64 {
    let whole = u64::from(u.leading_zeros()) + 1;
    let log2 = (whole << 32) - log2_fraction(u << u.leading_zeros());
    ((u128::from(log2) * LN_2) >> 64) as u64
}

/// log2(m / 2^63) in units of 2^-32; `m` is at least 2^63. A bit of the logarithm for each
/// squaring.
fn log2_fraction(mut m: u64) -> u64 {
    let mut log = 0;
    for _ in 0..32 {
        let square = u128::from(m) * u128::from(m);
        let carry = (square >> 127) as u64;
        m = (square >> (63 + carry)) as u64;
        log = log << 1 | carry;
    }
    log
}

/// Where a machine's random numbers come from: a stream for each use.
pub(crate) struct Streams {
    /// One of these for each device.
    pub(crate) devices: Random,
    /// Reports about who sleeps and runs.
    pub(crate) signals: Random,
    spawns: Cell<Random>,
    threads: Random,
    executions: Random,
    /// Threads of programs so far.
    spawned: Cell<u64>,
}

impl Streams {
    pub(crate) fn new(seed: u64) -> Streams {
        let root = Random::new(seed);
        Streams {
            devices: root.stream(0),
            signals: root.stream(1),
            spawns: Cell::new(root.stream(2)),
            threads: root.stream(3),
            executions: root.stream(4),
            spawned: Cell::new(0),
        }
    }

    /// Of a new thread. That of a worker comes with the item it executes.
    pub(crate) fn next_thread(&self, is_worker: bool) -> Random {
        if !is_worker {
            self.spawned.set(self.spawned.get() + 1);
        }
        self.threads.stream(self.spawned.get())
    }

    /// Of the execution of an item, whoever executes it.
    pub(crate) fn of_execution(&self, execution: Execution) -> Random {
        let item = self.executions.stream(u64::from(execution.item.0));
        item.stream(u64::from(execution.number))
    }

    /// For the creation of workers' threads.
    pub(crate) fn with_spawns<R>(&self, draw: impl FnOnce(&mut Random) -> R) -> R {
        let mut random = self.spawns.get();
        let drawn = draw(&mut random);
        self.spawns.set(random);
        drawn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MANY: u64 = 100_000;

    fn mean(mut draw: impl FnMut() -> u64) -> u64 {
        (0..MANY).map(|_| draw()).sum::<u64>() / MANY
    }

    #[test]
    fn the_numbers_are_those_of_splitmix64() {
        // The first outputs of the published generator for the seed 1234567.
        let mut random = Random::new(1_234_567);
        let known = [
            6_457_827_717_110_365_317,
            3_203_168_211_198_807_973,
            9_817_491_932_198_370_423,
        ];
        assert_eq!([(); 3].map(|()| random.bits()), known);
    }

    #[test]
    fn streams_do_not_depend_on_what_was_drawn() {
        let mut random = Random::new(7);
        let before = random.stream(3);
        random.bits();
        assert_eq!(random.stream(3), before);
        let mut firsts: Vec<u64> = (0..1000).map(|n| random.stream(n).bits()).collect();
        firsts.extend((0..1000).map(|n| random.stream(0).stream(n).bits()));
        firsts.sort_unstable();
        firsts.dedup();
        assert_eq!(firsts.len(), 2000, "streams meet");
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut random = Random::new(1);
        let mut seen = [0; 10];
        (0..MANY).for_each(|_| seen[random.below(10) as usize] += 1);
        assert!(seen.iter().all(|n| (9_700..10_300).contains(n)), "{seen:?}");
        let drawn: Vec<u64> = (0..1000).map(|_| random.between(5, 8)).collect();
        assert_eq!(drawn.iter().min().zip(drawn.iter().max()), Some((&5, &8)));
        random.between(0, u64::MAX);
        let around: Vec<u64> = (0..MANY).map(|_| random.around(1000, 250)).collect();
        let ends = around.iter().min().zip(around.iter().max());
        assert_eq!(ends, Some((&750, &1250)));
        assert_eq!(random.around(1000, 0), 1000);
        assert_eq!(random.around(0, 1000), 0);
    }

    #[test]
    fn chances_are_per_mille() {
        let mut random = Random::new(2);
        let yes = (0..MANY).filter(|_| random.chance(30)).count();
        assert!((2_800..3_200).contains(&yes), "{yes}");
        assert!((0..MANY).all(|_| !random.chance(0) && random.chance(1000)));
    }

    #[test]
    fn waits_are_exponential() {
        let mut random = Random::new(3);
        let ten = 10_000_000;
        let mean = mean(|| random.exponential(ten));
        assert!((ten - ten / 100..ten + ten / 100).contains(&mean), "{mean}");
        // Half of them are shorter than ln 2 of the mean, a hundredth longer than ln 100 of it.
        let mut waits: Vec<u64> = (0..MANY).map(|_| random.exponential(1_000_000)).collect();
        waits.sort_unstable();
        let (half, late) = (waits[MANY as usize / 2], waits[MANY as usize / 100 * 99]);
        assert!((683_000..703_000).contains(&half), "{half}");
        assert!((4_450_000..4_760_000).contains(&late), "{late}");
        assert_eq!(random.exponential(0), 0);
    }

    #[test]
    fn logarithms_are_exact_enough() {
        assert_eq!(minus_ln(1 << 63), (LN_2 >> 32) as u64, "ln 2");
        assert_eq!(minus_ln(u64::MAX), 0, "ln 1");
        assert_eq!(minus_ln(1), ((64 * LN_2) >> 32) as u64, "64 ln 2");
        // ln 3 = 1.0986122886681098, in units of 2^-32.
        let ln_3 = minus_ln(u64::MAX / 3);
        assert!(ln_3.abs_diff(4_718_503_850) <= 4, "{ln_3}");
    }
}
