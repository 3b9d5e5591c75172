//! Canaries: one SCHED_IDLE thread for each CPU, which reports that the CPU would idle. As the
//! engine's, but that nothing comes between two steps of a bell here.

use cmwq_policy::canary::{Canary, Confirm, LINGER_YIELDS, armable};
use cmwq_policy::{CpuMask, Time};

use crate::api::act::{Act, Answer};
use crate::api::specs::ThreadSpec;
use crate::cpu::ThreadId;
use crate::machine::{Machine, Program, ProgramCx};
use crate::state::signals::Bell;

/// The thread of a canary.
struct Watcher {
    cpu: usize,
    confirm: Confirm,
    step: Step,
}

/// What it does next.
#[derive(Clone, Copy)]
enum Step {
    /// Sees whether somebody wants a report.
    Watch,
    /// Has paid for a yield, which began then.
    Yield(Time),
    /// Has the CPU again.
    Back(Time),
    /// Has nothing to report, and waits a moment longer before it sleeps: for so many yields yet.
    Linger(u32),
    /// Has paid for one of those.
    LingerOn(u32),
    Park,
    Parked,
}

impl Program for Watcher {
    fn next(&mut self, cx: &mut ProgramCx<'_>, _: Option<Answer>) -> Act {
        let (machine, id) = (cx.machine, cx.thread);
        match self.step {
            Step::Watch => self.watch(machine),
            Step::Yield(began) => self.yields(machine, id, Step::Back(began)),
            Step::Back(began) => self.judge(machine, id, began),
            Step::Linger(left) => self.linger(machine, left),
            Step::LingerOn(left) => self.yields(machine, id, Step::Linger(left)),
            Step::Park => self.park(machine, id),
            Step::Parked => self.is_woken(machine, id),
        }
    }
}

impl Watcher {
    fn go_on(&mut self, step: Step) -> Act {
        self.step = step;
        Act::Burn(0)
    }

    fn pay(&mut self, machine: &Machine, step: Step) -> Act {
        self.step = step;
        let user = machine.user_signals().expect("there are canaries");
        Act::Burn(user.costs.yielding)
    }

    fn yields(&mut self, machine: &Machine, id: ThreadId, step: Step) -> Act {
        machine.sched().yield_now(machine.now(), id);
        self.go_on(step)
    }

    fn watch(&mut self, machine: &Machine) -> Act {
        match machine.is_called(self.cpu) {
            true => self.pay(machine, Step::Yield(machine.now())),
            false => self.go_on(Step::Linger(LINGER_YIELDS)),
        }
    }

    /// The yield has shown whether anybody else wants the CPU.
    fn judge(&mut self, machine: &Machine, id: ThreadId, began: Time) -> Act {
        let is_there = machine.sched().cpu_of(id) == self.cpu;
        let alone = self.confirm.yielded(machine.now().since(began)) || machine.errs();
        if is_there && !alone {
            return self.go_on(Step::Watch);
        }
        // Elsewhere, because its CPU has gone: it has nothing to report, until armed again.
        if machine.fire(self.cpu) && is_there {
            machine.report_idle(self.cpu);
        }
        self.confirm = Confirm::default();
        self.go_on(Step::Linger(LINGER_YIELDS))
    }

    fn linger(&mut self, machine: &Machine, left: u32) -> Act {
        if machine.is_called(self.cpu) {
            self.confirm = Confirm::default();
            return self.go_on(Step::Watch);
        }
        match left.checked_sub(1) {
            Some(left) => self.pay(machine, Step::LingerOn(left)),
            None => self.go_on(Step::Park),
        }
    }

    fn park(&mut self, machine: &Machine, id: ThreadId) -> Act {
        machine.set_bell(self.cpu, Canary::Parked);
        machine.park(id);
        self.go_on(Step::Parked)
    }

    fn is_woken(&mut self, machine: &Machine, id: ThreadId) -> Act {
        match machine.bell(self.cpu) {
            Some(Canary::Parked) => self.park(machine, id),
            _ => self.go_on(Step::Watch),
        }
    }
}

impl Machine {
    /// Sees to it that each CPU in use has a canary.
    pub(super) fn serve_canaries(&self) {
        if self.user_signals().is_none_or(|user| !user.canaries) {
            return;
        }
        let online = self.sched().online();
        let has = |cpu: usize| self.signals.bells.borrow().contains_key(&cpu);
        let missing = online.iter().filter(|&cpu| !has(cpu));
        missing.for_each(|cpu| self.make_canary(cpu));
    }

    fn make_canary(&self, cpu: usize) {
        let spec = ThreadSpec::named(format!("canary/{cpu}")).on(cpu);
        let watcher = Watcher {
            cpu,
            confirm: Confirm::default(),
            step: Step::Watch,
        };
        let thread = self.spawn_signaller(spec.of_idle_class(), Box::new(watcher));
        let state = Canary::Armed;
        let bell = Bell { thread, state };
        self.signals.bells.borrow_mut().insert(cpu, bell);
    }

    fn bell(&self, cpu: usize) -> Option<Canary> {
        let bells = self.signals.bells.borrow();
        bells.get(&cpu).map(|bell| bell.state)
    }

    fn set_bell(&self, cpu: usize, state: Canary) {
        let mut bells = self.signals.bells.borrow_mut();
        bells.get_mut(&cpu).expect("it has a canary").state = state;
    }

    /// Whether the CPU's canary is to report.
    fn is_called(&self, cpu: usize) -> bool {
        self.bell(cpu) == Some(Canary::Armed) && self.anybody_wants()
    }

    fn anybody_wants(&self) -> bool {
        self.signals.nr_wanting.get() > 0
    }

    /// Takes the right to one report; false if the canary was not armed.
    fn fire(&self, cpu: usize) -> bool {
        let fired = self.bell(cpu).and_then(Canary::fire);
        fired.into_iter().for_each(|next| self.set_bell(cpu, next));
        fired.is_some()
    }

    /// Whether a yield that showed nothing passes for one that showed an idle CPU.
    fn errs(&self) -> bool {
        let spurious = self.user_signals().map_or(0, |user| user.spurious);
        let errs = self.signals.happens(spurious);
        self.signals
            .count(|stats| stats.spurious += u64::from(errs));
        errs
    }

    /// Arms the canaries of these CPUs, if a report could be used.
    pub(super) fn arm_canaries(&self, cpus: &CpuMask) {
        if self.anybody_wants() {
            let quota = self.process.quota.get() as usize;
            let turn = self.signals.stats.get().ticks as usize;
            let armable = armable(&self.sched().online(), quota, turn);
            cpus.and(&armable)
                .iter()
                .for_each(|cpu| self.arm_canary(cpu));
        }
    }

    fn arm_canary(&self, cpu: usize) {
        let Some(bell) = self.signals.bells.borrow().get(&cpu).copied() else {
            return;
        };
        self.set_bell(cpu, Canary::Armed);
        if bell.state.needs_wake() {
            self.unpark(bell.thread);
        }
    }
}
