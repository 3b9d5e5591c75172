//! `cmwq run`, on the real command and real processes.

mod basics;
mod faults;
mod inherited;
mod order;
mod signals;
mod status;
mod support;
