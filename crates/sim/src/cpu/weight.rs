//! What a nice level is worth.

/// The weight of nice 0.
pub(crate) const NICE_0_WEIGHT: u32 = 1024;

/// The weight of SCHED_IDLE (kernel `WEIGHT_IDLEPRIO`).
pub(crate) const IDLE_CLASS_WEIGHT: u32 = 3;

/// The kernel's `sched_prio_to_weight`, from nice -20 to 19: each level is worth about 1.25 times
/// the next one.
const WEIGHTS: [u32; 40] = [
    88761, 71755, 56483, 46273, 36291, 29154, 23254, 18705, 14949, 11916, 9548, 7620, 6100, 4904,
    3906, 3121, 2501, 1991, 1586, 1277, 1024, 820, 655, 526, 423, 335, 272, 215, 172, 137, 110, 87,
    70, 56, 45, 36, 29, 23, 18, 15,
];

/// The share of a CPU that a thread of this nice level gets, relative to that of others there.
///
/// # Panics
/// If `nice` is not in -20..=19.
pub fn weight(nice: i8) -> u32 {
    WEIGHTS[usize::try_from(i32::from(nice) + 20).expect("a nice level")]
}
