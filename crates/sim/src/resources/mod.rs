//! What threads and items share beside CPUs and queues: locks, semaphores, devices, data that has a
//! home.
//!
//! Each kind is a table of plain values in `state/`; a module here has what may be done to one
//! kind.

mod data;
mod device;
mod lock;
mod pass;
mod semaphore;
