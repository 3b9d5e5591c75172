/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MUTEX_H
#define CMWQ_SHIM_MUTEX_H

#include <linux/cmwq_futex.h>
#include <linux/cleanup.h>
#include <linux/list.h>
#include <linux/bug.h>
#include <linux/spinlock.h>
struct mutex {
	unsigned int word;
};
#define __MUTEX_INITIALIZER(name) { 0 }
#define DEFINE_MUTEX(name) struct mutex name = { 0 }
#define mutex_init(m) ((void)((m)->word = 0))
#define __mutex_init(m, name, key) mutex_init(m)
#define mutex_init_with_key(m, key) mutex_init(m)
#define devm_mutex_init(dev, m) (mutex_init(m), 0)
CMWQ_INLINE void mutex_lock(struct mutex *m) { cmwq_shim_lock(&m->word); }
CMWQ_INLINE void mutex_unlock(struct mutex *m) { cmwq_shim_unlock(&m->word); }
CMWQ_INLINE int mutex_trylock(struct mutex *m) { return cmwq_shim_try(&m->word); }
CMWQ_INLINE int mutex_lock_interruptible(struct mutex *m)
{
	mutex_lock(m);
	return 0;
}
#define mutex_lock_killable mutex_lock_interruptible
#define mutex_lock_io mutex_lock
#define mutex_lock_nested(m, class_) mutex_lock(m)
#define mutex_lock_interruptible_nested(m, class_) mutex_lock_interruptible(m)
#define mutex_lock_nest_lock(m, other) mutex_lock(m)
#define mutex_is_locked(m) (READ_ONCE((m)->word) != 0)
#define mutex_destroy(m) ((void)(m))
#define SINGLE_DEPTH_NESTING 1
DEFINE_LOCK_GUARD_1(mutex, struct mutex, mutex_lock(_T->lock), mutex_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(mutex_try, struct mutex, if (!mutex_trylock(_T->lock)) _T->lock = NULL, \
		    mutex_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(mutex_intr, struct mutex, mutex_lock(_T->lock), mutex_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(rwsem_read, struct rw_semaphore, down_read(_T->lock), up_read(_T->lock))
DEFINE_LOCK_GUARD_1(rwsem_write, struct rw_semaphore, down_write(_T->lock), up_write(_T->lock))
#define scoped_cond_guard(name, fail, args...) \
	for (CLASS(name, scope)(args), *CMWQ_UNIQUE(done_, __LINE__) = NULL; \
	     !CMWQ_UNIQUE(done_, __LINE__); CMWQ_UNIQUE(done_, __LINE__) = (void *)&scope) \
		if (!scope.lock) { fail; } else

#endif
