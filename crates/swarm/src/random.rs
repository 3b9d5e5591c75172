//! What a swarm draws from the machine's generator.

use cmwq_policy::Nanos;
use cmwq_policy::time::MICROSECOND;

pub use cmwq_sim::Random;

/// Names of random streams.
pub mod streams {
    #![allow(missing_docs)]
    pub const MACHINE: u64 = 1;
    pub const QUEUE: u64 = 2;
    pub const ITEM: u64 = 3;
    pub const THREAD: u64 = 4;
    pub const HOG: u64 = 5;
    pub const TASTE: u64 = 6;
    pub const FAULTS: u64 = 7;
    pub const RESOURCES: u64 = 8;
    pub const SHUTDOWN: u64 = 9;
}

/// The stream of this name and number below a seed.
pub fn stream(seed: u64, name: u64, number: u64) -> Random {
    Random::new(seed).stream(name).stream(number)
}

/// True once in `n` times.
pub fn one_in(random: &mut Random, n: u64) -> bool {
    random.below(n) == 0
}

/// Nothing up to some milliseconds, mostly short.
pub fn time(random: &mut Random) -> Nanos {
    let most = random.one_of(&[1, 40, 900, 6000]);
    random.below(most) * MICROSECOND
}

/// A place in a list of weights, of which one at least is not 0.
pub fn weighted(random: &mut Random, weights: &[u32]) -> usize {
    let total: u32 = weights.iter().sum();
    let mut left = random.below(u64::from(total)) as u32;
    for (at, &weight) in weights.iter().enumerate() {
        if left < weight {
            return at;
        }
        left -= weight;
    }
    unreachable!("less than the total was left")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_are_repeatable_and_differ() {
        let draw = |name, number| stream(7, name, number).bits();
        assert_eq!(draw(1, 2), draw(1, 2));
        assert_ne!(draw(1, 2), draw(2, 1));
        assert_ne!(draw(1, 2), draw(1, 3));
    }

    #[test]
    fn nothing_of_weight_0_is_drawn() {
        let mut random = Random::new(3);
        let mut drawn = [0; 4];
        for _ in 0..1000 {
            drawn[weighted(&mut random, &[0, 1, 0, 3])] += 1;
        }
        assert_eq!((drawn[0], drawn[2]), (0, 0));
        assert!(drawn[1] > 150 && drawn[3] > 600, "{drawn:?}");
    }
}
