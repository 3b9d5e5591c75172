//! What each worker does: `cmwq dump`. Those that are at the same place are said once.

use std::collections::HashMap;
use std::fmt::Write;

use cmwq_stats::{Pool, Worker};

use super::shares::{Share, Shares};
use super::target::Seen;
use super::text::{add, left_out, settings, top};
use super::words::{clean, item_name, short};

/// Workers, or groups of them, that are shown; a hostile page could have millions.
const MOST: usize = 10_000;
/// Lines of a stack.
const MOST_FRAMES: usize = 64;
/// Threads of a group that are named.
const MOST_NAMED: usize = 16;

/// Queues and pools as in `top`, the settings of queues, and what each worker does. `all`: each on
/// a line of its own.
pub(super) fn dump(seen: &Seen, shares: &Shares, all: bool) -> String {
    let mut out = top(seen, None);
    add!(out, "\nSettings:");
    let queues = &seen.snapshot.queues;
    for queue in queues.iter().take(MOST) {
        add!(out, "  {}", settings(queue));
    }
    left_out(&mut out, queues.len(), MOST);
    add!(out, "\nWorkers:");
    let groups = groups(seen, all);
    for group in groups.iter().take(MOST) {
        of_group(&mut out, group, seen, shares);
    }
    left_out(&mut out, groups.len(), MOST);
    out
}

/// Workers of a pool that execute the same at the same place.
struct Group<'a> {
    pool: &'a Pool,
    workers: Vec<&'a Worker>,
}

/// In the order of the page, the longest execution of a group first.
fn groups(seen: &Seen, all: bool) -> Vec<Group<'_>> {
    let mut groups: Vec<Group> = Vec::new();
    let mut by_what = HashMap::new();
    for (at, pool) in seen.snapshot.pools.iter().enumerate() {
        for worker in &pool.busy {
            let next = groups.len();
            let known = match all {
                true => next,
                false => *by_what.entry((at, what(worker))).or_insert(next),
            };
            if known == next {
                let workers = Vec::new();
                groups.push(Group { pool, workers });
            }
            groups[known].workers.push(worker);
        }
    }
    for group in &mut groups {
        let since = |worker: &&Worker| std::cmp::Reverse(worker.since);
        group.workers.sort_by_key(since);
    }
    groups
}

/// What makes two workers the same to a reader.
fn what(worker: &Worker) -> (u64, &str, &str, &str, &str, &str) {
    let (call, frames) = spot(&worker.place);
    let Worker {
        queue,
        item,
        desc,
        awaits,
        ..
    } = worker;
    (*queue, item, desc, awaits, call, frames)
}

/// Of the place of a thread: its system call, with what that is about, and the frames below. Other
/// arguments are addresses on the thread's own stack, or numbers that change from call to call.
fn spot(place: &str) -> (&str, &str) {
    let (call, frames) = place.split_once('\n').unwrap_or((place, ""));
    let end = match call.find('(') {
        Some(open) if is_telling(call, open) => call.find(',').unwrap_or(call.len()),
        Some(open) => open,
        None => call.len(),
    };
    (&call[..end], frames)
}

/// Whether the first argument of a call says more than an address would: a futex, or a small number
/// such as a descriptor.
fn is_telling(call: &str, open: usize) -> bool {
    let first = call[open + 1..].split([',', ')']).next();
    let digits = first.and_then(|first| first.trim().strip_prefix("0x"));
    let number = digits.and_then(|digits| u64::from_str_radix(digits, 16).ok());
    call[..open].ends_with(" futex") || number.is_some_and(|number| number < 1 << 16)
}

fn of_group(out: &mut String, group: &Group, seen: &Seen, shares: &Shares) {
    let Some((first, others)) = group.workers.split_first() else {
        return;
    };
    of_worker(out, group.pool, first, seen);
    others_of(out, others);
    shares_of(out, group, shares);
}

/// The workers of a group but for the first, which has run longest.
fn others_of(out: &mut String, others: &[&Worker]) {
    let (Some(longest), Some(shortest)) = (others.first(), others.last()) else {
        return;
    };
    let named = others.iter().take(MOST_NAMED);
    let named: Vec<String> = named.map(|worker| worker.tid.to_string()).collect();
    let and_so_on = match others.len() > MOST_NAMED {
        true => ", ...",
        false => "",
    };
    add!(
        out,
        "    and {} more in the same place, for {} to {}: {}{and_so_on}",
        others.len(),
        short(shortest.since),
        short(longest.since),
        named.join(", ")
    );
}

/// How much of a CPU those of the group have that compute. Of those that wait for something else
/// nobody wants to know.
fn shares_of(out: &mut String, group: &Group, shares: &Shares) {
    let workers = group.workers.iter();
    let shares = workers.filter_map(|worker| shares.get(&worker.tid));
    let busy: Vec<Share> = shares.copied().filter(|share| share.is_busy()).collect();
    match busy.as_slice() {
        [] => {}
        [share] => {
            add!(out, "    {}", share.words());
        }
        several => {
            add!(out, "    {}", Share::words_of(several));
        }
    }
}

