/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * cmwq.h - concurrency-managed workqueues for Linux user space
 *
 * A queue runs work items on threads that nobody counts: cmwq starts another one when a CPU would
 * idle, and stops when the CPUs are busy. An item is a struct cmwq_work in a struct of yours.
 *
 * Link with -lcmwq (pkg-config cmwq). The guide is docs/c.md, the reference cmwq(3).
 *
 * Rules for all calls
 *
 * - A negative result is a -errno: -EINVAL for NULL, for a value out of range and for what is no
 *   item or queue; -ESHUTDOWN after cmwq_queue_destroy() or cmwq_shutdown(); -EBUSY while the queue
 *   is drained; -ECHILD in a child process, for what its parent has made; -EDEADLK for a wait that
 *   would never end; -ENOMEM or -EAGAIN without memory or threads.
 * - Calls may be made on any thread, and inside of items. None may be made in a signal handler.
 * - The calls keep errno as it is or not; look at the result.
 * - You own your items. An item stays in memory, where it is, from its queueing until its function
 *   has been called; and while a call about it is under way. Its function may free it: cmwq does
 *   not touch an item after its function was called.
 * - What you stored before an item was queued, its function sees. What the function stored, you see
 *   after cmwq_work_flush(), cmwq_work_cancel_sync() or cmwq_queue_flush().
 * - A function of yours returns. If it throws, or ends its thread by pthread_exit or
 *   pthread_cancel, the process ends with a message. It does not longjmp out of an item: C leaves
 *   that undefined, and nobody notices. A forked child that returns from its item exits with 0.
 * - Threads of cmwq block all signals but those of faults.
 *
 * With CMWQ_CHECKED=1 in the environment, misuse ends the process with a message that names the
 * item: an item that was never initialised, that is freed or overwritten while it is pending, a
 * queue that was destroyed. So does a signal handler that interrupts a check of the same thread.
 */
#ifndef CMWQ_H
#define CMWQ_H

#include <stddef.h>
#include <stdint.h>

#if UINTPTR_MAX != UINT64_MAX
#error "cmwq needs 64-bit pointers"
#endif

