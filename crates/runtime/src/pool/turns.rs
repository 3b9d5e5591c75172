//! Turns of a queue's pools for its free slots. Each pool gives one away and says whose turn is next: carried
//! out where it is said, that would be as deep a recursion as there are slots.

use std::cell::RefCell;
use std::collections::VecDeque;

use crate::pwq::PwqRef;

/// Whose turn it is, while the thread is carrying out that of another; `None` while it is not.
type Next = Option<VecDeque<PwqRef>>;

thread_local! {
    static NEXT: RefCell<Next> = const { RefCell::new(None) };
}

/// Carries out a turn, which the caller holds: now, or where this is called in `carry_out`, after that.
pub(super) fn take(pwq: PwqRef, carry_out: impl Fn(PwqRef)) {
    let nested = with(|next| {
        let nested = next.is_some();
        next.get_or_insert_default().push_back(pwq);
        nested
    });
    match nested {
        Some(true) => {}
        Some(false) => {
            while let Some(pwq) = with(pop).flatten() {
                carry_out(pwq);
            }
        }
        None => carry_out(pwq),
    }
}

fn pop(next: &mut Next) -> Option<PwqRef> {
    let first = next.as_mut().and_then(VecDeque::pop_front);
    if first.is_none() {
        *next = None;
    }
    first
}

/// `None` at the very end of a thread, in the destructors of its locals.
fn with<R>(act: impl FnOnce(&mut Next) -> R) -> Option<R> {
    NEXT.try_with(|next| act(&mut next.borrow_mut())).ok()
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
