/* SPDX-License-Identifier: MIT OR Apache-2.0 */
/*
 * linux/workqueue.h - the kernel's names for cmwq
 *
 * Compile with -I PREFIX/include/cmwq. With -I PREFIX/include/cmwq/shims as well, small headers
 * stand in for linux/list.h, linux/slab.h and others; a project that has its own leaves that out.
 *
 * Names, flags, results and orders are the kernel's (Linux 7.1). docs/differences.md lists where
 * they are not. What the kernel warns of goes to the report hook, or to the standard error output.
 */
#ifndef CMWQ_LINUX_WORKQUEUE_H
#define CMWQ_LINUX_WORKQUEUE_H

#include <stdarg.h>
#include <stdbool.h>

#include "../../cmwq.h"

#if defined(__has_include)
#if __has_include(<linux/cmwq_shims.h>)
#include <linux/cmwq_shims.h>
#include <linux/types.h>
#include <linux/bitops.h>
#include <linux/list.h>
#include <linux/atomic.h>
#include <linux/cpumask.h>
#include <linux/jiffies.h>
#include <linux/timer.h>
#include <linux/rcupdate.h>
#endif
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define CMWQ_LINUX_INLINE static inline __attribute__((unused))

struct workqueue_struct;
struct work_struct;
typedef void (*work_func_t)(struct work_struct *work);

/* An item. Laid out as struct cmwq_work; only func is for programs to read. */
struct work_struct {
	uint64_t data;
	struct {
		void *next, *prev;
	} entry;
	uint32_t home;
	uint32_t reserved;
	const void *table;
	work_func_t func;
	uintptr_t room[2];
};

#ifndef CMWQ_SHIM_TIMER
/* Laid out as struct timer_list of the small headers. */
struct cmwq_timer {
	struct cmwq_work work;
	unsigned long expires;
	void (*function)(struct cmwq_timer *timer);
	unsigned int flags;
};
#define CMWQ_SHIM_TIMER struct cmwq_timer
#endif

/* An item with a timer. The timer's place is there for timer_pending(&dwork->timer). */
struct delayed_work {
	struct work_struct work;
	CMWQ_SHIM_TIMER timer;
	struct workqueue_struct *wq;
	int cpu;
};

struct execute_work {
	struct work_struct work;
};

CMWQ_ASSERT(sizeof(struct work_struct) == sizeof(struct cmwq_work), "they are the same item");
CMWQ_ASSERT(offsetof(struct work_struct, func) == offsetof(struct cmwq_work, func), "also here");
CMWQ_ASSERT(sizeof(struct delayed_work) == 168, "as in every translation unit");

#ifndef HZ
#define HZ 1000
#endif
#define WORK_CPU_UNBOUND CMWQ_MAX_CPUS
#define WORK_BUSY_PENDING CMWQ_BUSY_PENDING
#define WORK_BUSY_RUNNING CMWQ_BUSY_RUNNING
#define WORKER_DESC_LEN 32
#define WQ_NAME_LEN 32

enum wq_flags {
	WQ_BH = 1 << 0,
	WQ_UNBOUND = 1 << 1,
	WQ_FREEZABLE = 1 << 2,
	WQ_MEM_RECLAIM = 1 << 3,
	WQ_HIGHPRI = 1 << 4,
	WQ_CPU_INTENSIVE = 1 << 5,
	WQ_SYSFS = 1 << 6,
	WQ_POWER_EFFICIENT = 1 << 7,
	WQ_PERCPU = 1 << 8,
	__WQ_ORDERED = 1 << 17,
	__WQ_LEGACY = 1 << 18
};

enum wq_consts {
	WQ_MAX_ACTIVE = 2048,
	WQ_UNBOUND_MAX_ACTIVE = WQ_MAX_ACTIVE,
	WQ_DFL_ACTIVE = WQ_MAX_ACTIVE / 2,
	WQ_DFL_MIN_ACTIVE = 8
};

enum wq_affn_scope {
	WQ_AFFN_DFL,
	WQ_AFFN_CPU,
	WQ_AFFN_SMT,
	WQ_AFFN_CACHE,
	WQ_AFFN_CACHE_SHARD,
	WQ_AFFN_NUMA,
	WQ_AFFN_SYSTEM,
	WQ_AFFN_NR_TYPES
};

