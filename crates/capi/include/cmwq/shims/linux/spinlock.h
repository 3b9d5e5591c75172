/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SPINLOCK_H
#define CMWQ_SHIM_SPINLOCK_H

/* A lock that spins for a moment and then sleeps. Interrupts are not there. */
#include <linux/cmwq_futex.h>
#include <linux/cleanup.h>
#include <linux/bug.h>
#include <linux/preempt.h>
#include <linux/lockdep.h>
typedef struct spinlock {
	unsigned int word;
} spinlock_t;
typedef spinlock_t raw_spinlock_t;
#define __SPIN_LOCK_UNLOCKED(name) { 0 }
#define DEFINE_SPINLOCK(name) spinlock_t name = { 0 }
#define DEFINE_RAW_SPINLOCK(name) raw_spinlock_t name = { 0 }
#define spin_lock_init(lock) ((void)((lock)->word = 0))
CMWQ_INLINE void spin_lock(spinlock_t *lock) { cmwq_shim_lock(&lock->word); }
CMWQ_INLINE void spin_unlock(spinlock_t *lock) { cmwq_shim_unlock(&lock->word); }
CMWQ_INLINE int spin_trylock(spinlock_t *lock) { return cmwq_shim_try(&lock->word); }
#define spin_is_locked(lock) (READ_ONCE((lock)->word) != 0)
#define spin_is_contended(lock) (READ_ONCE((lock)->word) == 2)
#define assert_spin_locked(lock) WARN_ON(!spin_is_locked(lock))
#define spin_lock_nested(lock, class_) spin_lock(lock)
#define spin_lock_bh spin_lock
#define spin_unlock_bh spin_unlock
#define spin_lock_irq spin_lock
#define spin_unlock_irq spin_unlock
#define spin_trylock_bh spin_trylock
#define spin_trylock_irq spin_trylock
#define spin_lock_irqsave(lock, flags) do { (flags) = 0; spin_lock(lock); } while (0)
#define spin_lock_irqsave_nested(lock, flags, class_) spin_lock_irqsave(lock, flags)
#define spin_trylock_irqsave(lock, flags) ((flags) = 0, spin_trylock(lock))
#define spin_unlock_irqrestore(lock, flags) do { (void)(flags); spin_unlock(lock); } while (0)
#define raw_spin_lock_init spin_lock_init
#define raw_spin_lock spin_lock
#define raw_spin_unlock spin_unlock
#define raw_spin_lock_irq spin_lock
#define raw_spin_unlock_irq spin_unlock
#define raw_spin_lock_irqsave spin_lock_irqsave
#define raw_spin_unlock_irqrestore spin_unlock_irqrestore
#define local_irq_save(flags) ((void)((flags) = 0))
#define local_irq_restore(flags) ((void)(flags))
#define local_irq_disable() ((void)0)
#define local_irq_enable() ((void)0)
#define local_bh_disable() ((void)0)
#define local_bh_enable() ((void)0)
#define irqs_disabled() 0
#define in_nmi() 0
DEFINE_LOCK_GUARD_1(spinlock, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock_irq, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock_bh, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(spinlock_irqsave, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(raw_spinlock, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
DEFINE_LOCK_GUARD_1(raw_spinlock_irqsave, spinlock_t, spin_lock(_T->lock), spin_unlock(_T->lock))
#include <linux/rwlock.h>
/* 1 if the count has come to 0, with the lock held. */
#define atomic_dec_and_lock(count, lock) \
	({ bool last_ = !atomic_add_unless(count, -1, 1); \
	   if (last_) { spin_lock(lock); last_ = atomic_dec_and_test(count); \
		if (!last_) spin_unlock(lock); } last_; })

#endif
