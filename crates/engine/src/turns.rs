//! Turns of a queue's pools for its free slots. Each pool gives one slot away and says whose turn
//! is next. If that were carried out where it is said, the recursion would be as deep as there are
//! slots.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::queue::pwq::PwqRef;

/// Of one thread. Its memory stays for the next time.
struct Turns {
    /// It is carrying out one.
    busy: bool,
    /// Whose turn it is after that.
    next: VecDeque<PwqRef>,
}

thread_local! {
    static TURNS: RefCell<Turns> = const {
        RefCell::new(Turns {
            busy: false,
            next: VecDeque::new(),
        })
    };
}

/// Carries out a turn, which the caller holds: now, or where this is called in `carry_out`, after
/// that.
pub(crate) fn take(pwq: PwqRef, carry_out: impl Fn(PwqRef)) {
    let is_nested = with(|turns| {
        let is_nested = std::mem::replace(&mut turns.busy, true);
        if is_nested {
            turns.next.push_back(pwq);
        }
        is_nested
    });
    if is_nested == Some(true) {
        return;
    }
    carry_out(pwq);
    while let Some(pwq) = with(pop).flatten() {
        carry_out(pwq);
    }
}

fn pop(turns: &mut Turns) -> Option<PwqRef> {
    let first = turns.next.pop_front();
    turns.busy = first.is_some();
    first
}

/// `None` at the very end of a thread, in the destructors of its locals.
fn with<R>(act: impl FnOnce(&mut Turns) -> R) -> Option<R> {
    TURNS.try_with(|turns| act(&mut turns.borrow_mut())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;
    use std::ptr::NonNull;

    #[test]
    fn turns_said_in_turns_follow_and_are_no_recursion() {
        let (depth, deepest, turns) = (Cell::new(0), Cell::new(0), Cell::new(0));
        fn turn(pwq: PwqRef, cells: &[&Cell<u32>; 3]) {
            let [depth, deepest, turns] = cells;
            depth.set(depth.get() + 1);
            deepest.set(deepest.get().max(depth.get()));
            turns.set(turns.get() + 1);
            if turns.get() < 1000 {
                take(pwq, |pwq| turn(pwq, cells));
            }
            depth.set(depth.get() - 1);
        }
        take(NonNull::dangling(), |pwq| {
            turn(pwq, &[&depth, &deepest, &turns])
        });
        assert_eq!((deepest.get(), turns.get()), (1, 1000));
        take(NonNull::dangling(), |_| turns.set(0));
        assert_eq!(turns.get(), 0, "and the next one is carried out at once");
    }
}