#ifdef CMWQ_SHIM_CPUMASK
typedef struct cpumask *cmwq_linux_cpumask;
#else
typedef struct cmwq_cpus *cmwq_linux_cpumask;
#endif

/* The CPUs are NULL in a struct that was not made by alloc_workqueue_attrs(). */
struct workqueue_attrs {
	int nice;
	cmwq_linux_cpumask cpumask;
	bool affn_strict;
	enum wq_affn_scope affn_scope;
	bool ordered;
};

/* System queues: constants, the same in every process. */
#define CMWQ_LINUX_QUEUE(name, number)                                        \
	static struct workqueue_struct *const name __attribute__((unused)) = \
		(struct workqueue_struct *)(uintptr_t)(number)
CMWQ_LINUX_QUEUE(system_percpu_wq, 2);
CMWQ_LINUX_QUEUE(system_highpri_wq, 3);
CMWQ_LINUX_QUEUE(system_long_wq, 4);
CMWQ_LINUX_QUEUE(system_freezable_wq, 5);
CMWQ_LINUX_QUEUE(system_bh_wq, 6);
CMWQ_LINUX_QUEUE(system_bh_highpri_wq, 7);
CMWQ_LINUX_QUEUE(system_dfl_wq, 8);
CMWQ_LINUX_QUEUE(system_wq, 9);
CMWQ_LINUX_QUEUE(system_unbound_wq, 10);
CMWQ_LINUX_QUEUE(system_dfl_long_wq, 11);
CMWQ_LINUX_QUEUE(system_power_efficient_wq, 12);
CMWQ_LINUX_QUEUE(system_freezable_power_efficient_wq, 13);

/* ------------------------------------------------------------------------------- initialising */

#define CMWQ_LINUX_WORD UINT64_C(0xffff000000000000)
#define __WORK_INITIALIZER(n, f) { CMWQ_LINUX_WORD, { NULL, NULL }, 0, 0, NULL, (f), { 0, 0 } }
#define CMWQ_LINUX_TIMER(f) \
	{ CMWQ_WORK_INITIALIZER(NULL), 0, NULL, (f) | CMWQ_LINUX_TIMER_OF_WORK }
/* In the flags of a timer: it belongs to the delayed item around it. */
#define CMWQ_LINUX_TIMER_OF_WORK 0x80000000u
#define __DELAYED_WORK_INITIALIZER(n, f, tflags) \
	{ __WORK_INITIALIZER(n, f), CMWQ_LINUX_TIMER((unsigned int)(tflags)), NULL, 0 }

#define DECLARE_WORK(n, f) struct work_struct n = __WORK_INITIALIZER(n, f)
#define DECLARE_DELAYED_WORK(n, f) struct delayed_work n = __DELAYED_WORK_INITIALIZER(n, f, 0)
#define DECLARE_DEFERRABLE_WORK(n, f) DECLARE_DELAYED_WORK(n, f)

CMWQ_LINUX_INLINE struct cmwq_work *cmwq_linux_work(const struct work_struct *work)
{
	return (struct cmwq_work *)(uintptr_t)work;
}

CMWQ_LINUX_INLINE struct cmwq_queue *cmwq_linux_wq(struct workqueue_struct *wq)
{
	return (struct cmwq_queue *)wq;
}

CMWQ_LINUX_INLINE void cmwq_linux_init(struct work_struct *work, work_func_t func)
{
	cmwq_work_init(cmwq_linux_work(work), (cmwq_work_fn)func);
}

CMWQ_LINUX_INLINE void cmwq_linux_init_delayed(struct delayed_work *dwork, work_func_t func)
{
	cmwq_linux_init(&dwork->work, func);
	dwork->timer.expires = 0;
	dwork->timer.function = NULL;
	dwork->timer.flags = CMWQ_LINUX_TIMER_OF_WORK;
	dwork->wq = NULL;
	dwork->cpu = WORK_CPU_UNBOUND;
}

