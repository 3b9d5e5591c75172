/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PERCPU_REFCOUNT_H
#define CMWQ_SHIM_PERCPU_REFCOUNT_H

/* One count for all CPUs. */
#include <linux/atomic.h>
struct percpu_ref;
typedef void (percpu_ref_func_t)(struct percpu_ref *ref);
/* What percpu_ref_kill() takes back counts as a reference. */
struct percpu_ref {
	atomic_long_t count;
	percpu_ref_func_t *release;
	unsigned int dying;
};
#define PERCPU_REF_INIT_ATOMIC 1u
#define PERCPU_REF_INIT_DEAD 2u
#define PERCPU_REF_ALLOW_REINIT 4u
CMWQ_INLINE int percpu_ref_init(struct percpu_ref *ref, percpu_ref_func_t *release,
				unsigned int flags, gfp_t gfp)
{
	(void)gfp;
	ref->release = release;
	ref->dying = (flags & PERCPU_REF_INIT_DEAD) != 0;
	atomic_long_set(&ref->count, !ref->dying);
	return 0;
}
#define percpu_ref_exit(ref) ((void)(ref))
CMWQ_INLINE void percpu_ref_get_many(struct percpu_ref *ref, unsigned long n)
{
	atomic_long_add((long)n, &ref->count);
}
#define percpu_ref_get(ref) percpu_ref_get_many(ref, 1)
#define percpu_ref_tryget(ref) (atomic_long_inc_not_zero(&(ref)->count) != 0)
#define percpu_ref_is_dying(ref) (READ_ONCE((ref)->dying) != 0)
#define percpu_ref_is_zero(ref) (atomic_long_read(&(ref)->count) == 0)
#define percpu_ref_tryget_live(ref) (!percpu_ref_is_dying(ref) && percpu_ref_tryget(ref))
CMWQ_INLINE void percpu_ref_put_many(struct percpu_ref *ref, unsigned long n)
{
	if (!atomic_long_sub_return((long)n, &ref->count))
		ref->release(ref);
}
#define percpu_ref_put(ref) percpu_ref_put_many(ref, 1)
CMWQ_INLINE void percpu_ref_kill(struct percpu_ref *ref)
{
	__atomic_store_n(&ref->dying, 1, __ATOMIC_SEQ_CST);
	percpu_ref_put(ref);
}
/* The second function is called once no reference is taken by percpu_ref_tryget_live(). */
CMWQ_INLINE void percpu_ref_kill_and_confirm(struct percpu_ref *ref, percpu_ref_func_t *confirm)
{
	__atomic_store_n(&ref->dying, 1, __ATOMIC_SEQ_CST);
	if (confirm)
		confirm(ref);
	percpu_ref_put(ref);
}
CMWQ_INLINE void percpu_ref_resurrect(struct percpu_ref *ref)
{
	percpu_ref_get(ref);
	__atomic_store_n(&ref->dying, 0, __ATOMIC_SEQ_CST);
}
#define percpu_ref_reinit(ref) percpu_ref_resurrect(ref)
#define percpu_ref_switch_to_atomic_sync(ref) ((void)(ref))
#define percpu_ref_switch_to_percpu(ref) ((void)(ref))

#endif
