/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SEMAPHORE_H
#define CMWQ_SHIM_SEMAPHORE_H

#include <linux/cmwq_futex.h>
struct semaphore {
	unsigned int count;
};
#define __SEMAPHORE_INITIALIZER(name, n) { n }
#define DEFINE_SEMAPHORE(name, ...) struct semaphore name = { CMWQ_SEM_N(0, ##__VA_ARGS__, 1) }
#define CMWQ_SEM_N(none, n, ...) n
#define sema_init(sem, n) ((void)((sem)->count = (unsigned int)(n)))
CMWQ_INLINE int down_trylock(struct semaphore *sem)
{
	unsigned int n = __atomic_load_n(&sem->count, __ATOMIC_SEQ_CST);

	while (n)
		if (__atomic_compare_exchange_n(&sem->count, &n, n - 1, false, __ATOMIC_SEQ_CST,
						__ATOMIC_SEQ_CST))
			return 0;
	return 1;
}
CMWQ_INLINE void down(struct semaphore *sem)
{
	while (down_trylock(sem))
		cmwq_shim_wait(&sem->count, 0, -1);
}
CMWQ_INLINE int down_timeout(struct semaphore *sem, long timeout)
{
	unsigned long end = jiffies + (unsigned long)timeout;

	while (down_trylock(sem)) {
		long left = (long)(end - jiffies);

		if (left <= 0)
			return -ETIME;
		cmwq_shim_wait(&sem->count, 0, (long long)left * TICK_NSEC);
	}
	return 0;
}
#define down_interruptible(sem) (down(sem), 0)
#define down_killable(sem) (down(sem), 0)
CMWQ_INLINE void up(struct semaphore *sem)
{
	__atomic_fetch_add(&sem->count, 1, __ATOMIC_SEQ_CST);
	cmwq_shim_wake(&sem->count, 1);
}

#endif
