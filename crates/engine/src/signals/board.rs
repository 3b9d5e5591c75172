//! The words that canaries share with everybody else. If there may be a helper process, they are in
//! memory that it shares.

use cmwq_os::helper::Helper;
use cmwq_policy::MAX_CPUS;

use super::bell::Bell;
use crate::park::Parker;
use crate::sync::{AtomicU32, SeqCst};

/// The models have one CPU.
const SEATS: usize = if cfg!(loom) { 1 } else { MAX_CPUS };

/// The words. Valid if all zero: nobody wants a report, and no bell has a canary.
pub(crate) struct Board {
    /// How many pools would start a worker on a report.
    pub(crate) nr_wanting: AtomicU32,
    /// Canaries that are not armed: that have fired, or sleep.
    pub(crate) off_duty: AtomicU32,
    seats: [Seat; SEATS],
}

/// What belongs to one CPU. On cache lines of its own: its canary looks again and again.
#[repr(align(64))]
pub(crate) struct Seat {
    pub(crate) bell: Bell,
    /// Where the CPU's relay sleeps.
    pub(crate) relay: Parker<true>,
}

impl Board {
    fn new() -> Self {
        Board {
            nr_wanting: AtomicU32::new(0),
            off_duty: AtomicU32::new(0),
            seats: std::array::from_fn(|_| Seat {
                bell: Bell::new(),
                relay: Parker::default(),
            }),
        }
    }

    pub(crate) fn seat(&self, cpu: usize) -> &Seat {
        &self.seats[cpu]
    }

    pub(crate) fn anybody_wants(&self) -> bool {
        self.nr_wanting.load(SeqCst) != 0
    }
}

/// Where a board is.
pub(crate) enum Ground {
    /// With all that a helper needs.
    Shared(Helper),
    /// There cannot be a helper.
    Own(Box<Board>, std::io::Error),
}

impl Ground {
    pub(crate) fn new() -> Self {
        let helper = match cfg!(any(loom, cmwq_no_helper)) {
            true => Err(std::io::ErrorKind::Unsupported.into()),
            false => Helper::new(size_of::<Board>()),
        };
        match helper {
            Ok(helper) => Ground::Shared(helper),
            Err(error) => Ground::Own(Box::new(Board::new()), error),
        }
    }

    pub(crate) fn board(&self) -> &Board {
        match self {
            // SAFETY: the helper's memory lives as long as it does, is aligned and large enough,
            // and all zero at first, which is a board. What changes in it is atomic.
            Ground::Shared(helper) => unsafe { &*helper.memory().cast::<Board>() },
            Ground::Own(board, _) => board,
        }
    }
}
