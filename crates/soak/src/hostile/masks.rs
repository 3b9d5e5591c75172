//! Somebody else changes the CPUs of the process and of its threads.

use std::sync::OnceLock;

use crate::rng::Rng;

static ALL: OnceLock<libc::cpu_set_t> = OnceLock::new();

fn get(tid: i32) -> libc::cpu_set_t {
    // SAFETY: an empty set is a valid one.
    let mut set: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: the kernel fills the set.
    unsafe { libc::sched_getaffinity(tid, size_of_val(&set), &mut set) };
    set
}

fn set(tid: i32, set: &libc::cpu_set_t) {
    // SAFETY: the kernel reads the set. A thread that has ended has no mask.
    unsafe { libc::sched_setaffinity(tid, size_of_val(set), set) };
}

/// Before anybody changes them.
pub(crate) fn note() {
    ALL.get_or_init(|| get(0));
}

fn tids() -> Vec<i32> {
    let entries = std::fs::read_dir("/proc/self/task").into_iter().flatten();
    let names = entries
        .flatten()
        .filter_map(|entry| entry.file_name().into_string().ok());
    names.filter_map(|name| name.parse().ok()).collect()
}

/// Some threads, or all, or the first one, get one CPU, or all.
pub(crate) fn change(rng: &mut Rng) {
    let Some(all) = ALL.get() else { return };
    let cpus: Vec<usize> = (0..libc::CPU_SETSIZE as usize)
        // SAFETY: within the set.
        .filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, all) })
        .collect();
    let cpu = cpus[rng.below(cpus.len())];
    // SAFETY: an empty set is a valid one.
    let mut one: libc::cpu_set_t = unsafe { std::mem::zeroed() };
    // SAFETY: within the set.
    unsafe { libc::CPU_SET(cpu, &mut one) };
    let mask = if rng.one_in(2) { *all } else { one };
    match rng.below(3) {
        0 => set(std::process::id() as i32, &mask),
        1 => tids().into_iter().for_each(|tid| set(tid, &mask)),
        _ => tids()
            .into_iter()
            .filter(|_| rng.one_in(4))
            .for_each(|tid| set(tid, &mask)),
    }
}

/// As it was.
pub(crate) fn rest() {
    if let Some(all) = ALL.get() {
        tids().into_iter().for_each(|tid| set(tid, all));
    }
}
