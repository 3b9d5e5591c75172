/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_WAIT_H
#define CMWQ_SHIM_WAIT_H

/* Waiting for conditions. There are no signals: what is interruptible never is. */
#include <linux/cmwq_futex.h>
#include <linux/list.h>
#include <linux/spinlock.h>
struct wait_queue_head {
	unsigned int lock;
	/* Goes up with each wake-up. */
	unsigned int turns;
	unsigned int waiters;
};
typedef struct wait_queue_head wait_queue_head_t;
typedef struct wait_queue_entry {
	struct list_head entry;
	void *private;
	unsigned int flags;
} wait_queue_entry_t;
#define __WAIT_QUEUE_HEAD_INITIALIZER(name) { 0, 0, 0 }
#define DECLARE_WAIT_QUEUE_HEAD(name) \
	wait_queue_head_t name = __WAIT_QUEUE_HEAD_INITIALIZER(name)
#define DECLARE_WAIT_QUEUE_HEAD_ONSTACK(name) DECLARE_WAIT_QUEUE_HEAD(name)
#define init_waitqueue_head(q) \
	((void)(*(q) = (wait_queue_head_t)__WAIT_QUEUE_HEAD_INITIALIZER(q)))
#define DECLARE_WAITQUEUE(name, task) wait_queue_entry_t name = { }
#define DEFINE_WAIT(name) wait_queue_entry_t name = { }
#define DEFINE_WAIT_FUNC(name, func) DEFINE_WAIT(name)
CMWQ_INLINE void cmwq_shim_wake_all(wait_queue_head_t *q)
{
	__atomic_fetch_add(&q->turns, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->waiters, __ATOMIC_SEQ_CST))
		cmwq_shim_wake(&q->turns, 0x7fffffff);
}
/* Everybody looks at his condition again, however many were to be woken. */
#define wake_up(q) cmwq_shim_wake_all(q)
#define wake_up_all(q) cmwq_shim_wake_all(q)
#define wake_up_nr(q, n) cmwq_shim_wake_all(q)
#define wake_up_interruptible(q) cmwq_shim_wake_all(q)
#define wake_up_interruptible_all(q) cmwq_shim_wake_all(q)
#define wake_up_interruptible_sync(q) cmwq_shim_wake_all(q)
#define wake_up_interruptible_poll(q, mask) cmwq_shim_wake_all(q)
#define wake_up_poll(q, mask) cmwq_shim_wake_all(q)
#define wake_up_locked(q) cmwq_shim_wake_all(q)
#define wake_up_sync(q) cmwq_shim_wake_all(q)
#define waitqueue_active(q) (READ_ONCE((q)->waiters) != 0)
#define wq_has_sleeper(q) (smp_mb(), waitqueue_active(q))
CMWQ_INLINE void cmwq_shim_turn(wait_queue_head_t *q, unsigned int turn, long long ns)
{
	cmwq_shim_wait(&q->turns, turn, ns);
}
#define CMWQ_WAIT(q, condition, timeout, unlock, relock) ({ \
	unsigned long ticks_ = (unsigned long)(timeout), begin_ = jiffies, left_ = 0; \
	bool for_ever_ = ticks_ >= (unsigned long)LONG_MAX; \
	__atomic_fetch_add(&(q).waiters, 1, __ATOMIC_SEQ_CST); \
	for (;;) { \
		unsigned int turn_ = __atomic_load_n(&(q).turns, __ATOMIC_SEQ_CST); \
		unsigned long past_; \
		if (condition) { \
			past_ = for_ever_ ? 0 : jiffies - begin_; \
			left_ = past_ < ticks_ ? ticks_ - past_ : 1; \
			break; \
		} \
		past_ = jiffies - begin_; \
		if (!for_ever_ && past_ >= ticks_) \
			break; \
		unlock; \
		cmwq_shim_turn(&(q), turn_, for_ever_ ? -1 : \
			       (long long)(ticks_ - past_) * TICK_NSEC); \
		relock; \
	} \
	__atomic_fetch_sub(&(q).waiters, 1, __ATOMIC_SEQ_CST); \
	(long)left_; })
#define wait_event_timeout(q, condition, timeout) CMWQ_WAIT(q, condition, timeout, , )
#define wait_event(q, condition) ((void)CMWQ_WAIT(q, condition, LONG_MAX, , ))
#define wait_event_freezable(q, condition) (wait_event(q, condition), 0)
#define wait_event_freezable_timeout wait_event_timeout
#define wait_event_idle(q, condition) wait_event(q, condition)
#define wait_event_idle_timeout wait_event_timeout
#define wait_event_interruptible(q, condition) (wait_event(q, condition), 0)
#define wait_event_interruptible_exclusive wait_event_interruptible
#define wait_event_interruptible_timeout wait_event_timeout
#define wait_event_killable(q, condition) (wait_event(q, condition), 0)
#define wait_event_killable_timeout wait_event_timeout
#define wait_event_cmd(q, condition, before, after) \
	((void)CMWQ_WAIT(q, condition, LONG_MAX, before, after))
#define wait_event_lock_irq(q, condition, lock) \
	((void)CMWQ_WAIT(q, condition, LONG_MAX, spin_unlock(&(lock)), spin_lock(&(lock))))
#define wait_event_lock_irq_timeout(q, condition, lock, timeout) \
	CMWQ_WAIT(q, condition, timeout, spin_unlock(&(lock)), spin_lock(&(lock)))
#define wait_event_interruptible_lock_irq(q, condition, lock) \
	(wait_event_lock_irq(q, condition, lock), 0)
#define wait_var_event(var, condition) \
	do { while (!(condition)) cmwq_shim_yield(); } while (0)
#define wake_up_var(var) ((void)(var))
#define add_wait_queue(q, entry) ((void)(q), (void)(entry))
#define add_wait_queue_exclusive add_wait_queue
#define remove_wait_queue(q, entry) ((void)(q), (void)(entry))
#define prepare_to_wait(q, entry, state) ((void)(q), (void)(entry), (void)(state))
#define prepare_to_wait_exclusive prepare_to_wait
#define finish_wait(q, entry) ((void)(q), (void)(entry))
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_KILLABLE 0x102
#define TASK_IDLE 0x402
#define TASK_NORMAL 3
#define TASK_COMM_LEN 16
#define MAX_SCHEDULE_TIMEOUT LONG_MAX

#endif
