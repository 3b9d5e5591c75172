//! One pool under one lock, as this project was at commit 8f19024: who queues takes it, and who
//! ends an item and takes the next.

use std::collections::VecDeque;

use super::constants::{BESIDE_LOCK, ONE_LOCK, ONE_LOCK_HELD, Private};
use super::world::{Cx, Pool, Task};
use crate::cpu::lines::LineId;

pub(super) struct OneLock {
    lock: LineId,
    items: VecDeque<Task>,
}

impl OneLock {
    pub(super) fn new(cx: &mut Cx<'_>) -> OneLock {
        OneLock {
            lock: cx.lines.add(),
            items: VecDeque::new(),
        }
    }
}

impl Pool for OneLock {
    const PRIVATE: Private = ONE_LOCK;
    const LOOKS: u32 = 0;

    fn queue(&mut self, cx: &mut Cx<'_>, task: Task) {
        cx.hold(self.lock, BESIDE_LOCK, ONE_LOCK_HELD.0);
        self.items.push_back(task);
        cx.wake_first();
    }

    fn take(&mut self, cx: &mut Cx<'_>) -> Option<Task> {
        cx.hold(self.lock, BESIDE_LOCK, ONE_LOCK_HELD.1);
        self.items.pop_front()
    }

    fn lines(&self) -> (Vec<LineId>, Vec<LineId>) {
        (vec![self.lock], Vec::new())
    }
}
