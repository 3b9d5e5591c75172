/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_NOTIFIER_H
#define CMWQ_SHIM_NOTIFIER_H

#include <linux/rwsem.h>
#include <linux/errno.h>
struct notifier_block;
typedef int (*notifier_fn_t)(struct notifier_block *nb, unsigned long action, void *data);
struct notifier_block { notifier_fn_t notifier_call; struct notifier_block *next; int priority; };
struct blocking_notifier_head { struct rw_semaphore rwsem; struct notifier_block *head; };
#define atomic_notifier_head blocking_notifier_head
#define raw_notifier_head blocking_notifier_head
#define srcu_notifier_head blocking_notifier_head
#define BLOCKING_NOTIFIER_INIT(name) { { 0, 0 }, NULL }
#define BLOCKING_NOTIFIER_HEAD(name) struct blocking_notifier_head name = BLOCKING_NOTIFIER_INIT(name)
#define ATOMIC_NOTIFIER_HEAD BLOCKING_NOTIFIER_HEAD
#define RAW_NOTIFIER_HEAD BLOCKING_NOTIFIER_HEAD
#define ATOMIC_INIT_NOTIFIER_HEAD(h) BLOCKING_INIT_NOTIFIER_HEAD(h)
#define BLOCKING_INIT_NOTIFIER_HEAD(h) do { init_rwsem(&(h)->rwsem); (h)->head = NULL; } while (0)
#define RAW_INIT_NOTIFIER_HEAD BLOCKING_INIT_NOTIFIER_HEAD
#define srcu_init_notifier_head BLOCKING_INIT_NOTIFIER_HEAD
#define srcu_cleanup_notifier_head(h) ((void)(h))
#define NOTIFY_DONE 0
#define NOTIFY_OK 1
#define NOTIFY_STOP_MASK 0x8000
#define NOTIFY_BAD (NOTIFY_STOP_MASK | 2)
#define NOTIFY_STOP (NOTIFY_OK | NOTIFY_STOP_MASK)
#define notifier_from_errno(e) ((e) ? NOTIFY_STOP_MASK | (NOTIFY_OK - (e)) : NOTIFY_OK)
#define notifier_to_errno(r) ((r) > NOTIFY_OK ? NOTIFY_OK - ((r) & ~NOTIFY_STOP_MASK) : 0)
CMWQ_INLINE int blocking_notifier_chain_register(struct blocking_notifier_head *h,
						 struct notifier_block *nb)
{
	struct notifier_block **at = &h->head;

	down_write(&h->rwsem);
	while (*at && (*at)->priority >= nb->priority)
		at = &(*at)->next;
	nb->next = *at;
	*at = nb;
	up_write(&h->rwsem);
	return 0;
}
CMWQ_INLINE int blocking_notifier_chain_unregister(struct blocking_notifier_head *h,
						   struct notifier_block *nb)
{
	struct notifier_block **at = &h->head;
	int error = -ENOENT;

	down_write(&h->rwsem);
	while (*at && *at != nb)
		at = &(*at)->next;
	if (*at) {
		*at = nb->next;
		error = 0;
	}
	up_write(&h->rwsem);
	return error;
}
CMWQ_INLINE int blocking_notifier_call_chain(struct blocking_notifier_head *h, unsigned long action,
					     void *data)
{
	struct notifier_block *nb;
	int answer = NOTIFY_DONE;

	down_read(&h->rwsem);
	for (nb = h->head; nb && !(answer & NOTIFY_STOP_MASK); nb = nb->next)
		answer = nb->notifier_call(nb, action, data);
	up_read(&h->rwsem);
	return answer;
}
#define atomic_notifier_chain_register blocking_notifier_chain_register
#define atomic_notifier_chain_unregister blocking_notifier_chain_unregister
#define atomic_notifier_call_chain blocking_notifier_call_chain
#define raw_notifier_chain_register blocking_notifier_chain_register
#define raw_notifier_chain_unregister blocking_notifier_chain_unregister
#define raw_notifier_call_chain blocking_notifier_call_chain
#define srcu_notifier_chain_register blocking_notifier_chain_register
#define srcu_notifier_chain_unregister blocking_notifier_chain_unregister
#define srcu_notifier_call_chain blocking_notifier_call_chain

#endif
