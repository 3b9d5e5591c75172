//! Gates: closed, and once opened open for ever.

use crate::api::names::Gate;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::gate::GateState;
use crate::state::thread::Sleep;

impl Machine {
    /// A new gate, closed.
    pub fn gate(&self) -> Gate {
        let mut gates = self.gates.borrow_mut();
        gates.push(GateState::default());
        Gate(gates.len() as u32 - 1)
    }

    fn with_gate<R>(&self, gate: Gate, look: impl FnOnce(&mut GateState) -> R) -> R {
        look(&mut self.gates.borrow_mut()[gate.0 as usize])
    }

    /// Whether a gate is open.
    pub fn is_open(&self, gate: Gate) -> bool {
        self.with_gate(gate, |g| g.open)
    }

    /// Opens a gate: who waits for it wakes up.
    pub fn open(&self, gate: Gate) {
        self.with_gate(gate, |g| g.open = true);
        for id in self.with_gate(gate, |g| std::mem::take(&mut g.waiting)) {
            self.wake(id);
        }
        for id in self.with_gate(gate, |g| std::mem::take(&mut g.spinning)) {
            self.sched().stop_spin(self.now(), id);
        }
        // Calls that wait for a barrier ask whether its gate is open.
        self.progress();
    }

    pub(crate) fn wait_at(&self, id: ThreadId, gate: Gate) {
        self.with_gate(gate, |g| g.waiting.push(id));
        self.sleep(id, Sleep::Gate(gate));
    }

    pub(crate) fn spin_at(&self, id: ThreadId, gate: Gate) {
        self.with_gate(gate, |g| g.spinning.push(id));
        self.sched().spin(id);
    }
}
