//! Tests of the whole ask here: which rules were used, and what if one of them were wrong?
//!
//! Both are behind cargo features that are off by default. Without them the hooks, one line each at
//! a decision, compile to nothing.
//!
//! * `probe`: each hook counts how often a rule was applied or a state was entered. So a long
//!   random test shows that it came everywhere. Some rules have no hook: those that most of its
//!   programs apply anyway (an item begins, a slot is given back), and those that no random program
//!   comes to. The policy's own tests go there.
//! * `broken`: one rule at a time can be made wrong (`breakage`). A test that is worth running
//!   notices every one of them.

// In a package that comes from a registry there is no such file, so these features cannot be had.
#[cfg(any(feature = "probe", feature = "broken"))]
const _: &str = include_str!("../../../swarm/Cargo.toml"); // only for cmwq's own tests

#[cfg(feature = "broken")]
pub mod breakage;
#[cfg(feature = "probe")]
mod edges;

#[cfg(feature = "probe")]
pub use edges::Edge;

/// Counts an edge, or counts it if a condition is met, or one of two by a condition.
#[cfg(feature = "probe")]
macro_rules! hit {
    ($edge:ident) => {
        $crate::probe::Edge::$edge.hit()
    };
    ($edge:ident if $met:expr) => {
        if $met {
            $crate::probe::Edge::$edge.hit()
        }
    };
    ($met:expr => $edge:ident, $other:ident) => {
        match $met {
            true => $crate::probe::Edge::$edge.hit(),
            false => $crate::probe::Edge::$other.hit(),
        }
    };
}

// The conditions are compiled, so that what they name is used, and never run.
#[cfg(not(feature = "probe"))]
macro_rules! hit {
    ($edge:ident) => {
        ()
    };
    ($edge:ident if $met:expr) => {{
        let _ = || $met;
    }};
    ($met:expr => $edge:ident, $other:ident) => {{
        let _ = || $met;
    }};
}

/// Whether this rule is broken now: `false`, as a literal, without the feature.
#[cfg(feature = "broken")]
macro_rules! broken {
    ($rule:ident) => {
        $crate::probe::breakage::is($crate::probe::breakage::Broken::$rule)
    };
}

#[cfg(not(feature = "broken"))]
macro_rules! broken {
    ($rule:ident) => {
        false
    };
}

pub(crate) use {broken, hit};
