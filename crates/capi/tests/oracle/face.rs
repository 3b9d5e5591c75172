//! The kernel's names in C as a face of the oracle: `tests/c/oracle.c`, loaded as a shared object.

use std::collections::BTreeMap;
use std::ffi::{CStr, CString, c_char, c_void};
use std::sync::atomic::{AtomicI64, Ordering::SeqCst};
use std::sync::{Mutex, MutexGuard, OnceLock};

use cmwq_oracle::{
    Answer, Attrs, Call, Delayed, Execute, Face, Flag, Flags, ItemCall, Name, Path, QueueCall,
    Real, Run, Target,
};

use crate::common::{self, CC, Program};

const EINVAL: i64 = -22;
const ENOENT: i64 = -2;
/// Kernel `cpu_intensive_thresh_us` as the recorder had it.
const THRESHOLD_US: i64 = 10_000;

type Func = unsafe extern "C" fn(*mut c_void, *mut c_void, i64, i64) -> i64;
type Address = usize;

/// The shared object.
static OBJECT: OnceLock<Address> = OnceLock::new();

/// Compiles and loads it.
pub(crate) fn load() {
    OBJECT.get_or_init(|| {
        let program = Program::new(CC, &["tests/c/oracle.c"]).kernel();
        let rpath = format!("-Wl,-rpath,{}", common::library().display());
        let object = program
            .args(&["-std=gnu11", "-shared", "-fPIC", &rpath])
            .build();
        let path = CString::new(object.to_string_lossy().as_bytes()).expect("no zero");
        // SAFETY: a path that ends with a zero, of an object of ours.
        let object = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_GLOBAL) };
        // SAFETY: it says what went wrong.
        assert!(!object.is_null(), "{:?}", unsafe {
            CStr::from_ptr(libc::dlerror())
        });
        // SAFETY: the object has that variable.
        unsafe { *symbol("o_execute").cast::<extern "C" fn(i64)>() = execute };
        object.addr()
    });
}

fn symbol(name: &str) -> *mut c_void {
    static SYMBOLS: Mutex<BTreeMap<String, Address>> = Mutex::new(BTreeMap::new());
    let mut symbols = lock(&SYMBOLS);
    let address = *symbols.entry(name.to_owned()).or_insert_with(|| {
        let name = CString::new(name).expect("no zero");
        // SAFETY: a name that ends with a zero.
        let found = unsafe { libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr()) };
        assert!(!found.is_null(), "there is no {name:?}");
        found.addr()
    });
    std::ptr::with_exposed_provenance_mut(address)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(|broken| broken.into_inner())
}

fn c(name: &str, p: Address, q: Address, a: i64, b: i64) -> i64 {
    // SAFETY: all of these functions have that type.
    let func = unsafe { std::mem::transmute::<*mut c_void, Func>(symbol(&format!("o_{name}"))) };
    // SAFETY: what they are called with is what they have returned before.
    unsafe { func(p as *mut c_void, q as *mut c_void, a, b) }
}

/// What the items of all runs do, by number.
static EXECUTES: Mutex<BTreeMap<i64, (Execute, Name)>> = Mutex::new(BTreeMap::new());

extern "C" fn execute(id: i64) {
    let found = lock(&EXECUTES).get(&id).cloned();
    if let Some((execute, name)) = found {
        execute(&name);
    }
}

/// The scenario in which a dependency was reported, and the text: a process says it once.
static DEPENDENCY: OnceLock<(String, String)> = OnceLock::new();

pub(crate) fn said_before(id: &str) -> bool {
    DEPENDENCY.get().is_some_and(|(first, _)| first != id)
}

/// The run that reports are for.
static LISTENER: Mutex<Option<Run>> = Mutex::new(None);

#[repr(C)]
struct Report {
    kind: u32,
    reserved: u32,
    text: *const c_char,
}

/// What counts as misuse: as in the Rust face, and what the kernel warns of.
const DEPENDENCY_KIND: u32 = 12;
const MISUSE: [u32; 5] = [8, 10, 11, DEPENDENCY_KIND, 100];

