//! How many helpers the process may have.

use alloc::vec::Vec;

/// Of this many CPUs ...
const OF: u32 = 5;
/// ... so many may have a helper (kernel ktask: 80 %). The rest is for whoever comes next.
const PART: u32 = 4;

/// Helpers that the process has now, by node and in total. Whoever asks first gets.
///
/// ```
/// use cmwq_policy::job::{Grant, Quota};
/// let mut quota = Quota::default();
/// let nodes = [5, 5]; // CPUs of each node
/// assert_eq!(quota.grant(10, &nodes, Some(0)), Some(Grant::Node(0)));
/// quota.give_back(Grant::Node(0));
/// ```
#[derive(Clone, Debug, Default)]
pub struct Quota {
    total: u32,
    nodes: Vec<u32>,
}

/// A helper that may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grant {
    /// On a CPU of this node.
    Node(u32),
    /// Anywhere: it wants no node, or the one it wants has its part (kernel: queued "any node").
    Anywhere,
}

impl Quota {
    /// Asks for a helper, on `node` if it wants one; `None`: the process has 4/5 of its `cpus` in
    /// use. `nodes`: usable CPUs of each node.
    pub fn grant(&mut self, cpus: u32, nodes: &[u32], node: Option<u32>) -> Option<Grant> {
        if self.total >= part(cpus) {
            return None;
        }
        self.total += 1;
        self.nodes.resize(self.nodes.len().max(nodes.len()), 0);
        let Some(node) = node.filter(|&node| self.has_room(nodes, node)) else {
            return Some(Grant::Anywhere);
        };
        self.nodes[node as usize] += 1;
        Some(Grant::Node(node))
    }

    fn has_room(&self, nodes: &[u32], node: u32) -> bool {
        let cpus = nodes.get(node as usize).copied().unwrap_or(0);
        cpus > 0 && self.nodes[node as usize] < part(cpus)
    }

    /// That helper is no more.
    pub fn give_back(&mut self, grant: Grant) {
        self.total -= 1;
        if let Grant::Node(node) = grant {
            self.nodes[node as usize] -= 1;
        }
    }

    /// Helpers that there are.
    pub fn helpers(&self) -> u32 {
        self.total
    }
}

/// 4/5, rounded down: the last CPU of a small machine is the caller's.
fn part(cpus: u32) -> u32 {
    (u64::from(cpus) * u64::from(PART) / u64::from(OF)) as u32
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn small_machines() {
        let most = |cpus| {
            let mut quota = Quota::default();
            (0..100)
                .filter(|_| quota.grant(cpus, &[], None).is_some())
                .count()
        };
        assert_eq!([1, 2, 3, 4, 5, 8, 96].map(most), [0, 1, 2, 3, 4, 6, 76]);
    }

    #[test]
    fn over_a_nodes_part_they_go_anywhere() {
        let mut quota = Quota::default();
        let nodes = [5, 5];
        let got: Vec<_> = (0..9).map(|_| quota.grant(10, &nodes, Some(1))).collect();
        assert_eq!(&got[..4], [Some(Grant::Node(1)); 4]);
        assert_eq!(&got[4..8], [Some(Grant::Anywhere); 4]);
        assert_eq!(got[8], None);
        // A node that nobody knows.
        quota.give_back(Grant::Anywhere);
        assert_eq!(quota.grant(10, &nodes, Some(7)), Some(Grant::Anywhere));
    }

    proptest! {
        #[test]
        fn never_more_than_its_part(asks in proptest::collection::vec((0u32..4, any::<bool>()), 0..200)) {
            let (mut quota, mut out) = (Quota::default(), Vec::new());
            let nodes = [3, 8, 5];
            for (node, comes) in asks {
                match comes {
                    true => out.extend(quota.grant(16, &nodes, node.checked_sub(1))),
                    false => drop(out.pop().map(|grant| quota.give_back(grant))),
                }
                prop_assert_eq!(quota.helpers() as usize, out.len());
                prop_assert!(out.len() <= 12);
                for (node, cpus) in nodes.iter().enumerate() {
                    let here = out.iter().filter(|&&grant| grant == Grant::Node(node as u32)).count();
                    prop_assert!(here as u32 <= cpus * 4 / 5);
                }
            }
        }
    }
}
