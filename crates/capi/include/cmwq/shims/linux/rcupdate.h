/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RCUPDATE_H
#define CMWQ_SHIM_RCUPDATE_H

/*
 * Grace periods by two counters of readers: who waits turns the counters round and waits until the
 * old one is empty, twice.
 */
#include <linux/atomic.h>
#include <linux/cmwq_futex.h>
#include <linux/list.h>
#include <linux/lockdep.h>
#include <linux/cleanup.h>
#include "../../../cmwq.h"
#define CMWQ_SHIM_RCU 1
struct cmwq_shim_rcu {
	unsigned int lock;
	unsigned int side;
	unsigned int readers[2];
};
CMWQ_SHARED struct cmwq_shim_rcu cmwq_shim_rcu;
CMWQ_SHARED __thread unsigned int cmwq_shim_rcu_depth;
CMWQ_SHARED __thread unsigned int cmwq_shim_rcu_side;
struct rcu_head {
	struct cmwq_work work;
	void (*func)(struct rcu_head *head);
	/* Not 0 while it waits. */
	unsigned int waits;
};
#define callback_head rcu_head
typedef void (*rcu_callback_t)(struct rcu_head *head);
CMWQ_INLINE void rcu_read_lock(void)
{
	if (cmwq_shim_rcu_depth++)
		return;
	cmwq_shim_rcu_side = __atomic_load_n(&cmwq_shim_rcu.side, __ATOMIC_SEQ_CST);
	__atomic_fetch_add(&cmwq_shim_rcu.readers[cmwq_shim_rcu_side], 1, __ATOMIC_SEQ_CST);
}
CMWQ_INLINE void rcu_read_unlock(void)
{
	if (--cmwq_shim_rcu_depth)
		return;
	if (!__atomic_sub_fetch(&cmwq_shim_rcu.readers[cmwq_shim_rcu_side], 1, __ATOMIC_SEQ_CST))
		cmwq_shim_wake(&cmwq_shim_rcu.readers[cmwq_shim_rcu_side], 0x7fffffff);
}
CMWQ_INLINE void synchronize_rcu(void)
{
	int turn;

	cmwq_shim_lock(&cmwq_shim_rcu.lock);
	for (turn = 0; turn < 2; turn++) {
		unsigned int side = cmwq_shim_rcu.side, n;

		__atomic_store_n(&cmwq_shim_rcu.side, !side, __ATOMIC_SEQ_CST);
		while ((n = __atomic_load_n(&cmwq_shim_rcu.readers[side], __ATOMIC_SEQ_CST)))
			cmwq_shim_wait(&cmwq_shim_rcu.readers[side], n, 10000000);
	}
	cmwq_shim_unlock(&cmwq_shim_rcu.lock);
}
CMWQ_INLINE void cmwq_shim_rcu_call(struct cmwq_work *work)
{
	struct rcu_head *head = container_of(work, struct rcu_head, work);

	synchronize_rcu();
	__atomic_store_n(&head->waits, 0, __ATOMIC_SEQ_CST);
	head->func(head);
}
CMWQ_INLINE void call_rcu(struct rcu_head *head, rcu_callback_t func)
{
	head->func = func;
	cmwq_work_init(&head->work, cmwq_shim_rcu_call);
	cmwq_queue_work(CMWQ_SYSTEM_UNMANAGED, &head->work);
}
#define call_rcu_hurry call_rcu
#define call_rcu_tasks call_rcu
CMWQ_INLINE void rcu_barrier(void)
{
	synchronize_rcu();
	cmwq_queue_flush(CMWQ_SYSTEM_UNMANAGED);
}
CMWQ_INLINE bool cmwq_shim_rcu_claim(struct rcu_head *head)
{
	return __atomic_exchange_n(&head->waits, 1, __ATOMIC_SEQ_CST) != 1;
}
CMWQ_INLINE bool cmwq_shim_rcu_flush(struct rcu_head *head)
{
	return __atomic_load_n(&head->waits, __ATOMIC_SEQ_CST) == 1 &&
	       cmwq_work_flush(&head->work) > 0;
}
#define synchronize_rcu_expedited synchronize_rcu
#define synchronize_net synchronize_rcu
#define rcu_read_lock_bh rcu_read_lock
#define rcu_read_unlock_bh rcu_read_unlock
#define rcu_read_lock_sched rcu_read_lock
#define rcu_read_unlock_sched rcu_read_unlock
#define rcu_read_lock_held() (cmwq_shim_rcu_depth != 0)
#define rcu_dereference(p) READ_ONCE(p)
#define rcu_dereference_raw(p) READ_ONCE(p)
#define rcu_dereference_bh(p) READ_ONCE(p)
#define rcu_dereference_check(p, c) READ_ONCE(p)
#define rcu_dereference_protected(p, c) (p)
#define rcu_access_pointer(p) READ_ONCE(p)
#define rcu_assign_pointer(p, v) __atomic_store_n(&(p), (v), __ATOMIC_RELEASE)
#define rcu_replace_pointer(p, v, c) __atomic_exchange_n(&(p), (v), __ATOMIC_SEQ_CST)
#define RCU_INIT_POINTER(p, v) ((void)((p) = (v)))
#define unrcu_pointer(p) (p)
#define kfree_rcu(p, member) cmwq_shim_kfree_rcu(p, &(p)->member)
#define kvfree_rcu kfree_rcu
#define kfree_rcu_mightsleep(p) do { synchronize_rcu(); __builtin_free(p); } while (0)
#define kvfree_rcu_mightsleep kfree_rcu_mightsleep
struct cmwq_shim_doomed {
	struct rcu_head rcu;
	void *object;
};
CMWQ_INLINE void cmwq_shim_free_doomed(struct rcu_head *head)
{
	struct cmwq_shim_doomed *doomed = container_of(head, struct cmwq_shim_doomed, rcu);

	__builtin_free(doomed->object);
	__builtin_free(doomed);
}
CMWQ_INLINE void cmwq_shim_kfree_rcu(void *object, struct rcu_head *head)
{
	struct cmwq_shim_doomed *doomed = (struct cmwq_shim_doomed *)__builtin_calloc(1, sizeof(*doomed));

	(void)head;
	if (!doomed) {
		synchronize_rcu();
		__builtin_free(object);
		return;
	}
	doomed->object = object;
	call_rcu(&doomed->rcu, cmwq_shim_free_doomed);
}
DEFINE_LOCK_GUARD_0(rcu, rcu_read_lock(), rcu_read_unlock())

#endif
