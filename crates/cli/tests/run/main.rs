//! `cmwq run`, on the real command and real processes.

mod basics;
mod container;
mod faults;
mod gnu;
mod growth;
mod habits;
mod halt;
mod inherited;
mod joblog;
mod liberties;
mod long;
mod memory;
mod options;
mod order;
mod pipe;
mod processes;
mod room;
mod signals;
mod status;
mod support;
mod tables;
mod terminal;
mod trees;
mod values;
