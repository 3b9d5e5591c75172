//! Devices: some requests are served at a time, the others queue up.

use crate::api::act::Completion;
use crate::api::names::DeviceId;
use crate::api::report::DeviceStats;
use crate::api::specs::DeviceSpec;
use crate::api::trace::What;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::device::{Device, Request};
use crate::state::event::Event;
use crate::state::resources::add;
use crate::state::thread::Sleep;

impl Machine {
    /// A new device.
    ///
    /// # Panics
    /// If its depth is 0, or its jitter more than 1000.
    pub fn device(&self, spec: DeviceSpec) -> DeviceId {
        let number = self.resources.devices.borrow().len() as u64;
        let random = self.random.devices.stream(number);
        let device = Device::new(spec, random, self.now());
        DeviceId(add(&self.resources.devices, device))
    }

    pub(crate) fn with_device<R>(&self, id: DeviceId, look: impl FnOnce(&mut Device) -> R) -> R {
        let mut table = self.resources.devices.borrow_mut();
        let found = table.get_mut(id.0 as usize);
        look(found.unwrap_or_else(|| panic!("there is no device {}", id.0)))
    }

    /// What a device has done up to now.
    ///
    /// # Panics
    /// If there is no such device.
    pub fn device_stats(&self, id: DeviceId) -> DeviceStats {
        let now = self.now();
        self.with_device(id, |d| {
            d.account(now);
            d.stats
        })
    }

    /// The running thread sleeps until the device has served it.
    pub(crate) fn io(&self, thread: ThreadId, device: DeviceId, bytes: u64) {
        self.request(thread, device, bytes, None);
        self.sleep(thread, Sleep::Event);
    }

    /// The running thread goes on; the device serves it some time.
    pub(crate) fn submit(&self, thread: ThreadId, device: DeviceId, bytes: u64, then: Completion) {
        self.request(thread, device, bytes, Some(then));
    }

    fn request(&self, thread: ThreadId, device: DeviceId, bytes: u64, then: Option<Completion>) {
        let cpu = self.sched().cpu_of(thread);
        let request = Request {
            thread,
            cpu,
            bytes,
            then,
        };
        self.with_device(device, |d| d.add(request));
        self.serve(device);
    }

    pub(crate) fn serve(&self, device: DeviceId) {
        let now = self.now();
        while let Some((request, takes)) = self.with_device(device, |d| d.begin(now)) {
            self.note_at(request.cpu, request.thread, What::IoBegin(device));
            self.after(takes, Event::IoDone(device, request));
        }
    }
}