pub(super) fn of_worker(out: &mut String, pool: &Pool, worker: &Worker, seen: &Seen) {
    let _ = write!(
        out,
        "  pool {} thread {} executes {} of queue \"{}\" for {}",
        pool.id,
        worker.tid,
        item_name(&worker.item),
        clean(&worker.queue_name),
        short(worker.since)
    );
    if !worker.desc.is_empty() {
        let _ = write!(out, " ({})", clean(&worker.desc));
    }
    if !worker.awaits.is_empty() {
        let _ = write!(out, ", and waits for {}", clean(&worker.awaits));
    }
    let others = seen.others_at_its_futex(worker);
    if others > 0 {
        let _ = write!(out, ", with {others} others at the same futex");
    }
    for (number, place) in worker.place.lines().take(MOST_FRAMES).enumerate() {
        let lead = if number == 0 { "; it " } else { "\n    " };
        let _ = write!(out, "{lead}{}", clean(place.trim_start()));
    }
    out.push('\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::live::rig::{queue, seen, worker};
    use cmwq_stats::{Queue, WaitReason};

    fn at(tid: i32, place: &str) -> Worker {
        Worker {
            place: place.into(),
            since: tid as u64 * 1_000_000,
            ..worker(tid, "send")
        }
    }

    fn dumped(busy: Vec<Worker>, all: bool) -> String {
        let mut seen = seen();
        seen.snapshot.pools[0].busy = busy;
        dump(&seen, &Shares::new(), all)
    }

    #[test]
    fn what_a_process_says_cannot_command_the_terminal() {
        let evil = "\x1b[2J\r\n\u{9b}\u{202e}\u{200b}name";
        let mut seen = seen();
        seen.snapshot.queues = vec![Queue {
            name: evil.into(),
            waits: vec![
                WaitReason {
                    items: u64::MAX,
                    why: evil.into()
                };
                2
            ],
            ..queue(1, evil, 0)
        }];
        let worker = Worker {
            item: evil.into(),
            place: evil.into(),
            ..Worker::default()
        };
        seen.snapshot.pools[0].busy = vec![worker];
        let text = dump(&seen, &Shares::new(), false);
        let commands = ['\x1b', '\r', '\u{9b}', '\u{202e}', '\u{200b}'];
        assert!(!text.contains(commands), "{text}");
    }

    #[test]
    fn who_sleeps_at_one_futex_is_counted() {
        let busy = vec![
            at(1, "sleeps in futex(0x10, 0x1)"),
            at(2, "sleeps in futex(0x10, 0x2)"),
            at(3, "sleeps in futex(0x1, 0x2)"),
            at(4, "runs, or waits for a CPU"),
        ];
        let text = dumped(busy, true);
        let beside = "with 1 others at the same futex";
        assert_eq!(text.matches(beside).count(), 2, "{text}");
    }

    #[test]
    fn workers_in_the_same_place_are_said_once() {
        let mut busy: Vec<Worker> = (1..=20)
            .map(|tid| at(tid, &format!("sleeps in futex(0x10, {tid:#x})\n  do_futex")))
            .collect();
        busy.push(at(21, "sleeps in futex(0x20, 0x1)\n  do_futex"));
        busy.push(at(22, "sleeps in futex(0x10, 0x1)\n  another_frame"));
        let text = dumped(busy.clone(), false);
        assert_eq!(text.matches(" executes send of queue").count(), 3, "{text}");
        let more = "thread 20 executes send of queue \"starved\" for 20ms, with 20 others at the \
                    same futex; it sleeps in futex(0x10, 0x14)\n    do_futex\n    and 19 more in \
                    the same place, for 1ms to 19ms: 19, 18, 17, 16, 15, 14, 13, 12, 11, 10, 9, 8, \
                    7, 6, 5, 4, ...\n";
        assert!(text.contains(more), "{text}");
        let all = dumped(busy, true);
        assert_eq!(all.matches(" executes send of queue").count(), 22, "{all}");
        assert!(!all.contains("in the same place"));
    }

    #[test]
    fn arguments_that_differ_by_thread_make_no_difference() {
        for (one, other, same) in [
            (
                "sleeps in nanosleep(0x7ffe1230, 0x0)",
                "sleeps in nanosleep(0x7ffe9990, 0x0)",
                true,
            ),
            (
                "sleeps in read(0x5, 0x7ffe1230)",
                "sleeps in read(0x5, 0x7ffe9990)",
                true,
            ),
            (
                "sleeps in read(0x5, 0x7ffe1230)",
                "sleeps in read(0x6, 0x7ffe1230)",
                false,
            ),
            (
                "sleeps in futex(0x10000010, 0x1)",
                "sleeps in futex(0x10000018, 0x1)",
                false,
            ),
            ("sleeps in read(0x5)", "sleeps in write(0x5)", false),
            ("sleeps", "runs, or waits for a CPU", false),
            ("x(", "x(", true),
            ("", "\n", true),
        ] {
            assert_eq!(spot(one) == spot(other), same, "{one} and {other}");
        }
    }

    #[test]
    fn workers_that_share_a_cpu_are_summed() {
        let mut seen = seen();
        let runs = "runs, or waits for a CPU";
        seen.snapshot.pools[0].busy = vec![at(1, runs), at(2, runs)];
        let share = |ran, waited| Share { ran, waited };
        let shares = [(1, share(30, 70)), (2, share(40, 60))].into();
        let text = dump(&seen, &shares, false);
        let both = "in 100 ms they ran for 70 % and waited for a CPU for 130 %, all together";
        assert!(text.contains(both), "{text}");
    }
}
