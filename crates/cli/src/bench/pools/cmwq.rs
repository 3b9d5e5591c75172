//! Our pool: nothing is tuned, no number is chosen.

use cmwq::Workqueue;

use super::{Pool, Task};
use crate::bench::engine::Engine;
use crate::bench::spec::Work;

/// For the kind of work whose point is a thousand blocked workers: above the default limit.
const ASLEEP_MAX_ACTIVE: usize = 2_048;

pub(super) struct CmwqPool {
    queues: Vec<Workqueue>,
}

impl CmwqPool {
    pub(super) fn start(work: Work) -> Result<CmwqPool, String> {
        let queues = (0..work.queues())
            .map(|i| queue(work, i))
            .collect::<Result<_, _>>()?;
        Ok(CmwqPool { queues })
    }
}

/// Queue `i` has nice `i`: queues with different attributes never share a worker pool.
fn queue(work: Work, i: usize) -> Result<Workqueue, String> {
    let mut builder = Workqueue::builder(&format!("bench{i}")).nice(i as i32);
    if work == Work::Asleep {
        builder = builder.max_active(ASLEEP_MAX_ACTIVE);
    }
    builder.build().map_err(|e| format!("cmwq: no queue: {e}"))
}

impl Pool for CmwqPool {
    fn submit(&self, queue: usize, task: Task) {
        drop(self.queues[queue].spawn(task));
    }

    fn engine(&self) -> Option<Engine> {
        Some(Engine::now())
    }
}
