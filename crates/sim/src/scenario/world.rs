//! What the programs of a scenario share: the things of the machine by number, requests, instances
//! of items, and what is counted.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use cmwq_policy::Time;

use super::code::Code;
use super::tally::Tally;
use crate::{DataId, DeviceId, ItemId, LockId, Machine, QueueId, Random, SemId};

/// Steps of programs in one instant beyond which they are taken for endless. The machine itself
/// gives up at a million acts, of which each step is at most a handful.
const MOST_STEPS: u32 = 150_000;

/// The same thing for several threads.
pub(crate) struct Group<T> {
    pub(crate) name: String,
    pub(crate) ids: Vec<T>,
}

impl<T: Copy> Group<T> {
    /// That of this thread.
    pub(crate) fn of(&self, owner: usize) -> T {
        self.ids[owner % self.ids.len()]
    }
}

/// A kind of items.
pub(crate) struct Kind {
    pub(crate) name: String,
    pub(crate) code: Rc<Code>,
    /// Instances that are not queued and do not run.
    free: RefCell<Vec<usize>>,
}

impl Kind {
    pub(crate) fn new(name: String, code: Code) -> Kind {
        Kind {
            name,
            code: Rc::new(code),
            free: RefCell::default(),
        }
    }
}

/// A thread of the scenario, to whom requests belong.
pub(crate) struct Owner {
    pub(crate) name: String,
    pub(crate) main: bool,
    pub(crate) done: Cell<bool>,
    /// Instances that it and its items have queued and that have not ended.
    outstanding: Cell<u64>,
    /// Posted when that falls to 0 while somebody waits for it.
    pub(crate) all_done: SemId,
    pub(crate) waits: Cell<bool>,
    requests: Cell<u64>,
    /// The root of its requests' streams.
    random: Random,
}

impl Owner {
    pub(crate) fn new(name: String, main: bool, all_done: SemId, random: Random) -> Owner {
        Owner {
            name,
            main,
            done: Cell::new(false),
            outstanding: Cell::new(0),
            all_done,
            waits: Cell::new(false),
            requests: Cell::new(0),
            random,
        }
    }

    /// Whether nothing that it has queued is left.
    pub(crate) fn is_quiet(&self) -> bool {
        self.outstanding.get() == 0
    }
}

/// What an item is queued for: it has data, and what it queues is for the same.
pub(crate) struct Request {
    /// `None`: nobody has taken it yet.
    owner: Cell<Option<usize>>,
    pub(crate) data: DataId,
    pub(crate) random: RefCell<Random>,
    /// By span: when it began.
    pub(crate) marks: RefCell<Vec<Option<Time>>>,
    /// By limit: how often it was passed.
    pub(crate) limits: RefCell<Vec<u64>>,
    /// By kind of items: the last instance, and how often that had been used.
    pub(crate) last: RefCell<Vec<Option<(usize, u64)>>>,
    free_data: Rc<RefCell<Vec<DataId>>>,
}

impl Request {
    /// The thread that it belongs to.
    pub(crate) fn owner(&self) -> usize {
        self.owner.get().expect("somebody has taken it")
    }
}

impl Drop for Request {
    fn drop(&mut self) {
        self.free_data.borrow_mut().push(self.data);
    }
}

/// An item of the machine, used again and again.
struct Instance {
    kind: usize,
    item: ItemId,
    request: Option<Rc<Request>>,
    queue: usize,
    /// The CPU where it was queued, and when, if that says how long it waited.
    from: (usize, Option<Time>),
    uses: u64,
}

/// What a program finds of the instance that it is.
pub(crate) struct Started {
    pub(crate) request: Rc<Request>,
    pub(crate) queue: usize,
    pub(crate) from: (usize, Option<Time>),
}

/// See the module.
pub(crate) struct World {
    pub(crate) kinds: Vec<Kind>,
    pub(crate) queues: Vec<Group<QueueId>>,
    pub(crate) locks: Vec<Group<LockId>>,
    pub(crate) semaphores: Vec<Group<SemId>>,
    /// By group: whether requests are handed over.
    pub(crate) hands_over: Vec<bool>,
    pub(crate) devices: Vec<Group<DeviceId>>,
    pub(crate) data: Vec<Group<DataId>>,
    pub(crate) owners: Vec<Owner>,
    pub(crate) limits: usize,
    pub(crate) tally: RefCell<Tally>,
    instances: RefCell<Vec<Instance>>,
    free_data: Rc<RefCell<Vec<DataId>>>,
    /// On their way to who takes a semaphore.
    handed: RefCell<BTreeMap<u64, Rc<Request>>>,
    next_handed: Cell<u64>,
    steps: Cell<(Time, u32)>,
    trouble: RefCell<Option<String>>,
}

impl World {
    /// A world without owners yet.
    pub(crate) fn new(tally: Tally) -> World {
        World {
            kinds: Vec::new(),
            queues: Vec::new(),
            locks: Vec::new(),
            semaphores: Vec::new(),
            hands_over: Vec::new(),
            devices: Vec::new(),
            data: Vec::new(),
            owners: Vec::new(),
            limits: 0,
            tally: RefCell::new(tally),
            instances: RefCell::default(),
            free_data: Rc::default(),
            handed: RefCell::default(),
            next_handed: Cell::new(0),
            steps: Cell::new((Time(0), 0)),
            trouble: RefCell::default(),
        }
    }

    /// Something went wrong in a program: the run is over.
    pub(crate) fn fail(&self, message: String) {
        self.trouble.borrow_mut().get_or_insert(message);
    }