#define INIT_WORK(w, f) cmwq_linux_init((w), (f))
#define INIT_WORK_ONSTACK(w, f) cmwq_linux_init((w), (f))
#define INIT_WORK_ONSTACK_KEY(w, f, key) cmwq_linux_init((w), (f))
#define __INIT_WORK(w, f, onstack) cmwq_linux_init((w), (f))
#define INIT_DELAYED_WORK(w, f) cmwq_linux_init_delayed((w), (f))
#define INIT_DELAYED_WORK_ONSTACK(w, f) cmwq_linux_init_delayed((w), (f))
#define INIT_DEFERRABLE_WORK(w, f) cmwq_linux_init_delayed((w), (f))
#define INIT_DEFERRABLE_WORK_ONSTACK(w, f) cmwq_linux_init_delayed((w), (f))
#define __INIT_WORK_KEY(w, f, onstack, key) cmwq_linux_init((w), (f))
#define __INIT_DELAYED_WORK(w, f, flags) cmwq_linux_init_delayed((w), (f))
#define __INIT_DELAYED_WORK_ONSTACK(w, f, flags) cmwq_linux_init_delayed((w), (f))

CMWQ_LINUX_INLINE void destroy_work_on_stack(struct work_struct *work)
{
	cmwq_work_destroy(cmwq_linux_work(work));
}

CMWQ_LINUX_INLINE void destroy_delayed_work_on_stack(struct delayed_work *dwork)
{
	cmwq_work_destroy(cmwq_linux_work(&dwork->work));
}

CMWQ_LINUX_INLINE struct delayed_work *to_delayed_work(struct work_struct *work)
{
	return cmwq_container_of(work, struct delayed_work, work);
}

#define from_work(var, callback_work, work_fieldname) \
	cmwq_container_of(callback_work, __typeof__(*var), work_fieldname)

CMWQ_LINUX_INLINE bool work_pending(struct work_struct *work)
{
	return cmwq_work_pending(cmwq_linux_work(work)) > 0;
}

#define delayed_work_pending(w) work_pending(&(w)->work)

/* -------------------------------------------------------------------------------- queues */

#define CMWQ_LINUX_PRINTF(f, a) __attribute__((__format__(__printf__, f, a)))

CMWQ_LINUX_INLINE struct workqueue_struct *cmwq_linux_alloc(unsigned int flags, int max_active,
							    const char *fmt, va_list args)
{
	struct cmwq_queue *queue = NULL;
	/* The library cuts it to WQ_NAME_LEN, and says so. */
	char name[4 * WQ_NAME_LEN];

	__builtin_vsnprintf(name, sizeof(name), fmt, args);
	if (cmwq_linux_alloc_workqueue(name, flags, max_active, &queue) < 0)
		return NULL;
	return (struct workqueue_struct *)queue;
}

CMWQ_LINUX_PRINTF(1, 4)
CMWQ_LINUX_INLINE struct workqueue_struct *alloc_workqueue(const char *fmt, unsigned int flags,
							   int max_active, ...)
{
	struct workqueue_struct *wq;
	va_list args;

	va_start(args, max_active);
	wq = cmwq_linux_alloc(flags, max_active, fmt, args);
	va_end(args);
	return wq;
}

CMWQ_LINUX_PRINTF(2, 3)
CMWQ_LINUX_INLINE struct workqueue_struct *cmwq_linux_ordered(unsigned int flags, const char *fmt,
							      ...)
{
	struct workqueue_struct *wq;
	va_list args;

	va_start(args, fmt);
	wq = cmwq_linux_alloc(WQ_UNBOUND | (unsigned int)__WQ_ORDERED | flags, 1, fmt, args);
	va_end(args);
	return wq;
}

/* alloc_ordered_workqueue(fmt, flags, args...); the format is swapped with the flags. */
#define alloc_ordered_workqueue(...) \
	CMWQ_LINUX_PICK(__VA_ARGS__, CMWQ_LINUX_O9, CMWQ_LINUX_O8, CMWQ_LINUX_O7, CMWQ_LINUX_O6, \
			CMWQ_LINUX_O5, CMWQ_LINUX_O4, CMWQ_LINUX_O3, CMWQ_LINUX_O2, 0)(__VA_ARGS__)
#define CMWQ_LINUX_PICK(a, b, c, d, e, f, g, h, i, pick, ...) pick
#define CMWQ_LINUX_O2(fmt, flags) cmwq_linux_ordered((flags), fmt)
#define CMWQ_LINUX_O3(fmt, flags, c) cmwq_linux_ordered((flags), fmt, c)
#define CMWQ_LINUX_O4(fmt, flags, c, d) cmwq_linux_ordered((flags), fmt, c, d)
#define CMWQ_LINUX_O5(fmt, flags, c, d, e) cmwq_linux_ordered((flags), fmt, c, d, e)
#define CMWQ_LINUX_O6(fmt, flags, c, d, e, f) cmwq_linux_ordered((flags), fmt, c, d, e, f)
#define CMWQ_LINUX_O7(fmt, flags, c, d, e, f, g) cmwq_linux_ordered((flags), fmt, c, d, e, f, g)
#define CMWQ_LINUX_O8(fmt, flags, c, d, e, f, g, h) \
	cmwq_linux_ordered((flags), fmt, c, d, e, f, g, h)
