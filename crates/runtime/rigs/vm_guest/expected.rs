//! What the machine was made of, as its maker says.

use cmwq_os::topology::parse_cpulist;
use cmwq_policy::CpuMask;
use cmwq_policy::affinity::Scope;

/// The arguments of the program.
pub(crate) struct Expected {
    /// The machine's.
    pub(crate) name: String,
    pods: Vec<(Scope, Vec<CpuMask>)>,
}

impl Expected {
    /// `NAME SCOPE=CPUS/CPUS...`, with every scope.
    pub(crate) fn parse(mut words: impl Iterator<Item = String>) -> Result<Expected, String> {
        let name = words.next().ok_or("no name of a machine")?;
        let pods: Vec<_> = words.map(|word| scope(&word)).collect::<Result<_, _>>()?;
        let is_told = |scope: &Scope| pods.iter().any(|(told, _)| told == scope);
        match Scope::ALL.iter().find(|scope| !is_told(scope)) {
            Some(scope) => Err(format!("no pods of scope {}", scope.name())),
            None => Ok(Expected { name, pods }),
        }
    }

    /// The pods of a scope.
    pub(crate) fn pods(&self, scope: Scope) -> &[CpuMask] {
        let mut all = self.pods.iter();
        let told = all.find(|(told, _)| *told == scope);
        &told.expect("every scope is told").1
    }

    /// The one that this CPU is in.
    pub(crate) fn pod(&self, scope: Scope, cpu: usize) -> CpuMask {
        let mut pods = self.pods(scope).iter();
        *pods
            .find(|pod| pod.contains(cpu))
            .expect("the machine has it")
    }

    /// All CPUs.
    pub(crate) fn cpus(&self) -> CpuMask {
        self.pods(Scope::System)
            .iter()
            .flat_map(CpuMask::iter)
            .collect()
    }
}

fn scope(word: &str) -> Result<(Scope, Vec<CpuMask>), String> {
    let malformed = || format!("{word:?} is not SCOPE=CPUS/CPUS...");
    let (scope, pods) = word.split_once('=').ok_or_else(malformed)?;
    let scope = Scope::parse(scope).ok_or_else(malformed)?;
    let pods: Option<Vec<_>> = pods.split('/').map(parse_cpulist).collect();
    Ok((scope, pods.ok_or_else(malformed)?))
}

/// As the arguments write them.
pub(crate) fn written(pods: &[CpuMask]) -> String {
    let pods: Vec<String> = pods.iter().map(CpuMask::to_string).collect();
    pods.join("/")
}
