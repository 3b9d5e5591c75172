//! What a face may do that is not the Rust one: items that are made at compile time, several
//! functions behind one table, queues by name and kind. The engine's page has a struct whose header
//! is not its first field.

use std::ptr::NonNull;
use std::sync::atomic::Ordering::SeqCst;
use std::sync::atomic::{AtomicPtr, AtomicU32};

use cmwq_engine::error::{BuildError, QueueError};
use cmwq_engine::{
    Header, Latch, Process, QueueSpec, RawItem, RawQueue, Ref, Until, Vtable, worker,
};
use cmwq_policy::queue::Kind;
use cmwq_policy::time::SECOND;

/// As a C struct: the header first, which keeps the item's function, then data.
#[repr(C)]
struct CWork {
    header: Header,
    ran: AtomicU32,
    references: AtomicU32,
}

impl CWork {
    const fn new(func: fn(&CWork)) -> Self {
        CWork {
            header: Header::with_func(&TABLE, func as *const ()),
            ran: AtomicU32::new(0),
            references: AtomicU32::new(0),
        }
    }

    fn raw(&'static self) -> RawItem {
        // SAFETY: it is there for ever, and what it is made of may be used on any thread.
        unsafe { RawItem::new(NonNull::from(self).cast()) }
    }
}

fn of<'a>(header: NonNull<Header>) -> &'a CWork {
    // SAFETY: the header comes first, and each is there for ever.
    unsafe { header.cast().as_ref() }
}

/// One table for all functions.
static TABLE: Vtable = Vtable {
    run: |header| {
        let work = of(header);
        // SAFETY: made of such a function.
        let func = unsafe { std::mem::transmute::<*const (), fn(&CWork)>(work.header.func()) };
        func(work);
        work.references.fetch_sub(1, SeqCst);
    },
    count: |header, what| {
        match what {
            Ref::Taken => of(header).references.fetch_add(1, SeqCst),
            Ref::Dropped => of(header).references.fetch_sub(1, SeqCst),
        };
    },
    name: |func| name(func.addr()),
};

fn name(func: usize) -> &'static str {
    match func {
        func if func == counts as *const () as usize => "counts",
        func if func == says_where as *const () as usize => "says_where",
        _ => "?",
    }
}

fn counts(work: &CWork) {
    work.ran.fetch_add(1, SeqCst);
}

fn queue(name: &str, spec: QueueSpec) -> RawQueue {
    RawQueue::make(Process::get().unwrap(), name, &spec).unwrap()
}

#[test]
fn an_item_that_was_made_at_compile_time_is_queued_again_and_again() {
    static ITEM: CWork = CWork::new(counts);
    let queue = queue("static", QueueSpec::default());
    for round in 1..=100 {
        queue.queue_item(None, ITEM.raw()).unwrap();
        ITEM.raw().flush().unwrap();
        assert_eq!(ITEM.ran.load(SeqCst), round);
    }
    // The worker may be on its way out of the function.
    queue.drain(None).unwrap();
    assert!(!ITEM.raw().is_pending());
}

static SAID: AtomicPtr<String> = AtomicPtr::new(std::ptr::null_mut());

fn says_where(work: &CWork) {
    let (queue, item) = worker::current_work().unwrap();
    let said = Box::new(format!("{item} of {queue}"));
    SAID.store(Box::into_raw(said), SeqCst);
    counts(work);
}

#[test]
fn one_table_serves_several_functions_which_are_told_apart_by_name() {
    static ITEM: CWork = CWork::new(says_where);
    Header::set_names(name);
    let queue = queue("names", QueueSpec::default());
    queue.queue_item(None, ITEM.raw()).unwrap();
    ITEM.raw().flush().unwrap();
    // SAFETY: the item has stored it.
    let said = unsafe { &*SAID.load(SeqCst) };
    assert_eq!(said, "says_where of names");
    assert_eq!(ITEM.raw().name(), "says_where");
}

#[test]
fn what_is_refused_says_why() {
    static ITEM: CWork = CWork::new(counts);
    let queue = queue("refused", QueueSpec::default());
    ITEM.raw().disable();
    let refused = queue.queue_item(None, ITEM.raw());
    assert_eq!(refused, Err(QueueError::Disabled));
    let refused = queue.mod_delayed(None, ITEM.raw(), 0);
    assert_eq!(refused, Err(QueueError::Disabled));
    assert!(ITEM.raw().enable());
    queue.queue_delayed(None, ITEM.raw(), 60 * SECOND).unwrap();
    assert_eq!(queue.queue_item(None, ITEM.raw()), Ok(false));
    assert!(queue.mod_delayed(None, ITEM.raw(), 0).unwrap());
    ITEM.raw().flush().unwrap();
    assert_eq!(ITEM.ran.load(SeqCst), 1);
    assert!(queue.queue_item(Some(usize::MAX), ITEM.raw()).is_err());
}

#[test]
fn an_armed_item_that_is_flushed_runs_at_once() {
    static ITEM: CWork = CWork::new(counts);
    let queue = queue("armed", QueueSpec::default());
    queue.queue_delayed(None, ITEM.raw(), 600 * SECOND).unwrap();
    assert!(ITEM.raw().busy().pending);
    assert!(ITEM.raw().flush_delayed().unwrap(), "it was armed");
    assert_eq!(ITEM.ran.load(SeqCst), 1);
}

#[test]
fn the_kind_of_a_queue_says_what_can_be_asked_of_it() {
    let make = |spec: QueueSpec| RawQueue::make(Process::get().unwrap(), "spec", &spec);
    let of_kind = |kind| QueueSpec {
        kind,
        ..QueueSpec::default()
    };
    let what = |spec: QueueSpec| match make(spec).err() {
        Some(BuildError::NotOfKind { what, kind }) => (what, kind),
        error => panic!("{error:?}"),
    };
    let mut nice = of_kind(Kind::PerCpu);
    nice.attrs.nice = 5;
    assert_eq!(what(nice), ("nice", "percpu"));
    let mut several = of_kind(Kind::Ordered);
    several.max_active = Some(2);
    assert_eq!(what(several), ("max_active", "ordered"));
    let mut rescued = of_kind(Kind::Bh);
    rescued.mem_reclaim = true;
    assert_eq!(what(rescued), ("mem_reclaim", "bh"));
    let mut none = of_kind(Kind::Managed);
    none.max_active = Some(0);
    assert!(matches!(make(none), Err(BuildError::MaxActive(0))));
    assert_eq!(make(of_kind(Kind::Ordered)).unwrap().max_active(), 1);
}

static LATCH: std::sync::OnceLock<Latch> = std::sync::OnceLock::new();

#[test]
fn a_latch_that_an_item_sets_is_waited_for() {
    fn sets(_: &CWork) {
        LATCH.get().unwrap().set();
    }
    static ITEM: CWork = CWork::new(sets);
    let queue = queue("latch", QueueSpec::default());
    let latch = LATCH.get_or_init(Latch::new);
    // SAFETY: nobody else knows it.
    let pwq = unsafe { queue.queue_new(None, ITEM.raw()) }.unwrap();
    // SAFETY: the item was queued through this pwq of the queue.
    unsafe { queue.wait_latch(Some(pwq), latch, None, (Until::All, &[])) }.unwrap();
    assert!(latch.is_set());
}

/// What a face has one of begins anew where it is asked for by another type.
#[test]
fn a_face_keeps_its_state_with_the_process() {
    #[derive(Default)]
    struct State(AtomicU32);
    let process = Process::get().unwrap();
    process.state::<State>().0.store(7, SeqCst);
    assert_eq!(process.state::<State>().0.load(SeqCst), 7);
}
