/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KREF_H
#define CMWQ_SHIM_KREF_H

#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/mutex.h>
struct kref {
	refcount_t refcount;
};
#define KREF_INIT(n) { .refcount = REFCOUNT_INIT(n) }
#define kref_init(kref) refcount_set(&(kref)->refcount, 1)
#define kref_read(kref) refcount_read(&(kref)->refcount)
#define kref_get(kref) refcount_inc(&(kref)->refcount)
#define kref_get_unless_zero(kref) refcount_inc_not_zero(&(kref)->refcount)
CMWQ_INLINE int kref_put(struct kref *kref, void (*release)(struct kref *kref))
{
	if (!refcount_dec_and_test(&kref->refcount))
		return 0;
	release(kref);
	return 1;
}
CMWQ_INLINE int kref_put_mutex(struct kref *kref, void (*release)(struct kref *kref),
			       struct mutex *mutex)
{
	mutex_lock(mutex);
	if (kref_put(kref, release))
		return 1;
	mutex_unlock(mutex);
	return 0;
}

#endif
