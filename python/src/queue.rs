//! Tasks in the order of submission, and the turns of workers that execute them.
//!
//! A task is no item of the engine: to give the interpreter's lock back after each one, and to ask
//! for it again, would cost more than a small task. What is queued is a *turn*. A worker in its
//! turn attaches to the interpreter once, and executes task after task.
//!
//! * While tasks wait, the next turn is queued. The engine begins it when a CPU would idle, because
//!   the tasks that run have blocked, or because there are too few.
//! * A turn ends when no task is left, or after a [slice] if the engine has something else to run
//!   or if too many wait for the interpreter's lock.
//! * One queue's `max_active` counts turns, so it counts tasks that run.
//!
//! Nobody is left behind: `asked` counts turns that are queued, or on their way to the lock. A turn
//! is taken off it before it looks for tasks, and a task is there before its submitter looks at it.
//! One of them therefore sees the other.

mod left;

use std::cell::Cell;
use std::collections::VecDeque;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicUsize};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::{mem, ptr};

use cmwq::Workqueue;
use cmwq_policy::Time;
use cmwq_policy::interpreter::slice;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyList, PyTuple};

use crate::engine::{self, MakeError, Spec};
use crate::line::{Comer, Coming, Line};
use crate::{gil, hint, name, thread};
pub(crate) use left::leave_parent;

/// What executor, turns and the engine hold of a queue.
struct Shared {
    engine: Workqueue,
    /// Called once in each turn with a [`Turn`], whose tasks it executes.
    serve: Py<PyAny>,
    tasks: Mutex<Tasks>,
    /// Tasks that wait, for who has not locked them.
    waiting: AtomicUsize,
    /// So many turns are queued, or on their way to the interpreter's lock.
    asked: AtomicUsize,
    /// Nobody waits for its tasks at the end of the program.
    is_daemon: AtomicBool,
}

#[derive(Default)]
struct Tasks {
    waiting: VecDeque<Py<PyAny>>,
    /// The turns that execute tasks, and their threads as Python numbers them.
    turns: Vec<(u64, Py<Turn>)>,
    closed: bool,
    /// Locks of Python that are released when nothing waits or runs.
    idle: Vec<Py<PyAny>>,
}

/// Every queue that may have tasks, of this process.
#[derive(Default)]
struct All(Mutex<Vec<Weak<Shared>>>);

/// Of the process that made the last queue: in a forked child, the parent's. It lives for ever.
static LAST: AtomicPtr<All> = AtomicPtr::new(ptr::null_mut());

thread_local! {
    /// The queue whose task the calling thread executes.
    static CURRENT: Cell<*const Shared> = const { Cell::new(ptr::null()) };
}

/// Nothing panics with one of these locks held, and no code of Python runs.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Comer for Shared {
    fn come_again(self: Arc<Self>) {
        // Refused only in a child or after the end, where nobody waits for it.
        let _ = self.queue_turn();
    }

    fn is_empty(&self) -> bool {
        self.waiting.load(SeqCst) == 0
    }

    fn is_one_too_many(&self) -> bool {
        let fewer = |asked| (asked > 1).then(|| asked - 1);
        self.asked.fetch_update(SeqCst, SeqCst, fewer).is_ok()
    }
}

impl Shared {
    /// Has a turn queued if there are tasks and none is.
    fn ask(self: &Arc<Self>) -> Result<(), String> {
        self.ask_up_to(1)
    }

    /// Has another turn queued if there are tasks for it and fewer than `most` are.
    fn ask_up_to(self: &Arc<Self>, most: usize) -> Result<(), String> {
        let most = most.min(self.waiting.load(SeqCst));
        let more = |asked| (asked < most).then(|| asked + 1);
        if self.asked.fetch_update(SeqCst, SeqCst, more).is_err() {
            return Ok(());
        }
        if gil::interval().is_some() && Line::get().defers(self) {
            return Ok(());
        }
        let refused = |why| {
            self.asked.fetch_sub(1, SeqCst);
            why
        };
        self.queue_turn().map_err(refused)
    }

    fn queue_turn(self: &Arc<Self>) -> Result<(), String> {
        let shared = self.clone();
        engine::start(&self.engine, move || shared.turn())
    }

    /// On a worker of the engine.
    fn turn(self: Arc<Self>) {
        if thread::is_over() {
            return;
        }
        let line = Line::get();
        let interval = gil::interval();
        let mut hint = None;
        if interval.is_some() {
            match line.come(&self) {
                Coming::Enters => {}
                Coming::Remembered => return,
                Coming::NothingLeft => {
                    self.asked.fetch_sub(1, SeqCst);
                    line.turned_back();
                    // A task that came meanwhile has seen that a turn was asked for.
                    let _ = self.ask();
                    return;
                }
            }
            // It will wait for the lock, and others may do so beside it.
            hint = line.is_hogged().then(engine::hint);
            let _ = self.ask_up_to(line.width());
        }
        let before = engine::now();
        thread::attached(|py| {
            drop(hint.take());
            let waited = engine::now().since(before);
            let begins = interval.is_none_or(|interval| line.entered(waited, interval));
            self.asked.fetch_sub(1, SeqCst);
            if begins {
                let tid = line.begin();
                self.serve(py, line, tid);
                line.end(tid);
            }
        });
        let _ = self.ask();
    }

