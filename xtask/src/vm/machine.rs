//! The machines, and what the program in them has to find.

/// CPUs, caches and nodes that QEMU makes.
#[derive(Debug)]
pub(super) struct Machine {
    pub(super) name: &'static str,
    /// Of `-smp`.
    cpus: &'static str,
    /// The CPUs of each node.
    nodes: &'static [&'static str],
    /// The scope that the environment of the program names.
    default_scope: Option<&'static str>,
    /// The pods of each scope, divided by `/`: by hand, as those that the policy makes are compared
    /// with them.
    pods: [(&'static str, &'static str); 6],
}

/// Memory of each node in MiB; the initial file system is in it twice.
const NODE_MIB: u32 = 256;

/// A socket of QEMU's has one last-level cache, a core its own second level.
pub(super) const MACHINES: &[Machine] = &[
    Machine {
        name: "nodes",
        cpus: "8,sockets=2,cores=4,threads=1",
        nodes: &["0-3", "4-7"],
        default_scope: None,
        pods: [
            ("cpu", "0/1/2/3/4/5/6/7"),
            ("smt", "0/1/2/3/4/5/6/7"),
            ("cache_shard", "0-3/4-7"),
            ("cache", "0-3/4-7"),
            ("numa", "0-3/4-7"),
            ("system", "0-7"),
        ],
    },
    Machine {
        name: "caches",
        cpus: "16,sockets=4,cores=2,threads=2",
        nodes: &["0-7", "8-15"],
        default_scope: None,
        pods: [
            ("cpu", "0/1/2/3/4/5/6/7/8/9/10/11/12/13/14/15"),
            ("smt", "0-1/2-3/4-5/6-7/8-9/10-11/12-13/14-15"),
            ("cache_shard", "0-3/4-7/8-11/12-15"),
            ("cache", "0-3/4-7/8-11/12-15"),
            ("numa", "0-7/8-15"),
            ("system", "0-15"),
        ],
    },
    Machine {
        name: "shards",
        cpus: "12,sockets=1,cores=12,threads=1",
        nodes: &["0-11"],
        default_scope: Some("numa"),
        pods: [
            ("cpu", "0/1/2/3/4/5/6/7/8/9/10/11"),
            ("smt", "0/1/2/3/4/5/6/7/8/9/10/11"),
            ("cache_shard", "0-5/6-11"),
            ("cache", "0-11"),
            ("numa", "0-11"),
            ("system", "0-11"),
        ],
    },
];

impl Machine {
    /// What QEMU is to be told of it.
    pub(super) fn args(&self) -> Vec<String> {
        let memory = NODE_MIB * self.nodes.len() as u32;
        let mut args = vec!["-smp".to_owned(), self.cpus.to_owned()];
        args.extend(["-m".to_owned(), format!("{memory}M")]);
        for (node, cpus) in self.nodes.iter().enumerate() {
            let size = NODE_MIB;
            let backend = format!("memory-backend-ram,id=m{node},size={size}M");
            let numa = format!("node,nodeid={node},memdev=m{node},cpus={cpus}");
            args.extend(["-object".to_owned(), backend, "-numa".to_owned(), numa]);
        }
        args
    }

    /// The end of the kernel's command line: what is a variable becomes one of the first program,
    /// what follows the dashes its arguments. They are its name, and the pods of each scope.
    pub(super) fn words(&self) -> String {
        let variable = |scope| format!("CMWQ_DEFAULT_AFFINITY_SCOPE={scope} ");
        let variable = self.default_scope.map_or_else(String::new, variable);
        let pods = self.pods.map(|(scope, pods)| format!("{scope}={pods}"));
        format!("{variable}-- {} {}", self.name, pods.join(" "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_node_has_its_memory() {
        let args = MACHINES[0].args().join(" ");
        assert!(args.contains("-m 512M"), "{args}");
        assert_eq!(args.matches("-numa node").count(), 2);
        assert!(args.contains("nodeid=1,memdev=m1,cpus=4-7"));
    }

    #[test]
    fn the_guest_is_told_every_scope() {
        let words = MACHINES[0].words();
        assert!(words.starts_with("-- nodes cpu=0/1/2"));
        assert!(words.ends_with("numa=0-3/4-7 system=0-7"));
        let words = MACHINES[2].words();
        assert!(words.starts_with("CMWQ_DEFAULT_AFFINITY_SCOPE=numa -- shards"));
        // What the kernel's command line may have, with some room.
        assert!(MACHINES.iter().all(|machine| machine.words().len() < 1024));
    }
}
