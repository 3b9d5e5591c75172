//! What every call returns in every state, and how often the item runs in the end.

use cmwq::{Busy, QueueError, Report, Workqueue};

use crate::common::Opens;
use crate::common::alone::alone;
use crate::kit::{Item, KINDS, Kind, cpus, gated, reports, running_on, start, waiter};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Idle,
    /// Queued, and waits for a worker (BH) or for a slot (the others).
    Pending,
    Running,
    RunningPending,
    Disabled,
    RunningDisabled,
}
use State::{Disabled, Idle, Pending, Running, RunningDisabled, RunningPending};

const STATES: [State; 6] = [
    Idle,
    Pending,
    Running,
    RunningPending,
    Disabled,
    RunningDisabled,
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Op {
    Queue,
    QueueOn,
    QueueOnNode,
    Flush,
    Cancel,
    CancelSync,
    Disable,
    DisableSync,
    Enable,
    EnableAndQueue,
}

const OPS: [Op; 10] = [
    Op::Queue,
    Op::QueueOn,
    Op::QueueOnNode,
    Op::Flush,
    Op::Cancel,
    Op::CancelSync,
    Op::Disable,
    Op::DisableSync,
    Op::Enable,
    Op::EnableAndQueue,
];

impl State {
    /// How often it runs if nothing more is done to it.
    fn runs(self) -> usize {
        match self {
            Idle | Disabled => 0,
            Pending | Running | RunningDisabled => 1,
            RunningPending => 2,
        }
    }

    fn is_pending(self) -> bool {
        matches!(self, Pending | RunningPending)
    }

    fn is_running(self) -> bool {
        matches!(self, Running | RunningPending | RunningDisabled)
    }

    fn is_disabled(self) -> bool {
        matches!(self, Disabled | RunningDisabled)
    }
}

impl Op {
    fn returns(self, state: State) -> bool {
        match self {
            Op::Queue | Op::QueueOn | Op::QueueOnNode => {
                !state.is_pending() && !state.is_disabled()
            }
            Op::Flush => state.is_pending() || state.is_running(),
            Op::Cancel | Op::CancelSync | Op::Disable | Op::DisableSync => state.is_pending(),
            Op::Enable => true,
            Op::EnableAndQueue => !state.is_pending(),
        }
    }

    /// How often the item has run in the end.
    fn runs(self, state: State) -> usize {
        match self {
            Op::Flush | Op::Enable => state.runs(),
            Op::Queue | Op::QueueOn | Op::QueueOnNode | Op::EnableAndQueue => {
                state.runs() + usize::from(self.returns(state))
            }
            Op::Cancel | Op::CancelSync | Op::Disable | Op::DisableSync => {
                state.runs() - usize::from(state.is_pending())
            }
        }
    }

    /// How many executions it waits for.
    fn waits_for(self, state: State) -> usize {
        match self {
            Op::Flush => state.runs(),
            Op::CancelSync | Op::DisableSync => usize::from(state.is_running()),
            _ => 0,
        }
    }

    fn call(self, queue: &Workqueue, item: &Item) -> bool {
        match self {
            Op::Queue => was_queued(queue.queue(item)),
            Op::QueueOn => was_queued(queue.queue_on(cpus()[0], item)),
            Op::QueueOnNode => was_queued(queue.queue_on_node(0, item)),
            Op::Flush => item.flush().unwrap(),
            Op::Cancel => item.cancel(),
            Op::CancelSync => item.cancel_sync().unwrap(),
            Op::Disable => item.disable(),
            Op::DisableSync => item.disable_sync().unwrap(),
            Op::Enable => item.enable(),
            Op::EnableAndQueue => was_queued(queue.enable_and_queue(item)),
        }
    }
}

/// The table says of a disabled item what it says of a pending one: false.
fn was_queued(queued: Result<bool, QueueError>) -> bool {
    match queued {
        Err(QueueError::Disabled) => false,
        queued => queued.unwrap(),
    }
}

/// An item in that state, beside one that keeps the queue's only slot, or its only worker, if need
/// be.
struct Scene {
    queue: Workqueue,
    item: Item,
    blocker: Option<Item>,
}

impl Scene {
    fn new(kind: Kind, state: State) -> Self {
        let queue = kind.narrow();
        let blocker = (state == Pending).then(|| running_on(&queue));
        let item = gated();
        if state.is_running() {
            start(&queue, &item);
        }
        if state.is_pending() {
            assert_eq!(queue.queue_on(cpus()[0], &item), Ok(true));
        }
        if state.is_disabled() {
            item.disable();
        }
        Scene {
            queue,
            item,
            blocker,
        }
    }

    fn busy(&self) -> (bool, bool) {
        let Busy { pending, running } = self.item.busy();
        assert_eq!(pending, self.item.is_pending());
        (pending, running)
    }

    fn open(&self) {
        self.item.data().gate.open();
        self.blocker
            .iter()
            .for_each(|blocker| blocker.data().gate.open());
    }

    /// Calls it, and lets the executions end that it waits for. What it returned.
    fn call(&self, op: Op, state: State) -> bool {
        let waits = op.waits_for(state);
        if waits == 0 {
            // It returns although nothing can end.
            return op.call(&self.queue, &self.item);
        }
        std::thread::scope(|scope| {
            let call = waiter(scope, || {
                (op.call(&self.queue, &self.item), self.item.data().ended())
            });
            assert!(!call.is_finished(), "it does not wait");
            self.open();
            let (returned, ended) = call.join().unwrap();
            assert_eq!(ended, waits, "executions that had ended when it returned");
            returned
        })
    }
}

impl Drop for Scene {
    /// A test that fails lets the items end, so that the queue can.
    fn drop(&mut self) {
        self.open();
    }
}

fn check(kind: Kind, state: State, op: Op) {
    let scene = Scene::new(kind, state);
    assert_eq!(scene.busy(), (state.is_pending(), state.is_running()));
    assert_eq!(scene.call(op, state), op.returns(state), "returned");
    scene.open();
    scene.queue.flush().unwrap();
    assert_eq!(scene.busy(), (false, false));
    assert_eq!(scene.item.data().ended(), op.runs(state), "executions");
    assert_eq!(
        scene.item.data().inside.peak(),
        usize::from(op.runs(state) > 0)
    );
}

#[test]
fn every_call_in_every_state() {
    alone("states::every_call_in_every_state", || {
        let reports = reports();
        for kind in KINDS {
            for state in STATES {
                for op in OPS {
                    let what =
                        format!("{op:?} of an item that is {state:?} on a queue of {kind:?}");
                    let result = std::panic::catch_unwind(|| check(kind, state, op));
                    assert!(result.is_ok(), "{what}");
                }
            }
        }
        // Enabling what is not disabled is reported each time: 2 calls, in 4 states.
        let is_underflow = |report: &&Report| matches!(report, Report::EnableUnderflow { .. });
        let underflows = reports.lock().unwrap().iter().filter(is_underflow).count();
        assert_eq!(underflows, KINDS.len() * 2 * 4);
    });
}

#[test]
fn a_frozen_item_is_pending_and_can_be_cancelled() {
    alone(
        "states::a_frozen_item_is_pending_and_can_be_cancelled",
        || {
            let queue = Workqueue::builder("freezable").freezable().build().unwrap();
            let item = gated();
            let _opens = Opens(&item.data().gate);
            cmwq::freezer::freeze();
            assert!(queue.queue(&item) == Ok(true) && queue.queue(&item) == Ok(false));
            assert_eq!(
                item.busy(),
                Busy {
                    pending: true,
                    running: false
                }
            );
            assert!(item.cancel() && !item.cancel());
            assert_eq!(queue.queue(&item), Ok(true));
            cmwq::freezer::thaw();
            item.data().has_begun(1);
        },
    );
}
