//! Queues of all kinds on real threads: order, CPUs, limits, attributes, freezing, CPUs that go and
//! come, rescuers, the watchdog of worklists and of slots, and what items leave behind. By order,
//! gates and counters, not by the clock.

#[path = "../common/mod.rs"]
mod common;
mod kit;

mod brief;
mod changes;
mod closing;
mod fifo;
mod freeze;
mod hogs;
mod hotplug;
mod inside;
mod kinds;
mod leftovers;
mod ordered;
mod percpu;
mod rescuer;
mod starvation;
mod watchdog;
