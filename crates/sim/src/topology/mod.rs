//! Machines as plain data: which CPUs share a core, a last-level cache, a node.

use cmwq_policy::{CpuMask, MAX_CPUS};

pub use cmwq_policy::affinity::Place;
pub use synthetic::TopologyError;

mod synthetic;

/// A machine: CPU number -> place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Topology {
    /// What it is called.
    pub name: String,
    /// The place of each CPU.
    pub cpus: Vec<Place>,
}

/// How far two CPUs are apart, the nearest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The same CPU.
    Same,
    /// The same core.
    Core,
    /// The same last-level cache.
    Llc,
    /// The same node.
    Node,
    /// Different nodes.
    Machine,
}

/// Machines with a name: CPUs in all, and per core, per last-level cache and per node.
const NAMED: [(&str, [u32; 4]); 8] = [
    ("T1", [1, 1, 1, 1]),
    ("T2", [2, 1, 2, 2]),
    ("T4", [4, 1, 4, 4]),
    ("T8", [8, 2, 4, 4]),
    ("T12", [12, 1, 12, 12]),
    ("T16", [16, 1, 4, 8]),
    ("T20", [20, 1, 20, 20]),
    ("T24", [24, 2, 24, 24]),
];

impl Topology {
    /// A machine of the recorded kernel answers, by its name there (`T1` .. `T24`). A letter at the
    /// end (`T16S`) stands for a boot parameter and changes nothing here.
    pub fn named(name: &str) -> Option<Topology> {
        let plain = name.trim_end_matches(char::is_alphabetic);
        let (_, [cpus, core, llc, node]) = NAMED.iter().find(|(known, _)| *known == plain)?;
        Some(Topology::regular(name, *cpus, *core, *llc, *node))
    }

    /// A machine of `cpus` CPUs, numbered so that the CPUs of a core, of a cache and of a node
    /// follow each other: so many per core, per last-level cache, per node.
    pub fn regular(name: &str, cpus: u32, per_core: u32, per_llc: u32, per_node: u32) -> Topology {
        let place = |cpu| Place {
            core: cpu / per_core,
            llc: cpu / per_llc,
            node: cpu / per_node,
        };
        Topology {
            name: name.to_owned(),
            cpus: (0..cpus).map(place).collect(),
        }
    }

    /// A machine of these CPUs, numbered from 0 on.
    ///
    /// # Errors
    /// If there are none, or more than [`MAX_CPUS`].
    pub fn from_places(name: &str, cpus: Vec<Place>) -> Result<Topology, TopologyError> {
        if cpus.is_empty() || cpus.len() > MAX_CPUS {
            return Err(TopologyError {
                token: name.to_owned(),
                at: 0,
                problem: format!("{} CPUs: a machine has 1 to {MAX_CPUS}", cpus.len()),
            });
        }
        Ok(Topology {
            name: name.to_owned(),
            cpus,
        })
    }

    /// How many CPUs it has.
    pub fn len(&self) -> usize {
        self.cpus.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.cpus.is_empty()
    }

    /// All CPUs.
    pub fn all(&self) -> CpuMask {
        CpuMask::first(self.len())
    }

    /// The CPUs for whose place this holds.
    pub fn mask(&self, holds: impl Fn(&Place) -> bool) -> CpuMask {
        let cpus = self.cpus.iter().enumerate();
        cpus.filter(|(_, place)| holds(place))
            .map(|(cpu, _)| cpu)
            .collect()
    }

    /// How far `a` is from `b`.
    pub fn distance(&self, a: usize, b: usize) -> Distance {
        let (p, q) = (self.cpus[a], self.cpus[b]);
        match () {
            () if a == b => Distance::Same,
            () if p.core == q.core => Distance::Core,
            () if p.llc == q.llc => Distance::Llc,
            () if p.node == q.node => Distance::Node,
            () => Distance::Machine,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_named_machines_are_as_recorded() {
        let t8 = Topology::named("T8").unwrap();
        assert_eq!(t8.mask(|p| p.node == 1).to_string(), "4-7");
        assert_eq!(t8.mask(|p| p.llc == 0).to_string(), "0-3");
        assert_eq!(t8.mask(|p| p.core == 1).to_string(), "2-3");
        let t16 = Topology::named("T16").unwrap();
        assert_eq!(t16.mask(|p| p.node == 1).to_string(), "8-15");
        assert_eq!(t16.mask(|p| p.llc == 3).to_string(), "12-15");
        let sizes = [1, 2, 4, 8, 12, 16, 20, 24];
        for n in sizes {
            assert_eq!(Topology::named(&format!("T{n}")).unwrap().len(), n);
        }
        assert_eq!(Topology::named("T4P").unwrap().len(), 4);
        assert_eq!(Topology::named("T3"), None);
    }

    #[test]
    fn distances_grow_with_what_is_not_shared() {
        use Distance::*;
        let t8 = Topology::named("T8").unwrap();
        assert_eq!(
            [0, 1, 2, 4].map(|b| t8.distance(0, b)),
            [Same, Core, Llc, Machine]
        );
        let t16 = Topology::named("T16").unwrap();
        assert_eq!(t16.distance(0, 5), Node);
    }
}
