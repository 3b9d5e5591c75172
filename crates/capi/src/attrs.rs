//! Options and attributes of queues as C structs.

use std::ffi::c_int;

use cmwq_engine::QueueSpec;
use cmwq_engine::error::AttrsError;
use cmwq_policy::affinity::Scope;
use cmwq_policy::queue::{Attrs, Kind};
use cmwq_policy::stacking::Stacking;
use cmwq_policy::{CpuMask, MAX_CPUS};

use crate::abi::Sized32;
use crate::errno::{self, Errno};
use crate::handle::QueuePtr;
use crate::say::misuse;

/// As `struct cmwq_cpus`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CCpus {
    bits: [u64; MAX_CPUS / 64],
}

/// As `struct cmwq_attrs`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct CAttrs {
    size: u32,
    nice: i32,
    scope: i32,
    strict: u32,
    locality_ns: u64,
    /// All zero: all of the process.
    cpus: CCpus,
}

/// As `struct cmwq_queue_options`.
#[repr(C)]
#[derive(Clone, Copy, Debug)]
pub(crate) struct COptions {
    size: u32,
    kind: u32,
    flags: u32,
    max_active: i32,
    stacking: u32,
    reserved: u32,
    attrs: CAttrs,
}

/// `CMWQ_SCOPE_DEFAULT`.
const SCOPE_DEFAULT: i32 = -1;

const HIGHPRI: u32 = 1;
const CPU_INTENSIVE: u32 = 1 << 1;
const MEM_RECLAIM: u32 = 1 << 2;
const FREEZABLE: u32 = 1 << 3;
const EXACT: u32 = 1 << 4;
const SYSFS: u32 = 1 << 5;

impl CCpus {
    pub(crate) const NONE: CCpus = CCpus {
        bits: [0; MAX_CPUS / 64],
    };

    pub(crate) fn of(mask: &CpuMask) -> CCpus {
        CCpus {
            bits: *mask.words(),
        }
    }

    pub(crate) fn mask(self) -> CpuMask {
        CpuMask::from_words(self.bits)
    }
}

impl CAttrs {
    pub(crate) const NONE: CAttrs = CAttrs {
        size: size_of::<CAttrs>() as u32,
        nice: 0,
        scope: SCOPE_DEFAULT,
        strict: 0,
        locality_ns: 0,
        cpus: CCpus::NONE,
    };

    pub(crate) fn of(attrs: &Attrs) -> CAttrs {
        CAttrs {
            nice: i32::from(attrs.nice),
            scope: attrs.scope.map_or(SCOPE_DEFAULT, scope_number),
            strict: u32::from(attrs.strict),
            locality_ns: attrs.locality,
            cpus: attrs.cpumask.map_or(CCpus::NONE, |mask| CCpus::of(&mask)),
            ..CAttrs::NONE
        }
    }

    pub(crate) fn attrs(&self) -> Result<Attrs, c_int> {
        if !(-20..=19).contains(&self.nice) {
            return Err(AttrsError::Nice(self.nice).errno());
        }
        let mask = self.cpus.mask();
        Ok(Attrs {
            nice: self.nice as i8,
            cpumask: (!mask.is_empty()).then_some(mask),
            scope: scope(self.scope)?,
            strict: self.strict != 0,
            locality: self.locality_ns,
        })
    }
}

/// The scope of this number, `None` for the default.
pub(crate) fn scope(number: i32) -> Result<Option<Scope>, c_int> {
    if number == SCOPE_DEFAULT {
        return Ok(None);
    }
    let is_it = |scope: &Scope| scope_number(*scope) == number;
    let known = Scope::ALL.into_iter().find(is_it);
    known.map(Some).ok_or(errno::EINVAL)
}

/// Its number in `cmwq.h`. Programs have these compiled in: a new scope takes the next number,
/// wherever it stands in `Scope::ALL`.
pub(crate) fn scope_number(scope: Scope) -> i32 {
    match scope {
        Scope::Cpu => 0,
        Scope::Smt => 1,
        Scope::Cache => 2,
        Scope::CacheShard => 3,
        Scope::Numa => 4,
        Scope::System => 5,
    }
}

impl COptions {
    pub(crate) const DFL: COptions = COptions {
        size: size_of::<COptions>() as u32,
        kind: 0,
        flags: 0,
        max_active: 0,
        stacking: 0,
        reserved: 0,
        attrs: CAttrs::NONE,
    };

    pub(crate) fn spec(&self) -> Result<QueueSpec, c_int> {
        const KNOWN: u32 = HIGHPRI | CPU_INTENSIVE | MEM_RECLAIM | FREEZABLE | EXACT | SYSFS;
        let kind = match self.kind {
            0 => Kind::Managed,
            1 => Kind::PerCpu,
            2 => Kind::Unmanaged,
            3 => Kind::Ordered,
            4 => Kind::Bh,
            5 => Kind::Fifo,
            _ => return Err(errno::EINVAL),
        };
        let stacking = match self.stacking {
            0 => Stacking::Stay,
            1 => Stacking::Off,
            _ => return Err(errno::EINVAL),
        };
        let max_active = usize::try_from(self.max_active).map_err(|_| errno::EINVAL)?;
        if self.flags & !KNOWN != 0 {
            return Err(errno::EINVAL);
        }
        let has = |flag| self.flags & flag != 0;
        Ok(QueueSpec {
            kind,
            max_active: (max_active != 0).then_some(max_active),
            exact: has(EXACT),
            attrs: self.attrs.attrs()?,
            highpri: has(HIGHPRI),
            cpu_intensive: has(CPU_INTENSIVE),
            mem_reclaim: has(MEM_RECLAIM),
            freezable: has(FREEZABLE),
            sysfs: has(SYSFS),
            stacking,
        })
    }
}

/// What the program has set, over the defaults; the defaults where it has set nothing.
pub(crate) fn options(given: &Sized32<COptions>) -> Result<COptions, c_int> {
    if given.is_null() {
        return Ok(COptions::DFL);
    }
    given.read(COptions::DFL).ok_or(errno::EINVAL)
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_get_attrs(queue: QueuePtr, attrs: Sized32<CAttrs>) -> c_int {
    const CALL: &str = "cmwq_queue_get_attrs";
    match queue.get(CALL) {
        Ok(queue) if attrs.write(&CAttrs::of(&queue.attrs())) => 0,
        Ok(_) => misuse(CALL, "the attributes are NULL or have no size"),
        Err(error) => error,
    }
}

#[unsafe(no_mangle)]
extern "C" fn cmwq_queue_apply_attrs(queue: QueuePtr, attrs: Sized32<CAttrs>) -> c_int {
    const CALL: &str = "cmwq_queue_apply_attrs";
    let Some(given) = attrs.read(CAttrs::NONE) else {
        return misuse(CALL, "the attributes are NULL or of no known size");
    };
    let apply = || Ok(errno::of(queue.get(CALL)?.apply_attrs(given.attrs()?)));
    apply().unwrap_or_else(|error: c_int| error)
}
