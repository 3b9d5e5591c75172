//! One thread's turn: its acts, from getting the CPU until it burns, sleeps, ends, or loses the
//! CPU.

use crate::api::act::Act;
use crate::api::call::Call;
use crate::api::trace::What;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::event::Event;
use crate::state::pending::Reply;
use crate::state::thread::Sleep;

impl Machine {
    pub(crate) fn turn(&self, id: ThreadId) {
        while self.may_act(id) {
            self.count_act(id);
            match self.next_act(id) {
                // It may have moved itself away from its CPU: then it does this when it has one.
                Some(act) if !self.may_act(id) => self.frame(id, |f| f.act = Some(act)),
                Some(act) => self.perform(id, act),
                None => self.work(id),
            }
        }
    }

    /// It has a CPU, and nothing to burn there.
    fn may_act(&self, id: ThreadId) -> bool {
        self.sched().is_acting(id)
    }

    /// What the thread does next; `None`: it is a worker that executes nothing.
    fn next_act(&self, id: ThreadId) -> Option<Act> {
        let said = self.frame(id, |f| f.act.take());
        let runs = self.program(id, |p| p.is_some());
        let ask = || {
            let answer = self.frame(id, |f| f.answer.take());
            self.ask_program(id, answer)
        };
        said.or_else(|| runs.then(ask))
    }

    fn perform(&self, id: ThreadId, act: Act) {
        match act {
            Act::Burn(0) => {}
            Act::Burn(nanos) => self.sched().burn(id, nanos),
            Act::SpinUntil(latch) | Act::Wait(latch) if self.is_open(latch) => {}
            Act::SpinUntil(latch) => self.spin_at(id, latch),
            Act::Wait(latch) => self.wait_at(id, latch),
            Act::Sleep(nanos) => {
                self.after(nanos, Event::Wake(id));
                self.sleep(id, Sleep::Event);
            }
            Act::Await(nanos) => self.await_event(id, nanos),
            Act::Hint(begins) => self.hint(id, begins),
            Act::Call(call) => self.perform_call(id, call),
            Act::Lock(lock) => self.acquire(id, lock),
            Act::Unlock(lock) => self.release(id, lock),
            Act::Pass(lock) => self.pass(id, lock),
            Act::Take(sem) => self.take_semaphore(id, sem),
            Act::Post(sem) => self.post(sem),
            Act::Io(device, bytes) => self.io(id, device, bytes),
            Act::Submit(device, bytes, then) => self.submit(id, device, bytes, then),
            Act::Touch(data, bytes) => self.touch(id, data, bytes),
            Act::Yield => self.sched().yield_now(self.now(), id),
            Act::End => self.end(id),
        }
    }

    fn perform_call(&self, id: ThreadId, call: Call) {
        self.observed(|o| o.called(self, id, &call));
        let costs = self.options.costs.call;
        if costs > 0 {
            self.sched().add_overhead(id, costs);
        }
        match self.call(id, call) {
            Reply::Done(answer) => self.answer(id, answer),
            Reply::Wait(pending) => self.wait_in_call(id, pending),
            Reply::Claimed => {}
        }
    }

    /// The program is over: the item, or the thread.
    fn end(&self, id: ThreadId) {
        self.program(id, |p| *p = None);
        if self.is_claiming(id) {
            return self.claim_over(id);
        }
        if self.execution_of(id).is_some() {
            return self.item_over(id);
        }
        self.note(id, What::Exit);
        self.sched().exit(self.now(), id);
    }
}