    /// Whether something went wrong.
    pub(crate) fn is_in_trouble(&self) -> bool {
        self.trouble.borrow().is_some()
    }

    /// What went wrong, if something has.
    pub(crate) fn trouble(&self) -> Option<String> {
        self.trouble.borrow().clone()
    }

    /// Counts a step of this thread; false: nobody goes on.
    pub(crate) fn step(&self, now: Time, who: &dyn Fn() -> String) -> bool {
        let (at, steps) = self.steps.get();
        let steps = if at == now { steps + 1 } else { 1 };
        self.steps.set((now, steps));
        if steps > MOST_STEPS {
            let (who, ns) = (who(), now.0);
            self.fail(format!(
                "{who} and what it queues go on and on without letting time pass, at {ns} ns"
            ));
        }
        !self.is_in_trouble()
    }

    /// A new request of this thread.
    pub(crate) fn request(&self, machine: &Machine, owner: usize) -> Rc<Request> {
        let request = self.unowned(machine);
        self.own(&request, owner);
        request
    }

    /// The request is this thread's, if it is nobody's yet.
    fn own(&self, request: &Request, owner: usize) {
        if request.owner.get().is_none() {
            let by = &self.owners[owner];
            let number = by.requests.replace(by.requests.get() + 1);
            request.owner.set(Some(owner));
            request.random.replace(by.random.stream(number));
        }
    }

    /// A new request of whoever takes it first.
    pub(crate) fn unowned(&self, machine: &Machine) -> Rc<Request> {
        let free = self.free_data.borrow_mut().pop();
        let data = free.unwrap_or_else(|| machine.data());
        machine.forget_data(data);
        let spans = self.tally.borrow().spans.len();
        Rc::new(Request {
            owner: Cell::new(None),
            data,
            random: RefCell::new(Random::new(0)),
            marks: RefCell::new(vec![None; spans]),
            limits: RefCell::new(vec![0; self.limits]),
            last: RefCell::new(vec![None; self.kinds.len()]),
            free_data: self.free_data.clone(),
        })
    }

    /// An instance of this kind for the request, to be queued there. `make` makes the item of a new
    /// one, from its number and name.
    pub(crate) fn instance(
        &self,
        (kind, queue): (usize, usize),
        request: &Rc<Request>,
        from: (usize, Option<Time>),
        make: impl FnOnce(usize, &str) -> ItemId,
    ) -> (usize, ItemId) {
        let free = self.kinds[kind].free.borrow_mut().pop();
        let at = free.unwrap_or_else(|| self.new_instance(kind, make));
        let mut instances = self.instances.borrow_mut();
        let instance = &mut instances[at];
        instance.request = Some(request.clone());
        (instance.queue, instance.from) = (queue, from);
        instance.uses += 1;
        request.last.borrow_mut()[kind] = Some((at, instance.uses));
        let outstanding = &self.owners[request.owner()].outstanding;
        outstanding.set(outstanding.get() + 1);
        (at, instance.item)
    }

    fn new_instance(&self, kind: usize, make: impl FnOnce(usize, &str) -> ItemId) -> usize {
        let at = self.instances.borrow().len();
        let item = make(at, &self.kinds[kind].name);
        self.instances.borrow_mut().push(Instance {
            kind,
            item,
            request: None,
            queue: 0,
            from: (0, None),
            uses: 0,
        });
        at
    }

    /// The code of an instance.
    pub(crate) fn code_of(&self, instance: usize) -> Rc<Code> {
        self.kinds[self.instances.borrow()[instance].kind]
            .code
            .clone()
    }

    /// The name of an instance.
    pub(crate) fn kind_name(&self, instance: usize) -> &str {
        &self.kinds[self.instances.borrow()[instance].kind].name
    }

    /// What the instance is executed for.
    pub(crate) fn started(&self, instance: usize) -> Started {
        let instances = self.instances.borrow();
        let at = &instances[instance];
        Started {
            request: at.request.clone().expect("it was queued for something"),
            queue: at.queue,
            from: at.from,
        }
    }

    /// The last instance of this kind that the request has queued, if it has not ended.
    pub(crate) fn last(&self, request: &Request, kind: usize) -> Option<(usize, ItemId)> {
        let (at, uses) = request.last.borrow()[kind]?;
        let instances = self.instances.borrow();
        let instance = &instances[at];
        (instance.uses == uses && instance.request.is_some()).then_some((at, instance.item))
    }

    /// An instance has ended, or will not run: what is to be posted, because its owner waits and
    /// that was the last one.
    pub(crate) fn over(&self, instance: usize) -> Option<SemId> {
        let owner = &self.owners[self.started(instance).request.owner()];
        owner.outstanding.set(owner.outstanding.get() - 1);
        let wakes = owner.is_quiet() && owner.waits.replace(false);
        wakes.then_some(owner.all_done)
    }

    /// The instance may be used again.
    pub(crate) fn free(&self, instance: usize) {
        let mut instances = self.instances.borrow_mut();
        let at = &mut instances[instance];
        at.request = None;
        self.kinds[at.kind].free.borrow_mut().push(instance);
    }

    /// Hands a request to who takes a semaphore: the number by which it is found.
    pub(crate) fn hand_over(&self, request: &Rc<Request>) -> u64 {
        let number = self.next_handed.replace(self.next_handed.get() + 1);
        self.handed.borrow_mut().insert(number, request.clone());
        number
    }

    /// The request that was handed over, to this thread.
    pub(crate) fn handed(&self, number: u64, to: usize) -> Rc<Request> {
        let handed = self.handed.borrow_mut().remove(&number);
        let request = handed.expect("it was handed over once");
        self.own(&request, to);
        request
    }
}
