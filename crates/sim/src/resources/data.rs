//! Data with a home: the caches of the CPU that touched it last. Who touches it elsewhere waits for
//! it to come, the longer the farther it is.

use cmwq_policy::Nanos;

use crate::api::names::DataId;
use crate::cpu::ThreadId;
use crate::machine::Machine;
use crate::state::resources::add;

impl Machine {
    /// New data, at home nowhere.
    pub fn data(&self) -> DataId {
        DataId(add(&self.resources.data, None))
    }

    /// The CPU that touched the data last; `None`: nobody has.
    ///
    /// # Panics
    /// If there is no such data.
    pub fn home_of(&self, data: DataId) -> Option<usize> {
        let homes = self.resources.data.borrow();
        *homes.get(data.0 as usize).unwrap_or_else(|| unknown(data))
    }

    /// The data are at home nowhere again, as new ones.
    ///
    /// # Panics
    /// If there are no such data.
    pub fn forget_data(&self, data: DataId) {
        let mut homes = self.resources.data.borrow_mut();
        *homes
            .get_mut(data.0 as usize)
            .unwrap_or_else(|| unknown(data)) = None;
    }

    /// The running thread touches so many bytes of it: burns what it takes to bring them here.
    pub(crate) fn touch(&self, id: ThreadId, data: DataId, bytes: u64) {
        let here = self.sched().cpu_of(id);
        let takes = self
            .home_of(data)
            .map_or(0, |home| self.transfer(home, here, bytes));
        self.resources.data.borrow_mut()[data.0 as usize] = Some(here);
        if takes > 0 {
            self.sched().burn(id, takes);
        }
    }

    /// What it takes to bring so many bytes from one CPU's caches to another's.
    fn transfer(&self, from: usize, to: usize, bytes: u64) -> Nanos {
        let distance = self.topology().distance(from, to);
        let per_kib = self.options.costs.refill[distance as usize];
        let takes = u128::from(per_kib) * u128::from(bytes) / 1024;
        u64::try_from(takes).unwrap_or(u64::MAX)
    }
}

fn unknown(data: DataId) -> ! {
    panic!("there is no data {}", data.0)
}
