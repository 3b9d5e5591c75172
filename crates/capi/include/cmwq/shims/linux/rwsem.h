/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RWSEM_H
#define CMWQ_SHIM_RWSEM_H

#include <linux/cmwq_futex.h>
#include <linux/cleanup.h>
#include <linux/lockdep.h>
/* How many read; -1: somebody writes. */
struct rw_semaphore {
	int held;
	unsigned int turns;
};
#define DECLARE_RWSEM(name) struct rw_semaphore name = { 0, 0 }
#define __RWSEM_INITIALIZER(name) { 0, 0 }
#define init_rwsem(sem) ((void)(__atomic_store_n(&(sem)->held, 0, __ATOMIC_SEQ_CST)))
CMWQ_INLINE int cmwq_shim_rw_try(struct rw_semaphore *sem, bool writes)
{
	int held = __atomic_load_n(&sem->held, __ATOMIC_SEQ_CST);

	while (writes ? held == 0 : held >= 0)
		if (__atomic_compare_exchange_n(&sem->held, &held, writes ? -1 : held + 1, false,
						__ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST))
			return 1;
	return 0;
}
CMWQ_INLINE void cmwq_shim_rw_lock(struct rw_semaphore *sem, bool writes)
{
	for (;;) {
		unsigned int turn = __atomic_load_n(&sem->turns, __ATOMIC_SEQ_CST);

		if (cmwq_shim_rw_try(sem, writes))
			return;
		cmwq_shim_wait(&sem->turns, turn, -1);
	}
}
CMWQ_INLINE void cmwq_shim_rw_unlock(struct rw_semaphore *sem, int less)
{
	if (__atomic_sub_fetch(&sem->held, less, __ATOMIC_SEQ_CST) == 0 || less < 0) {
		__atomic_fetch_add(&sem->turns, 1, __ATOMIC_SEQ_CST);
		cmwq_shim_wake(&sem->turns, 0x7fffffff);
	}
}
#define down_read(sem) cmwq_shim_rw_lock(sem, false)
#define down_write(sem) cmwq_shim_rw_lock(sem, true)
#define down_read_trylock(sem) cmwq_shim_rw_try(sem, false)
#define down_write_trylock(sem) cmwq_shim_rw_try(sem, true)
#define up_read(sem) cmwq_shim_rw_unlock(sem, 1)
#define up_write(sem) cmwq_shim_rw_unlock(sem, -1)
#define downgrade_write(sem) cmwq_shim_rw_unlock(sem, -2)
#define down_read_interruptible(sem) (down_read(sem), 0)
#define down_read_killable(sem) (down_read(sem), 0)
#define down_write_killable(sem) (down_write(sem), 0)
#define down_read_nested(sem, class_) down_read(sem)
#define down_write_nested(sem, class_) down_write(sem)
#define rwsem_is_locked(sem) (READ_ONCE((sem)->held) != 0)
#define rwsem_is_contended(sem) 0

#endif
