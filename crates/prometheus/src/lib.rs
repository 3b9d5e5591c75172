//! The queues and pools of this process, as Prometheus metrics.
//!
//! ```no_run
//! // Prometheus finds them at http://127.0.0.1:9464/metrics.
//! cmwq_prometheus::serve("127.0.0.1:9464")?;
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! A program that has a registry of `prometheus-client` already adds them to that:
//!
//! ```
//! let mut registry = prometheus_client::registry::Registry::default();
//! cmwq_prometheus::register(&mut registry);
//! ```
//!
//! Every scrape takes a snapshot, the same that `cmwq top` shows. Between scrapes nothing happens.
//! Before the first queue is made, and in a forked child that has made none, there are no samples.
//!
//! # Metrics
//!
//! | of | labels |
//! | --- | --- |
//! | a queue, `cmwq_queue_...` | `queue`: its name, `kind`, `id`: its number in the process |
//! | a pool, `cmwq_pool_...` | `pool`: its number, `kind`, `nice` |
//! | the process | none |
//!
//! Several queues may have one name, so `id` tells them apart. A queue has about 70 series. They
//! end with the queue. The full list is in `dashboard.json` and in what [`encode`] returns; each
//! has a line of help there.
//!
//! Times are in seconds. Buckets of histograms are powers of two of a nanosecond, from 1.024 us to
//! 69 s.
//!
//! # Floors
//!
//! Lowest first; a module imports from its own floor and from those below.
//!
//! 1. `families`: which metrics there are
//! 2. `server`: who asks for them
#![forbid(unsafe_code)]

mod families;
mod server;

use cmwq_engine::Process;
use cmwq_stats::Snapshot;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, text};
use prometheus_client::registry::Registry;

pub use server::{CONTENT_TYPE, serve};

/// Adds the queues and pools of this process to a registry. Call it once for each registry.
///
/// ```
/// let mut registry = prometheus_client::registry::Registry::default();
/// cmwq_prometheus::register(&mut registry);
/// ```
pub fn register(registry: &mut Registry) {
    registry.register_collector(Box::new(Queues));
}

/// Writes the metrics in the text format of OpenMetrics, [`CONTENT_TYPE`].
///
/// ```
/// cmwq::system().spawn(|| ()).join()?;
/// assert!(cmwq_prometheus::encode().contains("cmwq_queue_started_total{"));
/// # Ok::<(), cmwq::JoinError>(())
/// ```
pub fn encode() -> String {
    let mut registry = Registry::default();
    register(&mut registry);
    let mut text = String::new();
    text::encode(&mut text, &registry).expect("a string takes all that is written");
    text
}

/// Asks the process at each scrape.
#[derive(Debug)]
struct Queues;

impl Collector for Queues {
    fn encode(&self, mut encoder: DescriptorEncoder) -> Result<(), std::fmt::Error> {
        let snapshot = Process::existing().map_or_else(Snapshot::default, Process::snapshot);
        families::encode(&snapshot, &mut encoder)
    }
}