#define CMWQ_LINUX_O9(fmt, flags, c, d, e, f, g, h, i) \
	cmwq_linux_ordered((flags), fmt, c, d, e, f, g, h, i)
#define alloc_workqueue_noprof alloc_workqueue
/* Locks are not watched here: the map counts for nothing, and the format has no arguments. */
#define alloc_workqueue_lockdep_map(fmt, flags, max_active, map) \
	alloc_workqueue(fmt, flags, max_active)
#define alloc_ordered_workqueue_lockdep_map(fmt, flags, map) cmwq_linux_ordered((flags), fmt)

#define create_workqueue(name) \
	alloc_workqueue("%s", (unsigned int)__WQ_LEGACY | WQ_MEM_RECLAIM | WQ_PERCPU, 1, (name))
#define create_freezable_workqueue(name) \
	alloc_workqueue("%s", (unsigned int)__WQ_LEGACY | WQ_FREEZABLE | WQ_UNBOUND | \
			WQ_MEM_RECLAIM, 1, (name))
#define create_singlethread_workqueue(name) \
	cmwq_linux_ordered((unsigned int)__WQ_LEGACY | WQ_MEM_RECLAIM, "%s", (name))

CMWQ_LINUX_INLINE void destroy_workqueue(struct workqueue_struct *wq)
{
	cmwq_queue_destroy(cmwq_linux_wq(wq));
}

CMWQ_LINUX_INLINE void workqueue_set_max_active(struct workqueue_struct *wq, int max_active)
{
	cmwq_linux_warn("workqueue_set_max_active",
			cmwq_queue_set_max_active(cmwq_linux_wq(wq), max_active));
}

CMWQ_LINUX_INLINE void workqueue_set_min_active(struct workqueue_struct *wq, int min_active)
{
	cmwq_linux_warn("workqueue_set_min_active",
			cmwq_queue_set_min_active(cmwq_linux_wq(wq), min_active));
}

/* Made with all CPUs, as in the kernel. Freed by free_workqueue_attrs(). */
CMWQ_LINUX_INLINE struct workqueue_attrs *alloc_workqueue_attrs(void)
{
	struct workqueue_attrs *attrs =
		(struct workqueue_attrs *)__builtin_calloc(1, sizeof(*attrs));
	void *cpus = __builtin_calloc(1, sizeof(struct cmwq_cpus));

	if (!attrs || !cpus) {
		__builtin_free(attrs);
		__builtin_free(cpus);
		return NULL;
	}
	__builtin_memset(cpus, 0xff, sizeof(struct cmwq_cpus));
	attrs->cpumask = (cmwq_linux_cpumask)cpus;
	return attrs;
}

CMWQ_LINUX_INLINE void free_workqueue_attrs(struct workqueue_attrs *attrs)
{
	if (attrs)
		__builtin_free(attrs->cpumask);
	__builtin_free(attrs);
}

CMWQ_LINUX_INLINE int apply_workqueue_attrs(struct workqueue_struct *wq,
					    const struct workqueue_attrs *attrs)
{
	struct cmwq_attrs ours = CMWQ_ATTRS_INITIALIZER;

	if ((int)attrs->affn_scope < 0 || attrs->affn_scope >= WQ_AFFN_NR_TYPES)
		return -22; /* EINVAL */
	ours.nice = attrs->nice;
	ours.scope = (int)attrs->affn_scope - 1;
	CMWQ_ASSERT(WQ_AFFN_DFL - 1 == CMWQ_SCOPE_DEFAULT && WQ_AFFN_CPU - 1 == CMWQ_SCOPE_CPU &&
		    WQ_AFFN_SMT - 1 == CMWQ_SCOPE_SMT && WQ_AFFN_CACHE - 1 == CMWQ_SCOPE_CACHE &&
		    WQ_AFFN_CACHE_SHARD - 1 == CMWQ_SCOPE_CACHE_SHARD &&
		    WQ_AFFN_NUMA - 1 == CMWQ_SCOPE_NUMA &&
		    WQ_AFFN_SYSTEM - 1 == CMWQ_SCOPE_SYSTEM,
		    "both enums count alike");
	ours.strict = attrs->affn_strict;
	if (attrs->cpumask)
		__builtin_memcpy(&ours.cpus, (const void *)attrs->cpumask, sizeof(ours.cpus));
	return cmwq_queue_apply_attrs(cmwq_linux_wq(wq), &ours);
}

