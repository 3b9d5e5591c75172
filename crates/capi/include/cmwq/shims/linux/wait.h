/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_WAIT_H
#define CMWQ_SHIM_WAIT_H

/* Waiting for conditions. There are no signals: what is interruptible never is interrupted. */
#include <linux/cmwq_task.h>
#include <linux/list.h>
#include <linux/spinlock.h>
struct wait_queue_head {
	spinlock_t lock;
	struct list_head head;
	/* Goes up with each wake-up. */
	unsigned int turns;
	/* In wait_event(), which needs no entry. */
	unsigned int waiters;
};
typedef struct wait_queue_head wait_queue_head_t;
struct wait_queue_entry;
typedef int (*wait_queue_func_t)(struct wait_queue_entry *entry, unsigned int mode, int flags,
				 void *key);
typedef struct wait_queue_entry {
	unsigned int flags;
	void *private;
	wait_queue_func_t func;
	struct list_head entry;
} wait_queue_entry_t;
#define WQ_FLAG_EXCLUSIVE 1u
#define WQ_FLAG_WOKEN 2u
#define __WAIT_QUEUE_HEAD_INITIALIZER(name) { { 0 }, LIST_HEAD_INIT((name).head), 0, 0 }
#define DECLARE_WAIT_QUEUE_HEAD(name) \
	wait_queue_head_t name = __WAIT_QUEUE_HEAD_INITIALIZER(name)
#define DECLARE_WAIT_QUEUE_HEAD_ONSTACK(name) DECLARE_WAIT_QUEUE_HEAD(name)
CMWQ_INLINE void init_waitqueue_head(wait_queue_head_t *q)
{
	__builtin_memset(q, 0, sizeof(*q));
	INIT_LIST_HEAD(&q->head);
}
CMWQ_INLINE int default_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags,
				      void *key)
{
	(void)mode, (void)flags, (void)key;
	return wake_up_process((struct task_struct *)entry->private);
}
CMWQ_INLINE int autoremove_wake_function(struct wait_queue_entry *entry, unsigned int mode,
					 int flags, void *key)
{
	int woken = default_wake_function(entry, mode, flags, key);

	if (woken)
		list_del_init(&entry->entry);
	return woken;
}
CMWQ_INLINE int woken_wake_function(struct wait_queue_entry *entry, unsigned int mode, int flags,
				    void *key)
{
	__atomic_fetch_or(&entry->flags, WQ_FLAG_WOKEN, __ATOMIC_SEQ_CST);
	return default_wake_function(entry, mode, flags, key);
}
CMWQ_INLINE void init_waitqueue_func_entry(struct wait_queue_entry *entry, wait_queue_func_t func)
{
	entry->flags = 0;
	entry->private = NULL;
	entry->func = func;
	INIT_LIST_HEAD(&entry->entry);
}
CMWQ_INLINE void init_waitqueue_entry(struct wait_queue_entry *entry, struct task_struct *task)
{
	init_waitqueue_func_entry(entry, default_wake_function);
	entry->private = task;
}
#define CMWQ_WAIT_ENTRY(name, task, func) \
	{ 0, (task), (func), LIST_HEAD_INIT((name).entry) }
#define DECLARE_WAITQUEUE(name, task) \
	wait_queue_entry_t name = CMWQ_WAIT_ENTRY(name, task, default_wake_function)
#define DEFINE_WAIT_FUNC(name, func) \
	wait_queue_entry_t name = CMWQ_WAIT_ENTRY(name, current, func)
#define DEFINE_WAIT(name) DEFINE_WAIT_FUNC(name, autoremove_wake_function)
#define init_wait(entry) \
	(init_waitqueue_func_entry(entry, autoremove_wake_function), \
	 (void)((entry)->private = current))
/*
 * Wakes all in wait_event(): each looks at its condition again, however many were to be woken. Of
 * entries it wakes those that share, and n of the exclusive ones. The lock is held.
 */