extern "C" fn hook(report: *const Report, _: *mut c_void) {
    // SAFETY: it is there during the call, with a text that ends with a zero.
    let (kind, text) = unsafe { ((*report).kind, CStr::from_ptr((*report).text)) };
    let run = lock(&LISTENER).clone();
    let Some(run) = run.filter(|_| MISUSE.contains(&kind)) else {
        return;
    };
    let text = text.to_string_lossy().into_owned();
    if kind == DEPENDENCY_KIND {
        DEPENDENCY.get_or_init(|| (run.id.clone(), text.clone()));
    }
    run.play.misuse(text);
}

/// One run: its queues and items by name.
struct Names {
    run: Run,
    ids: BTreeMap<Name, i64>,
    items: Mutex<BTreeMap<Name, Address>>,
    /// Where items are or were.
    memory: Mutex<BTreeMap<Name, Address>>,
    queues: Mutex<BTreeMap<Name, Address>>,
}

pub(crate) fn make(run: Run) -> Box<dyn Face> {
    static NEXT: AtomicI64 = AtomicI64::new(1);
    let mut ids = BTreeMap::new();
    for name in &run.items {
        let id = NEXT.fetch_add(1, SeqCst);
        lock(&EXECUTES).insert(id, (run.execute.clone(), name.clone()));
        ids.insert(name.clone(), id);
    }
    let item = |(name, id): (&Name, &i64)| (name.clone(), c("item_new", 0, 0, *id, 0) as Address);
    let items: BTreeMap<_, _> = ids.iter().map(item).collect();
    if let Some((_, report)) = DEPENDENCY.get().filter(|(first, _)| *first == run.id) {
        // An earlier try of this scenario.
        run.play.misuse(report.clone());
    }
    *lock(&LISTENER) = Some(run.clone());
    type SetHook = extern "C" fn(extern "C" fn(*const Report, *mut c_void), *mut c_void) -> i32;
    // SAFETY: it has that type.
    let set =
        unsafe { std::mem::transmute::<*mut c_void, SetHook>(symbol("cmwq_set_report_hook")) };
    assert_eq!(set(hook, std::ptr::null_mut()), 0);
    Box::new(Names {
        run,
        ids,
        memory: Mutex::new(items.clone()),
        items: Mutex::new(items),
        queues: Mutex::default(),
    })
}

/// Whether there is such a call: all that the Rust face has, and what only C can do to an item.
pub(crate) fn has(call: &Call) -> bool {
    match call {
        Call::Reinit(_) | Call::SetFunc(..) | Call::ReuseMemory { .. } | Call::ForgetSelf => true,
        Call::Item(ItemCall::TimerPending, _) | Call::AllocWorkqueue { .. } => true,
        call => Real::has(call),
    }
}

impl Face for Names {
    fn call(&self, call: Call) -> Answer {
        match call {
            Call::QueueWork { queue, item, to } => match to {
                Target::Cpu(cpu) => self.on_both(&queue, &item, "queue_work_on", self.cpu(cpu), 0),
                Target::Node(node) => self.on_both(&queue, &item, "queue_work_node", node, 0),
                Target::Any => self.on_both(&queue, &item, "queue_work", 0, 0),
            },
            Call::QueueDelayedWork(what) => self.delayed(&what, "queue_delayed_work"),
            Call::ModDelayedWork(what) => self.delayed(&what, "mod_delayed_work"),
            Call::EnableAndQueueWork { queue, item } => {
                self.on_both(&queue, &item, "enable_and_queue_work", 0, 0)
            }
            Call::Item(what, item) => self.item(what, &item),
            Call::Queue(what, queue) => self.queue(what, &queue),
            Call::WorkqueueCongested { cpu, queue } => {
                let cpu = cpu.map_or(-1, |cpu| self.cpu(cpu));
                self.on_queue(&queue, |wq| is(c("workqueue_congested", wq, 0, cpu, 0)))
            }
            Call::SetMaxActive(queue, n) => self.limit(&queue, "set_max_active", n),
            Call::SetMinActive(queue, n) => self.limit(&queue, "set_min_active", n),
            Call::ApplyAttrs(queue, attrs) => self.on_queue(&queue, |wq| self.attrs(wq, &attrs)),
            other => self.alone(other),
        }
    }

