//! Items that a face waits for together.

use std::ptr::NonNull;

use crate::item::Header;

/// Items that are waited for together, as a face knows them.
///
/// # Safety
/// What is shown is a header, which stays in memory until `show` has returned.
pub unsafe trait Members: Sync {
    /// Shows each that has not ended.
    fn show(&self, show: &mut dyn FnMut(NonNull<Header>));
}

/// Members that whoever waits for them keeps.
#[derive(Clone, Copy, Debug)]
pub struct Group(NonNull<dyn Members>);

impl Group {
    /// They stay where they are until the wait that names the group is over.
    pub fn of(members: &(dyn Members + 'static)) -> Self {
        Group(NonNull::from(members))
    }
}

impl Group {
    /// Shows each member that has not ended.
    pub(crate) fn show(self, show: &mut dyn FnMut(NonNull<Header>)) {
        // SAFETY: whoever waits for them keeps them, and somebody does: the group is in the graph
        // of waits.
        unsafe { self.0.as_ref() }.show(show);
    }
}
