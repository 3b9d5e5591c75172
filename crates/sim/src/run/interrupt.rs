//! The interrupt of a device: a request was served, and what follows from that.

use cmwq_policy::contract;
use cmwq_policy::queue::Caller;

use crate::api::act::Completion;
use crate::api::names::{DeviceId, ItemId, QueueId};
use crate::api::trace::What;
use crate::machine::Machine;
use crate::state::device::Request;

impl Machine {
    /// An interrupt: the device has served this request.
    pub(super) fn io_done(&self, device: DeviceId, request: Request) {
        let now = self.now();
        let cpu = self.interrupted_cpu(request.cpu);
        self.with_device(device, |d| d.end(now, &request));
        self.in_interrupt(cpu, || {
            self.note_at(cpu, request.thread, What::IoEnd(device));
            self.serve(device);
            match request.then {
                None => self.wake(request.thread),
                Some(Completion::Nothing) => {}
                Some(Completion::Post(sem)) => self.post(sem),
                Some(Completion::Bring(sem, number)) => {
                    self.bring(sem, number);
                    self.post(sem);
                }
                Some(Completion::Queue { queue, item }) => {
                    let queued = self.queue_in_interrupt(queue, item);
                    self.note_at(cpu, request.thread, What::Queued(queue, item, queued));
                }
            }
        });
    }

    /// Where an interrupt for this CPU happens.
    fn interrupted_cpu(&self, cpu: usize) -> usize {
        let online = self.sched().online();
        if online.contains(cpu) {
            return cpu;
        }
        online.iter().next().expect("a CPU is in use")
    }

    fn queue_in_interrupt(&self, queue: QueueId, item: ItemId) -> bool {
        let admitted = self.admission(queue).admits(|| Caller::Outside);
        admitted.is_ok() && contract::queue(self, queue, None, item).is_ok()
    }
}