    fn serve(self: &Arc<Self>, py: Python<'_>, line: &'static Line, tid: i32) {
        let ident = thread::ident();
        let turn = Turn {
            shared: Arc::downgrade(self),
            line,
            tid,
            forks: thread::forks(),
            state: Mutex::new(State {
                since: engine::now(),
                begun: false,
                over: false,
                shown: String::new(),
                future: None,
            }),
        };
        let before = CURRENT.replace(Arc::as_ptr(self));
        let served = Bound::new(py, turn).map(|turn| {
            let listed = (ident, turn.clone().unbind());
            lock(&self.tasks).turns.push(listed);
            loop {
                // What a task raises goes to its future. This is from a callback of one.
                thread::report(py, thread::call(self.serve.bind(py), turn.as_any()));
                if lock(&turn.get().state).over {
                    break;
                }
            }
            let turns = &mut lock(&self.tasks).turns;
            let at = turns.iter().rposition(|(_, other)| other.is(&turn));
            // It is not the last reference, whose end would be code of Python.
            turns.swap_remove(at.expect("it was pushed above"));
        });
        thread::report(py, served);
        CURRENT.set(before);
        self.tell_if_idle(py);
    }

    fn tell_if_idle(&self, py: Python<'_>) {
        let waiters = {
            let mut tasks = lock(&self.tasks);
            match tasks.is_idle() {
                true => mem::take(&mut tasks.idle),
                false => return,
            }
        };
        for waiter in waiters {
            thread::report(py, waiter.call_method0(py, "release").map(drop));
        }
    }
}

impl Tasks {
    fn is_idle(&self) -> bool {
        self.turns.is_empty() && self.waiting.is_empty()
    }
}

/// A worker's turn: an iterator over the tasks that it executes. No other thread has it.
#[pyclass(frozen, module = "cmwq._cmwq")]
pub(crate) struct Turn {
    /// An exception that the program keeps may keep this.
    shared: Weak<Shared>,
    line: &'static Line,
    tid: i32,
    forks: u32,
    state: Mutex<State>,
}

struct State {
    /// When the slice began.
    since: Time,
    /// A task has begun.
    begun: bool,
    over: bool,
    /// What people are told of the last task.
    shown: String,
    /// Of the task that is executed: a child that is forked meanwhile has nobody who completes it.
    future: Option<Py<PyAny>>,
}

#[pymethods]
impl Turn {
    fn __iter__(slf: Py<Self>) -> Py<Self> {
        slf
    }

    /// The task before has ended; the next one, if this turn goes on.
    fn __next__(&self, py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
        // First of all: it may be the end of what the task has left, and that is the program's.
        drop(self.ends());
        if self.is_in_child() {
            return leave_child(py);
        }
        hint::end_all();
        let Some(shared) = self.shared.upgrade() else {
            return Ok(None);
        };
        {
            let mut state = lock(&self.state);
            if state.over || self.gives_way(&mut state) {
                state.over = true;
                return Ok(None);
            }
            state.begun = true;
        }
        let task = {
            let mut tasks = lock(&shared.tasks);
            let task = tasks.waiting.pop_front();
            shared.waiting.store(tasks.waiting.len(), SeqCst);
            task
        };
        // No fork comes between: no code of Python runs.
        let future = task.as_ref().and_then(|task| future_of(task.bind(py)));
        let before = mem::replace(&mut lock(&self.state).future, future);
        drop(before);
        match task {
            Some(_) if shared.is_empty() => self.line.is_empty(),
            // This task may block.
            Some(_) => shared.ask().map_err(PyRuntimeError::new_err)?,
            None => lock(&self.state).over = true,
        }
        if let Some(task) = &task {
            self.show(task.bind(py));
        }
        Ok(task)
    }

    /// A task of this turn has forked, and this is the child.
    fn is_in_child(&self) -> bool {
        self.forks != thread::forks()
    }
}

impl Turn {
    /// Its task is executed no more: whose future that was.
    fn ends(&self) -> Option<Py<PyAny>> {
        lock(&self.state).future.take()
    }

    /// Shows people what the task calls. Whatever has no name is nothing that they miss.
    fn show(&self, task: &Bound<'_, PyAny>) {
        let Ok(name) = name::of_task(task) else {
            return;
        };
        let Ok(name) = name.to_cow() else { return };
        let mut state = lock(&self.state);
        if state.shown != name {
            name.as_ref().clone_into(&mut state.shown);
            engine::describe(&name);
        }
    }

    fn gives_way(&self, state: &mut State) -> bool {
        if !state.begun {
            return false;
        }
        let now = engine::now();
        if now.since(state.since) < slice(gil::interval()) {
            return false;
        }
        state.since = now;
        self.line.is_crowded(self.tid) || engine::others_waiting()
    }
}

/// A task is a tuple that begins with its future.
fn future_of(task: &Bound<'_, PyAny>) -> Option<Py<PyAny>> {
    let task = task.cast::<PyTuple>().ok()?;
    task.get_item(0).ok().map(Bound::unbind)
}