    fn blocking(&self, wait: &mut dyn FnMut()) {
        type Blocking = unsafe extern "C" fn(extern "C" fn(*mut c_void), *mut c_void);
        extern "C" fn call(wait: *mut c_void) {
            // SAFETY: what is handed over below.
            let wait = unsafe { &mut *wait.cast::<&mut dyn FnMut()>() };
            wait();
        }
        let mut wait = wait;
        // SAFETY: it has that type.
        let blocking =
            unsafe { std::mem::transmute::<*mut c_void, Blocking>(symbol("cmwq_blocking")) };
        // SAFETY: it calls at once.
        unsafe { blocking(call, (&raw mut wait).cast()) };
    }

    fn end(&self) {
        c("thaw", 0, 0, 0, 0);
        let items = std::mem::take(&mut *lock(&self.items));
        for item in items.values() {
            c("cancel_delayed_work_sync", 0, *item, 0, 0);
        }
    }
}

impl Drop for Names {
    fn drop(&mut self) {
        *lock(&LISTENER) = None;
        let queues = std::mem::take(&mut *lock(&self.queues));
        for queue in queues.values() {
            c("destroy_workqueue", *queue, 0, 0, 0);
        }
        c("threshold", 0, 0, THRESHOLD_US, 0);
    }
}

fn is(answer: i64) -> Answer {
    Answer::Bool(answer != 0)
}

impl Names {
    fn cpu(&self, cpu: u32) -> i64 {
        self.run.cpu(cpu) as i64
    }

    fn on_queue(&self, name: &Name, act: impl FnOnce(Address) -> Answer) -> Answer {
        let made = lock(&self.queues).get(name).copied();
        match (made, &**name) {
            (Some(queue), _) => act(queue),
            (None, "sys_percpu") => act(c("system", 0, 0, 0, 0) as Address),
            (None, "sys_highpri") => act(c("system", 0, 0, 1, 0) as Address),
            (None, "sys_dfl") => act(c("system", 0, 0, 2, 0) as Address),
            (None, _) => Answer::Text("no_queue".into()),
        }
    }

    /// The same with an item; one that was freed is as one that was never queued.
    fn on_item(&self, name: &Name, act: impl FnOnce(Address) -> Answer) -> Answer {
        let item = lock(&self.items).get(name).copied();
        item.map_or(Answer::Bool(false), act)
    }

    fn on_both(&self, queue: &Name, item: &Name, call: &str, a: i64, b: i64) -> Answer {
        self.on_queue(queue, |wq| {
            self.on_item(item, |item| is(c(call, wq, item, a, b)))
        })
    }

    fn delayed(&self, what: &Delayed, call: &str) -> Answer {
        const JIFFY: u64 = 1_000_000;
        let cpu = what.cpu.map_or(-1, |cpu| self.cpu(cpu));
        let delay = (what.delay * self.run.stretch).div_ceil(JIFFY);
        self.on_both(&what.queue, &what.item, call, cpu, delay as i64)
    }

    fn item(&self, what: ItemCall, name: &Name) -> Answer {
        let word = what.word();
        self.on_item(name, |item| {
            let answer = c(word, 0, item, 0, 0);
            match what {
                ItemCall::WorkBusy => Answer::Text(
                    ["idle", "pending", "running", "pending+running"][answer as usize].into(),
                ),
                _ => is(answer),
            }
        })
    }

    fn queue(&self, what: QueueCall, name: &Name) -> Answer {
        let done = self.on_queue(name, |wq| {
            c(what.word(), wq, 0, 0, 0);
            Answer::Void
        });
        if what == QueueCall::DestroyWorkqueue {
            lock(&self.queues).remove(name);
        }
        done
    }

    fn limit(&self, queue: &Name, call: &str, n: i64) -> Answer {
        self.on_queue(queue, |wq| {
            c(call, wq, 0, n, 0);
            Answer::Void
        })
    }

    fn attrs(&self, wq: Address, attrs: &Attrs) -> Answer {
        let mut mask = [0_u64; 16];
        for cpu in attrs.cpus.iter().flat_map(|cpus| &cpus.0) {
            let ours = self.run.cpu(*cpu);
            mask[ours / 64] |= 1 << (ours % 64);
        }
        let cpus = attrs
            .cpus
            .as_ref()
            .map_or(0, |_| mask.as_ptr().expose_provenance());
        let nice = i64::from(attrs.nice.unwrap_or(0));
        Answer::Number(c("apply_attrs", wq, cpus, nice, 0))
    }

