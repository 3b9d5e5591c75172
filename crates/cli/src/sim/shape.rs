//! The shape of the machine that this process is on, for `topology = "this"`.

use std::path::Path;

use cmwq_os::topology::{self, Topology};

/// The CPUs that are online, as the kernel describes them; `None` if it does not.
pub(super) fn of_this_machine() -> Option<cmwq_sim::Topology> {
    of(&topology::read(Path::new("/")))
}

/// With the places that the engine works with here.
fn of(found: &Topology) -> Option<cmwq_sim::Topology> {
    let places = found.places();
    let online = found.online().iter().map(|cpu| places[cpu]).collect();
    cmwq_sim::Topology::from_places("this", online).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use cmwq_os::topology::Cache;

    fn cache(level: u8, cpus: &[usize]) -> Cache {
        Cache {
            level,
            kind: "Unified".to_owned(),
            size_kib: 0,
            cpus: cpus.iter().copied().collect(),
        }
    }

    #[test]
    fn places_are_what_sysfs_says_of_the_outermost_caches() {
        let found = Topology {
            nodes: vec![[0, 1, 3].into_iter().collect()],
            caches: vec![
                cache(2, &[0, 1]),
                cache(3, &[0, 1]),
                cache(2, &[3]),
                cache(3, &[3]),
            ],
            smt: vec![[0, 1].into_iter().collect(), [3].into_iter().collect()],
            ..Topology::default()
        };
        let topology = of(&found).unwrap();
        assert_eq!(topology.len(), 3, "CPU 2 is not online");
        assert_eq!(topology.distance(0, 1), cmwq_sim::Distance::Core);
        assert_eq!(topology.distance(0, 2), cmwq_sim::Distance::Node);
    }

    #[test]
    fn without_caches_the_node_is_one() {
        let found = Topology {
            nodes: vec![[0, 1].into_iter().collect()],
            ..Topology::default()
        };
        let topology = of(&found).unwrap();
        assert_eq!(topology.distance(0, 1), cmwq_sim::Distance::Llc);
        assert_eq!(of(&Topology::default()), None);
    }
}