#ifdef __cplusplus
extern "C" {
#define CMWQ_ASSERT(holds, text) static_assert(holds, text)
#else
#define CMWQ_ASSERT(holds, text) _Static_assert(holds, text)
#endif

/* The interface that this header describes; cmwq_version() is the library's. */
#define CMWQ_VERSION "0.1.0"

/* ---------------------------------------------------------------------------------- items */

struct cmwq_work;

/* The function of an item. It is called with the item's address: see cmwq_container_of(). */
typedef void (*cmwq_work_fn)(struct cmwq_work *work);

/*
 * An item, embedded by value. All fields are the library's; initialise them by
 * CMWQ_WORK_INITIALIZER() or cmwq_work_init(). Do not copy or move it while it is pending.
 */
struct cmwq_work {
	uint64_t word;
	void *links[2];
	uint32_t home;
	uint32_t reserved;
	const void *table;
	cmwq_work_fn func;
	uintptr_t room[2];
};

/* An item with a timer. */
struct cmwq_delayed_work {
	struct cmwq_work work;
	uintptr_t room[2];
};

CMWQ_ASSERT(sizeof(struct cmwq_work) == 64, "the size of an item is part of the interface");
CMWQ_ASSERT(sizeof(struct cmwq_delayed_work) == 80, "so is that of a delayed item");
CMWQ_ASSERT(offsetof(struct cmwq_work, func) == 40, "and where its function is");

/* Initialises a static or automatic item: struct cmwq_work w = CMWQ_WORK_INITIALIZER(fn); */
#define CMWQ_WORK_INITIALIZER(fn) \
	{ UINT64_C(0xffff000000000000), { NULL, NULL }, 0, 0, NULL, (fn), { 0, 0 } }
#define CMWQ_DELAYED_WORK_INITIALIZER(fn) { CMWQ_WORK_INITIALIZER(fn), { 0, 0 } }

/* The struct of this type whose member is at ptr. */
#define cmwq_container_of(ptr, type, member) \
	((type *)(void *)((char *)(ptr) - offsetof(type, member)))

/*
 * Initialises an item. Never one that is pending: cancel it first. After it the item is enabled.
 */
void cmwq_work_init(struct cmwq_work *work, cmwq_work_fn func);

/*
 * Says that the item is used no more. Needed nowhere; with CMWQ_CHECKED=1 it ends the process if
 * the item is pending or runs, unless its own function calls this.
 */
void cmwq_work_destroy(struct cmwq_work *work);

/* 1 if it is queued and has not begun, or its timer is armed; else 0. A hint. */
int cmwq_work_pending(struct cmwq_work *work);

#define CMWQ_BUSY_PENDING 1
#define CMWQ_BUSY_RUNNING 2
/* What it is doing: a sum of the two above. A hint. */
int cmwq_work_busy(struct cmwq_work *work);

/* 1 if its timer is armed; else 0. A hint. */
int cmwq_work_armed(struct cmwq_work *work);

/* 1 if the calling thread executes it; else 0. */
int cmwq_work_is_current(struct cmwq_work *work);

/*
 * Waits until the instance that was queued last has ended. 1 if there was something to wait for,
 * else 0. Instances that are queued later, and an armed timer, are not waited for. -EDEADLK in the
 * item itself, in one that it waits for, and where nobody could ever do what is waited for.
 */
int cmwq_work_flush(struct cmwq_work *work);

/* Queues an armed item at once; then as cmwq_work_flush(). 1 also if it was armed. */
int cmwq_delayed_work_flush(struct cmwq_work *work);

/*
 * Takes it off its queue, or disarms its timer. 1 if it was pending: that instance does not run.
 * Else 0. Does not wait for an execution that has begun.
 */
int cmwq_work_cancel(struct cmwq_work *work);

/*
 * The same, and waits for an execution. Whoever queues it meanwhile, itself included, is refused.
 * When this returns, the item is idle, unless somebody queued it since: it may be freed. -EDEADLK
 * in the item itself; it is cancelled then, and goes on.
 */
int cmwq_work_cancel_sync(struct cmwq_work *work);

/*
 * Cancels it, and refuses to queue it until it is enabled as often as it was disabled (65535 times
 * at most). 1 if it was pending, else 0.
 */
int cmwq_work_disable(struct cmwq_work *work);

/* The same, and waits for an execution. -EDEADLK in the item itself; it is disabled then. */
int cmwq_work_disable_sync(struct cmwq_work *work);

/*
 * Takes one disable back. 1 if it can be queued now, else 0. What was refused is not queued. An
 * item that was not disabled stays as it is, which is reported.
 */
int cmwq_work_enable(struct cmwq_work *work);

/* --------------------------------------------------------------------------------- queues */

/* A queue. You own what cmwq_queue_create() gives, until cmwq_queue_destroy(). */
struct cmwq_queue;

/* System queues. They are there in every process, and are never destroyed. */
#define CMWQ_SYSTEM_QUEUE(number) ((struct cmwq_queue *)(uintptr_t)(number))
#define CMWQ_SYSTEM CMWQ_SYSTEM_QUEUE(1)            /* managed: for whatever needs no other */
#define CMWQ_SYSTEM_PERCPU CMWQ_SYSTEM_QUEUE(2)     /* short items, on the CPU that queues them */
#define CMWQ_SYSTEM_HIGHPRI CMWQ_SYSTEM_QUEUE(3)    /* the same, at high priority */
#define CMWQ_SYSTEM_LONG CMWQ_SYSTEM_QUEUE(4)       /* per CPU, for items that take long */
#define CMWQ_SYSTEM_FREEZABLE CMWQ_SYSTEM_QUEUE(5)  /* per CPU, stands still while frozen */
#define CMWQ_SYSTEM_BH CMWQ_SYSTEM_QUEUE(6)         /* tiny items that never sleep */
#define CMWQ_SYSTEM_BH_HIGHPRI CMWQ_SYSTEM_QUEUE(7) /* the same, at high priority */
#define CMWQ_SYSTEM_UNMANAGED CMWQ_SYSTEM_QUEUE(8)  /* every item at once, on a thread each */

/* Kinds of queues. */
enum cmwq_kind {
	CMWQ_MANAGED = 0,   /* as many items run as keep the CPUs busy */
	CMWQ_PERCPU = 1,    /* one item per CPU, more if it sleeps (kernel WQ_PERCPU) */
	CMWQ_UNMANAGED = 2, /* every active item at once (kernel WQ_UNBOUND) */
	CMWQ_ORDERED = 3,   /* one item at a time, in the order of queueing */
	CMWQ_BH = 4,        /* a thread per CPU runs items to their ends (kernel WQ_BH) */
	CMWQ_FIFO = 5       /* as managed, and items begin in the order of queueing */
};

#define CMWQ_HIGHPRI 0x01u       /* nice -20, where permitted */
#define CMWQ_CPU_INTENSIVE 0x02u /* of per-CPU queues: items do not keep others from starting */
#define CMWQ_MEM_RECLAIM 0x04u   /* has a thread that carries on when no other can be made */
#define CMWQ_FREEZABLE 0x08u     /* stands still between cmwq_freeze() and cmwq_thaw() */
#define CMWQ_EXACT 0x10u         /* max_active is one number, however many NUMA nodes there are */
#define CMWQ_SYSFS 0x20u         /* "cmwq set" may change it while the program runs */

/* What cuts the CPUs into pods, in which items run that are queued from there. */
enum cmwq_scope {
	CMWQ_SCOPE_DEFAULT = -1,
	CMWQ_SCOPE_CPU = 0,
	CMWQ_SCOPE_SMT = 1,
	CMWQ_SCOPE_CACHE = 2,
	CMWQ_SCOPE_CACHE_SHARD = 3,
	CMWQ_SCOPE_NUMA = 4,
	CMWQ_SCOPE_SYSTEM = 5
};

/* What a thread does that waits for an item. */
enum cmwq_stacking {
	CMWQ_STACKING_STAY = 0, /* stays on its CPU if the item runs there */
	CMWQ_STACKING_OFF = 1   /* wakes up wherever the scheduler likes */
};

#define CMWQ_MAX_CPUS 1024
/* A set of CPUs: CPU n is bit n % 64 of bits[n / 64]. */
struct cmwq_cpus {
	uint64_t bits[CMWQ_MAX_CPUS / 64];
};

/* Attributes of the workers of a queue. Per-CPU and BH queues have none to change. */
struct cmwq_attrs {
	uint32_t size;       /* of this struct */
	int32_t nice;        /* -20 (most CPU) to 19, on top of the process's */
	int32_t scope;       /* an enum cmwq_scope */
	uint32_t strict;     /* not 0: items run in their pod and nowhere else */
	uint64_t locality_ns; /* about what an item loses in another pod, in nanoseconds */
	struct cmwq_cpus cpus; /* CPUs that workers may use; none: all of the process */
};
#define CMWQ_ATTRS_INITIALIZER \
	{ (uint32_t)sizeof(struct cmwq_attrs), 0, CMWQ_SCOPE_DEFAULT, 0, 0, { { 0 } } }

/* What a queue is to be like. */
struct cmwq_queue_options {
	uint32_t size;      /* of this struct */
	uint32_t kind;      /* an enum cmwq_kind */
	uint32_t flags;     /* a sum of CMWQ_HIGHPRI and the others */
	int32_t max_active; /* items that may be active at once, 1 to 2048; 0: 1024, which grows */
	uint32_t stacking;  /* an enum cmwq_stacking */
	uint32_t reserved;
	struct cmwq_attrs attrs;
};
#define CMWQ_QUEUE_OPTIONS_INITIALIZER \
	{ (uint32_t)sizeof(struct cmwq_queue_options), CMWQ_MANAGED, 0, 0, 0, 0, \
	  CMWQ_ATTRS_INITIALIZER }

/*
 * Makes a queue. The name is copied, and need not be unique. options may be NULL. -EINVAL if the
 * kind of queue does not have what is asked for, or a value is out of range.
 */
int cmwq_queue_create(const char *name, const struct cmwq_queue_options *options,
		      struct cmwq_queue **queue);

/*
 * Takes a queue away: refuses items but those that its own items queue, disarms its timers, waits
 * until everything has ended. Nobody may use it any more, which calls notice: they return
 * -ESHUTDOWN, until 1,024 more were destroyed and it may become another one (never with
 * CMWQ_CHECKED=1). In one of its own items it does not wait: the last item ends the queue.
 */
int cmwq_queue_destroy(struct cmwq_queue *queue);

/* Copies the name, cut to size - 1 bytes. Returns its whole length. place may be NULL. */
int cmwq_queue_name(struct cmwq_queue *queue, char *place, size_t size);

/*
 * Queue an item. 1 if it was queued, 0 if it was pending already: then its next execution sees what
 * was stored before this call, too. -ECANCELED if it is disabled. Allocates nothing.
 *
 * cpu is a number of a CPU, or negative for any: on a per-CPU queue the item runs there, on others
 * in the pod of that CPU; -ENODEV if there is none. node is a NUMA node, or negative.
 */
int cmwq_queue_work(struct cmwq_queue *queue, struct cmwq_work *work);
int cmwq_queue_work_on(int cpu, struct cmwq_queue *queue, struct cmwq_work *work);
int cmwq_queue_work_node(int node, struct cmwq_queue *queue, struct cmwq_work *work);

/*
 * Queue an item after a delay in nanoseconds of CLOCK_MONOTONIC; 0: at once. Else as
 * cmwq_queue_work(). An item whose time comes while its queue takes no more is dropped, which is
 * reported.
 */
int cmwq_queue_delayed_work(struct cmwq_queue *queue, struct cmwq_work *work, uint64_t delay_ns);
int cmwq_queue_delayed_work_on(int cpu, struct cmwq_queue *queue, struct cmwq_work *work,
			       uint64_t delay_ns);

/*
 * Queue an item after a delay from now, whatever was planned for it. 1 if it was pending, 0 if it
 * was idle or disabled; a disabled item stays as it is.
 */
int cmwq_mod_delayed_work(struct cmwq_queue *queue, struct cmwq_work *work, uint64_t delay_ns);
int cmwq_mod_delayed_work_on(int cpu, struct cmwq_queue *queue, struct cmwq_work *work,
			     uint64_t delay_ns);

/* Enables an item, and queues it if it is not disabled otherwise: 1 then, else 0. */
int cmwq_enable_and_queue_work(struct cmwq_queue *queue, struct cmwq_work *work);

/*
 * Has func(arg) called once by a worker: an item that the library owns. 0 if it was queued.
 * cmwq_queue_flush() waits for it.
 */
int cmwq_submit(struct cmwq_queue *queue, void (*func)(void *arg), void *arg);

/*
 * Calls func on each CPU that the process may use, once, with an item that is freed afterwards, and
 * waits. The queue is a per-CPU one.
 */
int cmwq_on_each_cpu(struct cmwq_queue *queue, cmwq_work_fn func);

/*
 * Waits until everything queued before this call has ended. -EDEADLK in an item of this queue.
 */
int cmwq_queue_flush(struct cmwq_queue *queue);

/*
 * Waits until nothing is queued or running, what its items queue included. Others are refused
 * meanwhile with -EBUSY. The second one returns -ETIMEDOUT if items were left after so long.
 */
int cmwq_queue_drain(struct cmwq_queue *queue);
int cmwq_queue_drain_for(struct cmwq_queue *queue, uint64_t timeout_ns);

/* 1 if items wait because the limit is reached, of a per-CPU queue on this CPU. A hint. */
int cmwq_queue_congested(struct cmwq_queue *queue, int cpu);

/* Counts where the items of a queue are. */
struct cmwq_counts {
	uint32_t size; /* of this struct: set it before the call */
	uint32_t max_active;
	uint32_t min_active;
	uint32_t reserved;
	uint64_t nr_active;    /* hold a slot of max_active */
	uint64_t nr_executing; /* are being executed */
	uint64_t nr_inactive;  /* wait for a slot */
};
int cmwq_queue_counts(struct cmwq_queue *queue, struct cmwq_counts *counts);

/*
 * The limit of items that are active at once, and what each NUMA node is granted of it at least.
 * Setting clamps to 1..2048 and to the limit. -EOPNOTSUPP for kinds that are their own limit.
 */
int cmwq_queue_max_active(struct cmwq_queue *queue);
int cmwq_queue_min_active(struct cmwq_queue *queue);
int cmwq_queue_set_max_active(struct cmwq_queue *queue, int max_active);
int cmwq_queue_set_min_active(struct cmwq_queue *queue, int min_active);

/* Reads and changes attributes. Set attrs->size before; begin with the present ones. */
int cmwq_queue_get_attrs(struct cmwq_queue *queue, struct cmwq_attrs *attrs);
int cmwq_queue_apply_attrs(struct cmwq_queue *queue, const struct cmwq_attrs *attrs);

/* --------------------------------------------------------------------------- inside of items */

/* The item that the calling thread executes; NULL outside of C items. It may have been freed. */
struct cmwq_work *cmwq_current_work(void);

/* Says what the item is at, for reports about it. Copied; forgotten when the item ends. */
void cmwq_set_worker_desc(const char *text);

/* 1 if the calling thread is the thread of a CMWQ_MEM_RECLAIM queue; else 0. */
int cmwq_is_rescuer(void);

/* 1 if anything waits for the slot or the worker of the calling item; else 0. */
int cmwq_others_waiting(void);

/*
 * Calls wait(arg), which blocks, and says so: another worker may take the CPU at once. Never
 * needed, sometimes faster than being noticed. Outside of items it just calls.
 */
void cmwq_blocking(void (*wait)(void *arg), void *arg);

/*
 * The calling item waits for this process: its worker is as busy as the process and its
 * descendants. 0: as itself. Returns what held before. When the item ends, its worker is as busy
 * as itself again.
 */
int cmwq_attach_process(int pid);

/* -------------------------------------------------------------------------------- the process */

/* The library's version, such as "0.1.0". */
const char *cmwq_version(void);

/* What cmwq_install() sets. 0 in a field: the default. */
struct cmwq_process_options {
	uint32_t size;         /* of this struct */
	uint32_t thread_limit; /* workers that each pool may have; 1024 */
	uint64_t stack_size;   /* bytes of stack of each worker, at least 64 KiB; 2 MiB */
};
/*
 * Sets options of the process, once. -EBUSY after the first time, and once a queue was used. -EINVAL
 * for a limit that is out of range.
 */
int cmwq_install(const struct cmwq_process_options *options);

/* What became of the items: see cmwq_shutdown(). */
struct cmwq_shutdown_report {
	uint32_t size; /* of this struct: set it before the call */
	uint32_t reserved;
	uint64_t completed; /* ended during the call */
	uint64_t queued;    /* had not begun */
	uint64_t running;   /* were running */
	uint64_t armed;     /* timers, which are not waited for */
};
/*
 * Refuses items from now on but from running ones, also if nothing was queued yet in this process
 * (a forked child is another one), and waits until all have ended: 0 then. After
 * timeout_ns nanoseconds -ETIMEDOUT; what is left goes on. report may be NULL. Called from an item,
 * it does not wait for that item nor for what waits for it; if others can begin only when that item
 * has ended, it returns -ETIMEDOUT once nothing else is left. Returning from main does not run what
 * is queued; this does.
 */
int cmwq_shutdown(uint64_t timeout_ns, struct cmwq_shutdown_report *report);

/* Reads counters of the process. */
struct cmwq_stats {
	uint32_t size; /* of this struct: set it before the call */
	uint32_t cpus;
	uint64_t workers;
	uint64_t started;
	uint64_t completed;
	uint64_t in_flight;
	uint64_t spawn_failures;
	uint64_t canary_reports;
	uint64_t ticks;
};
int cmwq_get_stats(struct cmwq_stats *stats);

/* How many CPUs items can keep busy: at least 1. */
int cmwq_cpus(void);

/* The CPUs of queues that are not per CPU. -EINVAL if the process may use none of them. */
int cmwq_unbound_cpus(struct cmwq_cpus *cpus);
int cmwq_set_unbound_cpus(const struct cmwq_cpus *cpus);

/* The scope of queues that name none, an enum cmwq_scope. */
int cmwq_default_scope(void);
int cmwq_set_default_scope(int scope);

/* Stops all freezable queues; what has begun goes on. */
int cmwq_freeze(void);

/* 1 if items are left that had begun before cmwq_freeze(); else 0. */
int cmwq_freezing(void);

/* Freezable queues go on. */
int cmwq_thaw(void);

/*
 * The CPU time in one go that makes an item CPU-intensive (10 ms), and how long a queue may stand
 * still until that is reported (30 s). In nanoseconds; 0 turns it off. Where no worker is there and
 * no thread can be made, that is reported at once.
 */
void cmwq_set_cpu_intensive_threshold(uint64_t ns);
void cmwq_set_watchdog_threshold(uint64_t ns);

enum cmwq_report_kind {
	CMWQ_REPORT_OTHER = 0,
	CMWQ_REPORT_CPU_INTENSIVE = 1,
	CMWQ_REPORT_STALL = 2,
	CMWQ_REPORT_STARVATION = 3,
	CMWQ_REPORT_LIMIT_RAISED = 4,
	CMWQ_REPORT_THREAD_LIMIT_RAISED = 5,
	CMWQ_REPORT_LEFT_BEHIND = 6,
	CMWQ_REPORT_SLOW_DRAIN = 7,
	CMWQ_REPORT_TIMER_DROPPED = 8,
	CMWQ_REPORT_ENVIRONMENT = 9,
	CMWQ_REPORT_ENABLE_UNDERFLOW = 10,
	CMWQ_REPORT_DISABLE_OVERFLOW = 11,
	CMWQ_REPORT_FLUSH_DEPENDENCY = 12,
	CMWQ_REPORT_MISUSE = 100 /* of a call of this header */
};

/* Something worth knowing. It is valid during the call of the hook. */
struct cmwq_report {
	uint32_t kind; /* an enum cmwq_report_kind; there may be more */
	uint32_t reserved;
	const char *text; /* one or several lines */
};

/*
 * From now on reports go to the hook, instead of to the standard error output. That is told of
 * misuse of one call at most ten times in five seconds, the hook each time. The hook is called on
 * the thread that has found something, with no lock held. It must not wait for items.
 */
int cmwq_set_report_hook(void (*hook)(const struct cmwq_report *report, void *arg), void *arg);

/* ------------------------------------------------------------------- jobs and ordered calls */

#define CMWQ_JOB_NUMA_AWARE 0x1u /* each NUMA node has a part of the range, and helpers of its own */
#define CMWQ_JOB_ADAPTIVE 0x2u   /* chunks of about 1 ms: done from the beginning to the end */
#define CMWQ_JOB_NICE 0x4u       /* helpers have the nice level of the job */

/* A part of a job that is best done on a NUMA node, because its memory is there. */
struct cmwq_job_part {
	int node; /* negative: any */
	uint32_t reserved;
	unsigned long start;
	unsigned long size;
};

/* What came of a job that was completed. */
struct cmwq_job_stats {
	uint32_t size;    /* of this struct: set it before the call */
	uint32_t helpers; /* threads that took part beside the caller */
	uint64_t helped;  /* units that helpers have done */
	uint64_t chunks;  /* taken by all threads */
	uint64_t claims;  /* chunks that another thread had taken, and not begun */
	uint64_t lifted;  /* helpers that were given the caller's nice level at the end */
};

/*
 * A loop over [start, start + size) that idle CPUs help with. Threads take chunks of it, and call
 * the function for steps of about 250 us. At the end the caller takes over what helpers have not
 * begun: it waits for one step of each helper at most. Set all other fields to zero.
 */
struct cmwq_job {
	uint32_t struct_size; /* of this struct */
	uint32_t max_threads; /* the caller is one of them; 0: as many as there are CPUs */
	void (*func)(unsigned long start, unsigned long end, void *arg);
	void *arg; /* for all functions of the job */
	unsigned long start;
	unsigned long size;
	unsigned long align;     /* calls end at multiples of it; 0 means 1 */
	unsigned long min_chunk; /* fewest units worth a call, and a thread; 0 means 1 */
	uint32_t flags;          /* a sum of CMWQ_JOB_NUMA_AWARE and the others */
	int32_t nice;            /* of helpers: 19, unless CMWQ_JOB_NICE is set */
	/* In place of func. If it does not return 0, the job ends, and cmwq_run_job() returns that. */
	int (*try_func)(unsigned long start, unsigned long end, void *arg);
	/*
	 * Called if the job is not completed, when all threads are out: once for each range that was
	 * completed, in ascending order. The call that failed is not in them.
	 */
	void (*undo)(unsigned long start, unsigned long end, void *arg);
	/* Called on the calling thread, between its steps, after each hundredth, and at the end. */
	void (*progress)(unsigned long done, unsigned long size, void *arg);
	/* Asked before each step, on all threads. Not 0: no step begins; -ECANCELED is the result. */
	int (*cancelled)(void *arg);
	/* In place of start and size: parts in ascending order, with their nodes. */
	const struct cmwq_job_part *parts;
	size_t part_count;
	struct cmwq_job_stats *stats; /* filled in if the job is completed; NULL: nobody asks */
};
/*
 * Calls the function of the job until each unit was in one call, on several threads, and returns
 * when all are out: 0 then. It may be called in an item and within a job. Helpers of all jobs are
 * at most 4/5 of the CPUs. In a child that the function has forked it returns -ECHILD.
 */
int cmwq_run_job(const struct cmwq_job *job);

/* Calls that are waited for together. All zero is a new one; NULL is everybody's. */
struct cmwq_async_domain {
	uint64_t id;
	uint32_t exclusive; /* not 0: cmwq_async_synchronize_all() does not wait for its calls */
	uint32_t reserved;
};

/*
 * Has func(data, cookie) called by a worker, and returns the cookie. Cookies of all domains go up.
 * Where nothing can be queued it is called at once, on the calling thread.
 */
uint64_t cmwq_async_schedule(struct cmwq_async_domain *domain,
			     void (*func)(void *data, uint64_t cookie), void *data);

/*
 * Wait until all calls with a lower cookie have ended, of a domain; until none of a domain is
 * pending; until none of any domain is, but of exclusive ones. -EDEADLK for a wait for oneself.
 */
int cmwq_async_synchronize_cookie(struct cmwq_async_domain *domain, uint64_t cookie);
int cmwq_async_synchronize_full(struct cmwq_async_domain *domain);
int cmwq_async_synchronize_all(void);

/* 1 if the calling thread executes such a call; else 0. */
int cmwq_current_is_async(void);

/* A queue by the kernel's flags: for linux/workqueue.h. */
int cmwq_linux_alloc_workqueue(const char *name, uint32_t flags, int max_active,
			       struct cmwq_queue **queue);

/* Reports that a call, named as in the kernel, was refused. Not for 0 and more, nor for -EINVAL. */
void cmwq_linux_warn(const char *call, int error);

#ifdef __cplusplus
}
#endif
#endif /* CMWQ_H */