CMWQ_INLINE void cmwq_shim_wake_locked(wait_queue_head_t *q, int n, void *key)
{
	struct wait_queue_entry *entry, *next;

	__atomic_fetch_add(&q->turns, 1, __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&q->waiters, __ATOMIC_SEQ_CST))
		cmwq_shim_wake(&q->turns, 0x7fffffff);
	list_for_each_entry_safe(entry, next, &q->head, entry) {
		unsigned int flags = __atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST);

		if (entry->func(entry, TASK_NORMAL, 0, key) && flags & WQ_FLAG_EXCLUSIVE && !--n)
			break;
	}
}
CMWQ_INLINE void cmwq_shim_wake_up(wait_queue_head_t *q, int n, void *key)
{
	spin_lock(&q->lock);
	cmwq_shim_wake_locked(q, n, key);
	spin_unlock(&q->lock);
}
#define CMWQ_WAKE_KEY(mask) ((void *)(unsigned long)(mask))
#define wake_up(q) cmwq_shim_wake_up(q, 1, NULL)
#define wake_up_nr(q, n) cmwq_shim_wake_up(q, n, NULL)
#define wake_up_all(q) cmwq_shim_wake_up(q, 0, NULL)
#define wake_up_interruptible(q) wake_up(q)
#define wake_up_interruptible_nr(q, n) wake_up_nr(q, n)
#define wake_up_interruptible_all(q) wake_up_all(q)
#define wake_up_interruptible_sync(q) wake_up(q)
#define wake_up_sync(q) wake_up(q)
#define wake_up_poll(q, mask) cmwq_shim_wake_up(q, 1, CMWQ_WAKE_KEY(mask))
#define wake_up_interruptible_poll(q, mask) wake_up_poll(q, mask)
#define wake_up_interruptible_sync_poll(q, mask) wake_up_poll(q, mask)
#define wake_up_locked(q) cmwq_shim_wake_locked(q, 1, NULL)
#define wake_up_all_locked(q) cmwq_shim_wake_locked(q, 0, NULL)
#define wake_up_locked_poll(q, mask) cmwq_shim_wake_locked(q, 1, CMWQ_WAKE_KEY(mask))
#define waitqueue_active(q) (READ_ONCE((q)->waiters) != 0 || !list_empty(&(q)->head))
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
/* Waits for words and bits: all such waiters share a queue, and look again at each wake-up. */
CMWQ_SHARED wait_queue_head_t cmwq_shim_words = __WAIT_QUEUE_HEAD_INITIALIZER(cmwq_shim_words);
#define wait_var_event(var, condition) ((void)(var), wait_event(cmwq_shim_words, condition))
#define wait_var_event_killable(var, condition) (wait_var_event(var, condition), 0)
#define wait_var_event_interruptible(var, condition) (wait_var_event(var, condition), 0)
#define wait_var_event_timeout(var, condition, timeout) \
	((void)(var), wait_event_timeout(cmwq_shim_words, condition, timeout))
#define wake_up_var(var) ((void)(var), wake_up_all(&cmwq_shim_words))
CMWQ_INLINE void cmwq_shim_add_wait(wait_queue_head_t *q, struct wait_queue_entry *entry,
				    bool exclusive)
{
	spin_lock(&q->lock);
	entry->flags = exclusive ? entry->flags | WQ_FLAG_EXCLUSIVE :
				   entry->flags & ~WQ_FLAG_EXCLUSIVE;
	if (exclusive)
		list_add_tail(&entry->entry, &q->head);
	else
		list_add(&entry->entry, &q->head);
	spin_unlock(&q->lock);
}
#define add_wait_queue(q, entry) cmwq_shim_add_wait(q, entry, false)
#define add_wait_queue_exclusive(q, entry) cmwq_shim_add_wait(q, entry, true)
CMWQ_INLINE void remove_wait_queue(wait_queue_head_t *q, struct wait_queue_entry *entry)
{
	spin_lock(&q->lock);
	list_del_init(&entry->entry);
	spin_unlock(&q->lock);
}
#define __add_wait_queue(q, e) list_add(&(e)->entry, &(q)->head)
#define __add_wait_queue_entry_tail(q, e) list_add_tail(&(e)->entry, &(q)->head)
#define __remove_wait_queue(q, e) list_del(&(e)->entry)
CMWQ_INLINE void cmwq_shim_prepare(wait_queue_head_t *q, struct wait_queue_entry *entry,
				   unsigned int state, bool exclusive)
{
	spin_lock(&q->lock);
	entry->flags = exclusive ? entry->flags | WQ_FLAG_EXCLUSIVE :
				   entry->flags & ~WQ_FLAG_EXCLUSIVE;
	if (list_empty(&entry->entry) && exclusive)
		list_add_tail(&entry->entry, &q->head);
	else if (list_empty(&entry->entry))
		list_add(&entry->entry, &q->head);
	set_current_state(state);
	spin_unlock(&q->lock);
}
#define prepare_to_wait(q, entry, state) cmwq_shim_prepare(q, entry, state, false)
#define prepare_to_wait_exclusive(q, entry, state) cmwq_shim_prepare(q, entry, state, true)
#define prepare_to_wait_event(q, entry, state) (prepare_to_wait(q, entry, state), 0L)
CMWQ_INLINE void finish_wait(wait_queue_head_t *q, struct wait_queue_entry *entry)
{
	set_current_state(TASK_RUNNING);
	spin_lock(&q->lock);
	list_del_init(&entry->entry);
	spin_unlock(&q->lock);
}
/* Sleeps until woken_wake_function() was called for the entry, since the last return. */
CMWQ_INLINE long wait_woken(struct wait_queue_entry *entry, unsigned int mode, long timeout)
{
	set_current_state(mode);
	if (!(__atomic_load_n(&entry->flags, __ATOMIC_SEQ_CST) & WQ_FLAG_WOKEN))
		timeout = schedule_timeout(timeout);
	set_current_state(TASK_RUNNING);
	__atomic_fetch_and(&entry->flags, ~WQ_FLAG_WOKEN, __ATOMIC_SEQ_CST);
	return timeout;
}

#endif
