//! Queues and items of `cmwq` by their names.

use super::face::Run;
use crate::op::Name;
use cmwq::{Work, Workqueue};
use std::collections::BTreeMap;
use std::sync::Mutex;

pub(super) struct Stage {
    pub(super) run: Run,
    pub(super) items: Mutex<BTreeMap<Name, Work>>,
    pub(super) queues: Mutex<BTreeMap<Name, Workqueue>>,
}
