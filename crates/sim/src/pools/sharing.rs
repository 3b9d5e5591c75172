//! What it costs a thread that others use the lock and the inbox of a pool: see
//! [`Sharing`](crate::Sharing). It is burnt right after the step took effect, as what a call costs.
//! A worker that asks waits for the lock before that.
//! Events that no thread causes, such as those of the tick without a thread, cost nothing.

use cmwq_policy::{Nanos, Time};

use crate::api::names::{ItemId, PoolId};
use crate::cpu::ThreadId;
use crate::cpu::lines::{LineId, LineStats};
use crate::machine::Machine;
use crate::state::pool::{Inbox, Pool, PoolLines};
use crate::state::store::Used;

/// What an inbox had before a hold of the lock.
pub(super) struct Before {
    left: usize,
    moved: u64,
    /// See [`Inbox::emptied`].
    emptied: (u64, u32),
    /// See [`Inbox::rowed`].
    rowed: (u64, u64),
}

impl Before {
    pub(super) fn of(inbox: &Inbox) -> Before {
        Before {
            left: inbox.nr_left(),
            moved: inbox.nr_moved(),
            emptied: inbox.emptied(),
            rowed: inbox.rowed(),
        }
    }

    /// How many were recalled, dealt and taken out since, and which trays were emptied.
    fn since(&self, inbox: &Inbox) -> (u64, u32) {
        let after = Before::of(inbox);
        let taken = self.left.saturating_sub(after.left);
        let moved = after.moved - self.moved + taken as u64;
        let (times, trays) = after.emptied;
        (moved, if times > self.emptied.0 { trays } else { 0 })
    }
}

impl Machine {
    pub(super) fn add_pool_lines(&self, trays: usize) -> PoolLines {
        let mut lines = self.lines.borrow_mut();
        PoolLines {
            lock: lines.add(),
            row: lines.add(),
            behind: lines.add(),
            trays: (0..trays).map(|_| lines.add()).collect(),
        }
    }

    /// The acting thread has held the lock of the pool: for so many events, and for what has moved
    /// in its inbox meanwhile.
    pub(super) fn charge_hold(&self, pool: &Pool, events: u64, before: &Before, inbox: &Inbox) {
        let Some(id) = self.acting.get().filter(|_| self.shares) else {
            return;
        };
        let costs = &self.options.costs.sharing;
        let (moved, emptied) = before.since(inbox);
        let trays = pool.lines.trays.iter().enumerate();
        let emptied = trays.filter(|(tray, _)| emptied & (1 << tray) != 0);
        let fetch = |(_, &line): (usize, &LineId)| self.line_write(id, line, costs.leave);
        let fetched: Nanos = emptied.map(fetch).sum();
        let words = self.charge_words(id, pool);
        let (front, behind) = inbox.rowed();
        let front = (before.rowed.0..front).map(|_| self.row_taken(id, pool));
        let row = front.sum::<Nanos>() + self.behind_taken(id, pool, before.rowed.1..behind);
        let held = costs.hold + costs.event * events + costs.item * moved + fetched + words + row;
        let had = self.frame(id, |f| f.worker.as_mut()?.has_lock.take());
        if let Some((_, presumed)) = had {
            let mut lines = self.lines.borrow_mut();
            lines.held(pool.lines.lock, held, presumed);
            drop(lines);
            return self.burn_more(id, held);
        }
        let (at, cpu) = self.comes(id);
        let others = costs.beside_lock;
        let mut lines = self.lines.borrow_mut();
        let taken = lines.hold(pool.lines.lock, at, cpu, others, held);
        drop(lines);
        self.burn_more(id, taken);
    }

    /// Words that pools share were used under the lock. They come along with it, unless another
    /// pool has changed them since.
    fn charge_words(&self, id: ThreadId, pool: &Pool) -> Nanos {
        let used = self.items.borrow_mut().take_used();
        let mut words = self.shared_words.borrow_mut();
        let mut all = 0;
        for (number, used) in used.into_iter().enumerate() {
            if words.len() <= number {
                words.push((self.lines.borrow_mut().add(), pool.id));
            }
            let (line, last) = &mut words[number];
            let (at, cpu) = self.comes(id);
            all += match used {
                _ if *last == pool.id => 0,
                Used::No => 0,
                Used::Read => self.lines.borrow_mut().read(*line, at, cpu),
                Used::Written => self.line_write(id, *line, self.options.costs.sharing.leave),
            };
            if used == Used::Written {
                *last = pool.id;
            }
        }
        all
    }