/// A task has forked, and has come back in the child. The thread is that process's only one, and
/// its worker is the parent's: the process ends.
fn leave_child(py: Python<'_>) -> PyResult<Option<Py<PyAny>>> {
    for stream in ["stdout", "stderr"] {
        // A stream may be closed, or None.
        let _ = py
            .import("sys")
            .and_then(|sys| sys.getattr(stream)?.call_method0("flush"));
    }
    py.import("os")?.call_method1("_exit", (0,))?;
    Ok(None)
}

fn refused(error: MakeError) -> PyErr {
    match error {
        MakeError::Argument(why) => PyValueError::new_err(why),
        MakeError::System(why) => PyRuntimeError::new_err(why),
    }
}

/// Tasks, and the queue of the engine whose workers execute them.
#[pyclass(frozen, module = "cmwq._cmwq")]
pub(crate) struct Queue {
    shared: Arc<Shared>,
}

#[pymethods]
impl Queue {
    /// `serve` is called in each turn of a worker, with an iterator over tasks.
    #[new]
    #[pyo3(signature = (serve, name, max_active, nice, affinity_scope, strict, ordered))]
    fn new(
        serve: Py<PyAny>,
        name: &str,
        max_active: Option<usize>,
        nice: i32,
        affinity_scope: Option<&str>,
        strict: bool,
        ordered: bool,
    ) -> PyResult<Self> {
        let spec = Spec {
            name,
            max_active,
            nice,
            scope: affinity_scope,
            strict,
            ordered,
        };
        let shared = Arc::new(Shared {
            engine: engine::make(&spec).map_err(refused)?,
            serve,
            tasks: Mutex::default(),
            waiting: AtomicUsize::new(0),
            asked: AtomicUsize::new(0),
            is_daemon: AtomicBool::new(false),
        });
        let all = engine::state::<All>();
        LAST.store(ptr::from_ref(all).cast_mut(), SeqCst);
        let mut all = lock(&all.0);
        all.retain(|queue| queue.strong_count() > 0);
        all.push(Arc::downgrade(&shared));
        Ok(Queue { shared })
    }

    /// Appends a task. False: the queue is closed.
    fn push(&self, task: Py<PyAny>) -> PyResult<bool> {
        {
            let mut tasks = lock(&self.shared.tasks);
            if tasks.closed {
                return Ok(false);
            }
            tasks.waiting.push_back(task);
            self.shared.waiting.store(tasks.waiting.len(), SeqCst);
        }
        self.shared.ask().map_err(PyRuntimeError::new_err)?;
        Ok(true)
    }

    /// No task is accepted from now on.
    fn close(&self) {
        lock(&self.shared.tasks).closed = true;
    }

    /// Moves all tasks that nobody has begun to the list.
    fn take(&self, to: &Bound<'_, PyList>) -> PyResult<()> {
        let taken = {
            let mut tasks = lock(&self.shared.tasks);
            self.shared.waiting.store(0, SeqCst);
            mem::take(&mut tasks.waiting)
        };
        taken.into_iter().try_for_each(|task| to.append(task))?;
        Line::get().is_empty();
        self.shared.tell_if_idle(to.py());
        Ok(())
    }

    /// Has `lock.release()` called once no task waits or runs. False: so it is now.
    fn when_idle(&self, lock_: Py<PyAny>) -> bool {
        let mut tasks = lock(&self.shared.tasks);
        if tasks.is_idle() {
            return false;
        }
        tasks.idle.push(lock_);
        true
    }

    /// Whether the calling thread executes a task of this queue.
    fn is_current(&self) -> bool {
        CURRENT.get() == Arc::as_ptr(&self.shared)
    }

    /// Tasks that wait.
    fn __len__(&self) -> usize {
        lock(&self.shared.tasks).waiting.len()
    }

    /// The same, by the name that queues of Python have for it.
    fn qsize(&self) -> usize {
        self.__len__()
    }

    /// The identifiers of the threads that execute tasks now.
    fn threads(&self) -> Vec<u64> {
        let turns = &lock(&self.shared.tasks).turns;
        turns.iter().map(|&(ident, _)| ident).collect()
    }

    /// Its tasks do not keep the program from ending, as daemon threads do not.
    fn set_daemon(&self) {
        self.shared.is_daemon.store(true, SeqCst);
    }

    /// Changes `max_active`.
    fn set_max_active(&self, max_active: usize) {
        self.shared.engine.set_max_active(max_active);
    }
}

/// The queues of this process that have tasks or an owner, but for daemons.
#[pyfunction]
pub(crate) fn live_queues() -> Vec<Queue> {
    let Some(All(all)) = engine::existing_state() else {
        return Vec::new();
    };
    // Collected first: the last owner of a queue may be here, and code of Python runs at its end.
    let live: Vec<_> = lock(all).iter().filter_map(Weak::upgrade).collect();
    let waited_for = live
        .into_iter()
        .filter(|queue| !queue.is_daemon.load(SeqCst));
    waited_for.map(|shared| Queue { shared }).collect()
}
