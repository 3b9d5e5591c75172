//! Which units are for which NUMA node.

use alloc::vec::Vec;
use core::ops::Range;

use super::Cut;

/// Cuts `range` into one part for each node that has CPUs, as long as its share of them.
pub fn by_nodes(range: Range<u64>, cut: Cut, cpus: &[u32]) -> Vec<(Option<u32>, Range<u64>)> {
    let nodes: Vec<(u32, u64)> = (0..)
        .zip(cpus)
        .filter(|(_, cpus)| **cpus > 0)
        .map(|(node, &cpus)| (node, cpus.into()))
        .collect();
    if nodes.len() < 2 {
        return Vec::from([(None, range)]);
    }
    let (mut at, mut cpus_left) = (range.start, nodes.iter().map(|node| node.1).sum::<u64>());
    let mut parts = Vec::with_capacity(nodes.len());
    for (node, cpus) in nodes {
        let share = u128::from(range.end - at) * u128::from(cpus) / u128::from(cpus_left);
        let end = match cpus == cpus_left || at == range.end {
            true => range.end,
            false => cut.after(at, share as u64, range.end),
        };
        parts.push((Some(node), at..end));
        (at, cpus_left) = (end, cpus_left - cpus);
    }
    parts
}

/// The nodes of helpers, which are the threads from 1 on: one after the other, that of the caller,
/// who helps there already, last.
pub fn nodes_in_turn(
    parts: &[Option<u32>],
    caller: Option<u32>,
) -> impl Iterator<Item = Option<u32>> + '_ {
    let caller = parts
        .iter()
        .position(|node| node.is_some() && *node == caller);
    let first = caller.map_or(0, |caller| caller + 1);
    parts.iter().copied().cycle().skip(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn one_node_is_none() {
        let cut = Cut::new(1, 1);
        assert_eq!(by_nodes(5..9, cut, &[8]), [(None, 5..9)]);
        assert_eq!(by_nodes(5..9, cut, &[0, 8]), [(None, 5..9)]);
        assert_eq!(by_nodes(5..9, cut, &[]), [(None, 5..9)]);
    }

    #[test]
    fn shares_go_by_cpus() {
        let parts = by_nodes(0..1200, Cut::new(1, 1), &[8, 0, 4]);
        assert_eq!(parts, [(Some(0), 0..800), (Some(2), 800..1200)]);
    }

    #[test]
    fn helpers_begin_behind_the_callers_node() {
        let nodes = [Some(0), Some(1), Some(3)];
        let first: Vec<_> = nodes_in_turn(&nodes, Some(1)).take(4).collect();
        assert_eq!(first, [Some(3), Some(0), Some(1), Some(3)]);
        assert_eq!(nodes_in_turn(&[None], None).next(), Some(None));
    }

    proptest! {
        #[test]
        fn parts_cover_the_range(start in 0u64..1000, len in 0u64..1000, align in 1u64..50, cpus in proptest::collection::vec(0u32..5, 0..5)) {
            let parts = by_nodes(start..start + len, Cut::new(align, 1), &cpus);
            let mut at = start;
            for (_, part) in &parts {
                prop_assert_eq!(part.start, at);
                prop_assert!(part.end % align == 0 || part.end == start + len);
                at = part.end;
            }
            prop_assert_eq!(at, start + len);
        }
    }
}