    /// The worker needs its pool's lock for what it does next. If it has to wait, it comes again
    /// when it has it: others act meanwhile.
    pub(super) fn waits_for_lock(&self, id: ThreadId, pool: &Pool) -> bool {
        if !self.shares || self.has_lock(id) {
            return false;
        }
        let (at, cpu) = self.comes(id);
        let others = self.options.costs.sharing.beside_lock;
        let mut lines = self.lines.borrow_mut();
        let (wait, presumed) = lines.queue_for(pool.lines.lock, at, cpu, others);
        drop(lines);
        self.worker(id, |w| w.has_lock = Some((self.now(), presumed)));
        self.burn_more(id, wait);
        wait > 0
    }

    pub(super) fn has_lock(&self, id: ThreadId) -> bool {
        self.worker(id, |w| w.has_lock.is_some())
    }

    /// The worker has taken an item of the row, and has brought others to the front for that or
    /// not. Whether somebody else had it.
    pub(super) fn charge_row(&self, id: ThreadId, pool: &Pool, before: &Before) -> bool {
        if !self.shares {
            return false;
        }
        let waited = || self.lines.borrow().stats(pool.lines.row).waited_ns;
        let had_waited = waited();
        let taken = self.row_taken(id, pool);
        self.burn_more(id, taken);
        let (_, behind) = pool.inbox.borrow().rowed();
        let taken = self.behind_taken(id, pool, before.rowed.1..behind);
        self.burn_more(id, taken);
        waited() > had_waited
    }

    /// What is behind in the row was used so often.
    fn behind_taken(&self, id: ThreadId, pool: &Pool, uses: std::ops::Range<u64>) -> Nanos {
        let held = self.options.costs.sharing.row;
        uses.map(|_| self.line_write(id, pool.lines.behind, held))
            .sum()
    }

    /// The lock of the row was taken, and what stands there was read or written.
    fn row_taken(&self, id: ThreadId, pool: &Pool) -> Nanos {
        let held = self.options.costs.sharing.row;
        let (at, cpu) = self.comes(id);
        let mut lines = self.lines.borrow_mut();
        lines.hold(pool.lines.row, at, cpu, 1, held)
    }

    /// The acting thread has left an item in this tray of the inbox.
    pub(crate) fn charge_leave(&self, pool: &Pool, tray: usize) {
        if let Some(id) = self.acting.get().filter(|_| self.shares) {
            let leave = self.options.costs.sharing.leave;
            let taken = self.line_write(id, pool.lines.trays[tray], leave);
            self.burn_more(id, taken);
        }
    }

    /// The thread begins an item, which was queued elsewhere.
    pub(super) fn charge_execution(&self, id: ThreadId, item: ItemId) {
        if self.shares {
            let costs = &self.options.costs.sharing;
            let (_, cpu) = self.comes(id);
            let from = self.items.borrow().item(item).queued_on as usize;
            let trip = self.lines.borrow().trip(from, cpu);
            let carried = trip * u64::from(costs.carried) / 1000;
            self.burn_more(id, costs.execution + carried);
        }
    }

    /// The acting thread wakes a worker that has parked.
    pub(super) fn charge_wake(&self) {
        if let Some(id) = self.acting.get() {
            self.burn_more(id, self.options.costs.wake);
        }
    }

    fn line_write(&self, id: ThreadId, line: LineId, held: Nanos) -> Nanos {
        let (at, cpu) = self.comes(id);
        self.lines.borrow_mut().write(line, at, cpu, held)
    }

    /// When the thread comes to what it does next, and where: it has first to burn what its last
    /// steps cost.
    fn comes(&self, id: ThreadId) -> (Time, usize) {
        let sched = self.sched();
        let at = self.now().after(sched.overhead_of(id));
        (at, sched.cpu_of(id))
    }

    fn burn_more(&self, id: ThreadId, nanos: Nanos) {
        if nanos > 0 {
            self.sched().add_overhead(id, nanos);
        }
    }

    /// What happened to the lines of the words that pools share, as far as they travelled between
    /// pools: the budget, and limits by number.
    pub fn word_lines(&self) -> Vec<LineStats> {
        let (lines, words) = (self.lines.borrow(), self.shared_words.borrow());
        words.iter().map(|&(line, _)| lines.stats(line)).collect()
    }

    /// What happened to the lines of the pool's row: of its front, and of what stands behind.
    pub fn row_lines(&self, pool: PoolId) -> [LineStats; 2] {
        let (lines, pool) = (self.lines.borrow(), self.pool(pool));
        [pool.lines.row, pool.lines.behind].map(|line| lines.stats(line))
    }

    /// What happened to the line of the pool's lock, and to those of its inbox.
    pub fn pool_lines(&self, pool: PoolId) -> (LineStats, Vec<LineStats>) {
        let (lines, pool) = (self.lines.borrow(), self.pool(pool));
        let trays = pool.lines.trays.iter().map(|&line| lines.stats(line));
        (lines.stats(pool.lines.lock), trays.collect())
    }
}