CMWQ_LINUX_INLINE int workqueue_sysfs_register(struct workqueue_struct *wq)
{
	(void)wq;
	return 0;
}

/* ------------------------------------------------------------------------------- queueing */

CMWQ_LINUX_INLINE bool cmwq_linux_true(const char *call, int answer)
{
	if (answer < 0)
		cmwq_linux_warn(call, answer);
	return answer > 0;
}

CMWQ_LINUX_INLINE int cmwq_linux_cpu(int cpu)
{
	return cpu == WORK_CPU_UNBOUND ? -1 : cpu;
}

CMWQ_LINUX_INLINE uint64_t cmwq_linux_delay(unsigned long delay)
{
	const unsigned long most = ~0UL / (1000000000UL / HZ);

	return (uint64_t)(delay < most ? delay : most) * (1000000000UL / HZ);
}

CMWQ_LINUX_INLINE bool queue_work_on(int cpu, struct workqueue_struct *wq,
				     struct work_struct *work)
{
	return cmwq_linux_true("queue_work_on", cmwq_queue_work_on(cmwq_linux_cpu(cpu),
								   cmwq_linux_wq(wq),
								   cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	return cmwq_linux_true("queue_work",
			       cmwq_queue_work(cmwq_linux_wq(wq), cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool queue_work_node(int node, struct workqueue_struct *wq,
				       struct work_struct *work)
{
	return cmwq_linux_true("queue_work_node", cmwq_queue_work_node(node, cmwq_linux_wq(wq),
								       cmwq_linux_work(work)));
}

/* For those who look at the fields of an armed item. */
CMWQ_LINUX_INLINE void cmwq_linux_note(int cpu, struct workqueue_struct *wq,
				       struct delayed_work *dwork, unsigned long delay)
{
	(void)delay;
	dwork->wq = wq;
	dwork->cpu = cpu;
#ifdef jiffies
	dwork->timer.expires = jiffies + delay;
#endif
}

CMWQ_LINUX_INLINE bool queue_delayed_work_on(int cpu, struct workqueue_struct *wq,
					     struct delayed_work *dwork, unsigned long delay)
{
	if (delay && !delayed_work_pending(dwork))
		cmwq_linux_note(cpu, wq, dwork, delay);
	return cmwq_linux_true("queue_delayed_work",
			       cmwq_queue_delayed_work_on(cmwq_linux_cpu(cpu), cmwq_linux_wq(wq),
							  cmwq_linux_work(&dwork->work),
							  cmwq_linux_delay(delay)));
}

CMWQ_LINUX_INLINE bool queue_delayed_work(struct workqueue_struct *wq, struct delayed_work *dwork,
					  unsigned long delay)
{
	return queue_delayed_work_on(WORK_CPU_UNBOUND, wq, dwork, delay);
}

CMWQ_LINUX_INLINE bool mod_delayed_work_on(int cpu, struct workqueue_struct *wq,
					   struct delayed_work *dwork, unsigned long delay)
{
	if (delay)
		cmwq_linux_note(cpu, wq, dwork, delay);
	return cmwq_linux_true("mod_delayed_work",
			       cmwq_mod_delayed_work_on(cmwq_linux_cpu(cpu), cmwq_linux_wq(wq),
							cmwq_linux_work(&dwork->work),
							cmwq_linux_delay(delay)));
}

CMWQ_LINUX_INLINE bool mod_delayed_work(struct workqueue_struct *wq, struct delayed_work *dwork,
					unsigned long delay)
{
	return mod_delayed_work_on(WORK_CPU_UNBOUND, wq, dwork, delay);
}

CMWQ_LINUX_INLINE bool schedule_work(struct work_struct *work)
{
	return queue_work(system_percpu_wq, work);
}

CMWQ_LINUX_INLINE bool schedule_work_on(int cpu, struct work_struct *work)
{
	return queue_work_on(cpu, system_percpu_wq, work);
}

CMWQ_LINUX_INLINE bool schedule_delayed_work(struct delayed_work *dwork, unsigned long delay)
{
	return queue_delayed_work(system_percpu_wq, dwork, delay);
}

CMWQ_LINUX_INLINE bool schedule_delayed_work_on(int cpu, struct delayed_work *dwork,
						unsigned long delay)
{
	return queue_delayed_work_on(cpu, system_percpu_wq, dwork, delay);
}

CMWQ_LINUX_INLINE bool enable_work(struct work_struct *work)
{
	return cmwq_linux_true("enable_work", cmwq_work_enable(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool enable_and_queue_work(struct workqueue_struct *wq, struct work_struct *work)
{
	return cmwq_linux_true("enable_and_queue_work",
			       cmwq_enable_and_queue_work(cmwq_linux_wq(wq),
							  cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE int schedule_on_each_cpu(work_func_t func)
{
	return cmwq_on_each_cpu(CMWQ_SYSTEM_PERCPU, (cmwq_work_fn)func);
}

/* No thread is in an interrupt here: it is always called at once. */
CMWQ_LINUX_INLINE int execute_in_process_context(work_func_t func, struct execute_work *ew)
{
	func(&ew->work);
	return 0;
}

/* ---------------------------------------------------------------- flushing and cancelling */

CMWQ_LINUX_INLINE bool flush_work(struct work_struct *work)
{
	return cmwq_linux_true("flush_work", cmwq_work_flush(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool flush_delayed_work(struct delayed_work *dwork)
{
	return cmwq_linux_true("flush_delayed_work",
			       cmwq_delayed_work_flush(cmwq_linux_work(&dwork->work)));
}

CMWQ_LINUX_INLINE bool cancel_work(struct work_struct *work)
{
	return cmwq_linux_true("cancel_work", cmwq_work_cancel(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool cancel_work_sync(struct work_struct *work)
{
	return cmwq_linux_true("cancel_work_sync", cmwq_work_cancel_sync(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool cancel_delayed_work(struct delayed_work *dwork)
{
	return cancel_work(&dwork->work);
}

CMWQ_LINUX_INLINE bool cancel_delayed_work_sync(struct delayed_work *dwork)
{
	return cancel_work_sync(&dwork->work);
}

CMWQ_LINUX_INLINE bool disable_work(struct work_struct *work)
{
	return cmwq_linux_true("disable_work", cmwq_work_disable(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool disable_work_sync(struct work_struct *work)
{
	return cmwq_linux_true("disable_work_sync",
			       cmwq_work_disable_sync(cmwq_linux_work(work)));
}

CMWQ_LINUX_INLINE bool disable_delayed_work(struct delayed_work *dwork)
{
	return disable_work(&dwork->work);
}

CMWQ_LINUX_INLINE bool disable_delayed_work_sync(struct delayed_work *dwork)
{
	return disable_work_sync(&dwork->work);
}

CMWQ_LINUX_INLINE bool enable_delayed_work(struct delayed_work *dwork)
{
	return enable_work(&dwork->work);
}

#define __flush_workqueue flush_workqueue
CMWQ_LINUX_INLINE void flush_workqueue(struct workqueue_struct *wq)
{
	cmwq_linux_warn("flush_workqueue", cmwq_queue_flush(cmwq_linux_wq(wq)));
}

CMWQ_LINUX_INLINE void drain_workqueue(struct workqueue_struct *wq)
{
	cmwq_linux_warn("drain_workqueue", cmwq_queue_drain(cmwq_linux_wq(wq)));
}

#define flush_scheduled_work() flush_workqueue(system_percpu_wq)

/* ------------------------------------------------------------------------------- looking */

CMWQ_LINUX_INLINE unsigned int work_busy(struct work_struct *work)
{
	int busy = cmwq_work_busy(cmwq_linux_work(work));

	return busy > 0 ? (unsigned int)busy : 0;
}

CMWQ_LINUX_INLINE bool workqueue_congested(int cpu, struct workqueue_struct *wq)
{
	return cmwq_queue_congested(cmwq_linux_wq(wq), cmwq_linux_cpu(cpu)) > 0;
}

CMWQ_LINUX_INLINE struct work_struct *current_work(void)
{
	return (struct work_struct *)cmwq_current_work();
}

CMWQ_LINUX_INLINE bool current_is_workqueue_rescuer(void)
{
	return cmwq_is_rescuer() > 0;
}

CMWQ_LINUX_PRINTF(1, 2)
CMWQ_LINUX_INLINE void set_worker_desc(const char *fmt, ...)
{
	char text[WORKER_DESC_LEN];
	va_list args;

	va_start(args, fmt);
	__builtin_vsnprintf(text, sizeof(text), fmt, args);
	va_end(args);
	cmwq_set_worker_desc(text);
}

CMWQ_LINUX_INLINE void freeze_workqueues_begin(void)
{
	cmwq_freeze();
}

CMWQ_LINUX_INLINE bool freeze_workqueues_busy(void)
{
	return cmwq_freezing() > 0;
}

CMWQ_LINUX_INLINE void thaw_workqueues(void)
{
	cmwq_thaw();
}

CMWQ_LINUX_INLINE void wq_watchdog_touch(int cpu)
{
	(void)cpu;
}

/* ------------------------------------------------------------------------ calls on a CPU */

struct cmwq_linux_call {
	struct work_struct work;
	long (*func)(void *arg);
	void *arg;
	long result;
};

CMWQ_LINUX_INLINE void cmwq_linux_call(struct work_struct *work)
{
	struct cmwq_linux_call *call = cmwq_container_of(work, struct cmwq_linux_call, work);

	call->result = call->func(call->arg);
}

/* Calls func(arg) on a CPU and returns what it does; -ENODEV if there is no such CPU. */
CMWQ_LINUX_INLINE long work_on_cpu(int cpu, long (*func)(void *arg), void *arg)
{
	struct cmwq_linux_call call;
	int queued;

	cmwq_linux_init(&call.work, cmwq_linux_call);
	call.func = func;
	call.arg = arg;
	call.result = 0;
	queued = cmwq_queue_work_on(cpu, CMWQ_SYSTEM_PERCPU, cmwq_linux_work(&call.work));
	if (queued < 0)
		return queued;
	if (cmwq_work_flush(cmwq_linux_work(&call.work)) < 0)
		cmwq_work_cancel_sync(cmwq_linux_work(&call.work));
	destroy_work_on_stack(&call.work);
	return call.result;
}

#define work_on_cpu_safe work_on_cpu
#define work_on_cpu_key(cpu, func, arg, key) work_on_cpu(cpu, func, arg)
#define work_on_cpu_safe_key(cpu, func, arg, key) work_on_cpu(cpu, func, arg)

/* ------------------------------------------------------ items that wait for a grace period */

#ifdef CMWQ_SHIM_RCU
struct rcu_work {
	struct work_struct work;
	struct rcu_head rcu;
	struct workqueue_struct *wq;
};

CMWQ_LINUX_INLINE struct rcu_work *to_rcu_work(struct work_struct *work)
{
	return cmwq_container_of(work, struct rcu_work, work);
}

#define INIT_RCU_WORK(rwork, func) cmwq_linux_init(&(rwork)->work, (func))
#define INIT_RCU_WORK_ONSTACK(rwork, func) cmwq_linux_init(&(rwork)->work, (func))

CMWQ_LINUX_INLINE void cmwq_linux_rcu(struct rcu_head *rcu)
{
	struct rcu_work *rwork = cmwq_container_of(rcu, struct rcu_work, rcu);

	queue_work(rwork->wq, &rwork->work);
}

/* False if it is pending, or waits for its grace period. */
CMWQ_LINUX_INLINE bool queue_rcu_work(struct workqueue_struct *wq, struct rcu_work *rwork)
{
	if (work_pending(&rwork->work) || !cmwq_shim_rcu_claim(&rwork->rcu))
		return false;
	rwork->wq = wq;
	call_rcu(&rwork->rcu, cmwq_linux_rcu);
	return true;
}

CMWQ_LINUX_INLINE bool flush_rcu_work(struct rcu_work *rwork)
{
	bool waited = cmwq_shim_rcu_flush(&rwork->rcu);

	return flush_work(&rwork->work) || waited;
}
#endif

#ifdef __cplusplus
}
#endif
#endif /* CMWQ_LINUX_WORKQUEUE_H */
