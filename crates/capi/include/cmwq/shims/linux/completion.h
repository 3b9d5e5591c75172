/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_COMPLETION_H
#define CMWQ_SHIM_COMPLETION_H

#include <linux/wait.h>
#define CMWQ_COMPLETE_ALL 0x80000000u
struct completion {
	unsigned int done;
	struct wait_queue_head wait;
};
#define COMPLETION_INITIALIZER(name) { 0, __WAIT_QUEUE_HEAD_INITIALIZER((name).wait) }
#define COMPLETION_INITIALIZER_ONSTACK(name) (*({ init_completion(&(name)); &(name); }))
#define DECLARE_COMPLETION(name) struct completion name = COMPLETION_INITIALIZER(name)
#define DECLARE_COMPLETION_ONSTACK(name) DECLARE_COMPLETION(name)
CMWQ_INLINE void init_completion(struct completion *c)
{
	c->done = 0;
	init_waitqueue_head(&c->wait);
}
#define init_completion_map(c, map) init_completion(c)
CMWQ_INLINE void reinit_completion(struct completion *c)
{
	__atomic_store_n(&c->done, 0, __ATOMIC_SEQ_CST);
}
CMWQ_INLINE bool try_wait_for_completion(struct completion *c)
{
	unsigned int done = __atomic_load_n(&c->done, __ATOMIC_SEQ_CST);

	while (done) {
		if (done & CMWQ_COMPLETE_ALL)
			return true;
		if (__atomic_compare_exchange_n(&c->done, &done, done - 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return true;
	}
	return false;
}
#define completion_done(c) (READ_ONCE((c)->done) != 0)
/* The waker is told apart from a waiter that frees the completion: it holds the wait lock. */
CMWQ_INLINE void cmwq_shim_complete(struct completion *c, unsigned int all)
{
	spin_lock(&c->wait.lock);
	if (all)
		__atomic_fetch_or(&c->done, CMWQ_COMPLETE_ALL, __ATOMIC_SEQ_CST);
	else
		__atomic_fetch_add(&c->done, 1, __ATOMIC_SEQ_CST);
	wake_up_all_locked(&c->wait);
	spin_unlock(&c->wait.lock);
}
#define complete(c) cmwq_shim_complete(c, 0)
#define complete_all(c) cmwq_shim_complete(c, 1)
/* Ticks that are left, at least 1; 0 after the timeout. */
CMWQ_INLINE unsigned long wait_for_completion_timeout(struct completion *c, unsigned long timeout)
{
	long left = wait_event_timeout(c->wait, try_wait_for_completion(c), timeout);

	/* Whoever completes it may still be in there. */
	spin_lock(&c->wait.lock);
	spin_unlock(&c->wait.lock);
	return (unsigned long)left;
}
CMWQ_INLINE void wait_for_completion(struct completion *c)
{
	wait_for_completion_timeout(c, LONG_MAX);
}
#define wait_for_completion_io(c) wait_for_completion(c)
#define wait_for_completion_io_timeout(c, t) wait_for_completion_timeout(c, t)
#define wait_for_completion_interruptible(c) (wait_for_completion(c), 0)
#define wait_for_completion_killable(c) (wait_for_completion(c), 0)
#define wait_for_completion_state(c, state) (wait_for_completion(c), 0)
#define wait_for_completion_interruptible_timeout(c, t) ((long)wait_for_completion_timeout(c, t))
#define wait_for_completion_killable_timeout(c, t) ((long)wait_for_completion_timeout(c, t))

#endif