    fn alone(&self, call: Call) -> Answer {
        match call {
            Call::AllocWorkqueue {
                queue,
                flags,
                max_active,
            } => self.alloc(&queue, "alloc_workqueue", bits(&flags), max_active),
            Call::CreateWorkqueue(queue) => self.alloc(&queue, "create_workqueue", 0, 0),
            Call::CreateSinglethreadWorkqueue(queue) => {
                self.alloc(&queue, "create_singlethread_workqueue", 0, 0)
            }
            Call::FreezeBusy => is(c("freeze_busy", 0, 0, 0, 0)),
            Call::IsRescuer => is(c("is_rescuer", 0, 0, 0, 0)),
            Call::CurrentWork => Answer::Text(
                self.current()
                    .map_or("none".into(), |name| name.to_string()),
            ),
            Call::Write(_, value) => match value.parse() {
                Ok(us) => Answer::Number(c("threshold", 0, 0, us, 0)),
                Err(_) => Answer::Number(EINVAL),
            },
            Call::Read(Path::Queue { queue, .. }) => {
                let limit = |wq| Answer::Text(c("max_active", wq, 0, 0, 0).to_string());
                match self.on_queue(&queue, limit) {
                    Answer::Text(text) if text == "no_queue" => Answer::Number(ENOENT),
                    limit => limit,
                }
            }
            other => self.no_answer(other),
        }
    }

    fn no_answer(&self, call: Call) -> Answer {
        match call {
            Call::FreezeBegin => drop(c("freeze", 0, 0, 0, 0)),
            Call::Thaw => drop(c("thaw", 0, 0, 0, 0)),
            Call::SetWorkerDesc(text) => {
                let text = CString::new(&*text).expect("no zero");
                c(
                    "set_worker_desc",
                    0,
                    text.as_ptr().expose_provenance(),
                    0,
                    0,
                );
            }
            Call::Reinit(item) => drop(self.on_item(&item, |item| is(c("reinit", 0, item, 0, 0)))),
            Call::SetFunc(item, n) => {
                self.on_item(&item, |item| is(c("set_func", 0, item, n.into(), 0)));
            }
            Call::FreeSelf => {
                let gone = self
                    .current()
                    .and_then(|name| lock(&self.items).remove(&name));
                if let Some(item) = gone {
                    c("item_free", 0, item, 0, 0);
                }
            }
            Call::ForgetSelf => {
                let gone = self.current().map(|name| lock(&self.items).remove(&name));
                let _ = gone;
            }
            Call::ReuseMemory { item, of, function } => self.reuse(&item, &of, function.into()),
            other => unreachable!("{other:?} was refused before"),
        }
        Answer::Void
    }

    fn reuse(&self, item: &Name, of: &Name, function: i64) {
        let place = lock(&self.memory)[of];
        lock(&self.items).remove(of);
        c("item_new", 0, place, self.ids[item], function);
        lock(&self.memory).insert(item.clone(), place);
        lock(&self.items).insert(item.clone(), place);
    }

    fn alloc(&self, name: &Name, call: &str, flags: i64, max_active: i64) -> Answer {
        let text = CString::new(&**name).expect("no zero");
        let made = c(
            call,
            0,
            text.as_ptr().expose_provenance(),
            flags,
            max_active,
        ) as Address;
        if made == 0 {
            return Answer::Text("null".into());
        }
        let before = lock(&self.queues).insert(name.clone(), made);
        if let Some(before) = before {
            c("destroy_workqueue", before, 0, 0, 0);
        }
        Answer::Text("ok".into())
    }

    /// The item that the caller executes.
    fn current(&self) -> Option<Name> {
        let current = c("current_work", 0, 0, 0, 0) as Address;
        let memory = lock(&self.items);
        let found = memory.iter().find(|(_, item)| **item == current);
        found.map(|(name, _)| name.clone())
    }
}

/// As in `enum wq_flags`.
fn bits(flags: &Flags) -> i64 {
    let bit = |flag: &Flag| match flag {
        Flag::Bh => 0,
        Flag::Unbound => 1,
        Flag::Freezable => 2,
        Flag::MemReclaim => 3,
        Flag::Highpri => 4,
        Flag::CpuIntensive => 5,
        Flag::Sysfs => 6,
        Flag::PowerEfficient => 7,
        Flag::Percpu => 8,
        Flag::Ordered => 17,
    };
    flags.0.iter().fold(0, |bits, flag| bits | 1 << bit(flag))
}
