/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CMWQ_FUTEX_H
#define CMWQ_SHIM_CMWQ_FUTEX_H

/* Sleeping on a word. A sleeping item tells cmwq so. */
#include <linux/types.h>
#include <linux/errno.h>
#include <linux/jiffies.h>
#include <asm/unistd.h>
#define CMWQ_SHIM_FUTEX __NR_futex
struct cmwq_shim_sleep {
	unsigned int *word;
	unsigned int value;
	const struct cmwq_shim_time *time;
	long answer;
};
CMWQ_INLINE void cmwq_shim_sleep(void *arg)
{
	struct cmwq_shim_sleep *sleep = (struct cmwq_shim_sleep *)arg;

	/* FUTEX_WAIT_PRIVATE */
	sleep->answer = cmwq_shim_syscall(CMWQ_SHIM_FUTEX, sleep->word, 128, sleep->value, sleep->time, 0, 0);
	if (sleep->answer < 0)
		sleep->answer = -*cmwq_shim_errno();
}
/* Sleeps while the word has this value, for so long; negative: for ever. -ETIMEDOUT in the end. */
CMWQ_INLINE long cmwq_shim_wait(unsigned int *word, unsigned int value, long long ns)
{
	struct cmwq_shim_time time = { ns / 1000000000, ns % 1000000000 };
	struct cmwq_shim_sleep sleep = { word, value, ns < 0 ? NULL : &time, 0 };

	cmwq_blocking(cmwq_shim_sleep, &sleep);
	return sleep.answer;
}
CMWQ_INLINE void cmwq_shim_wake(unsigned int *word, int n)
{
	cmwq_shim_syscall(CMWQ_SHIM_FUTEX, word, 129, n, NULL, 0, 0);
}
/* 0: free, 1: held, 2: held and waited for. */
CMWQ_INLINE bool cmwq_shim_try(unsigned int *word)
{
	unsigned int none = 0;

	return __atomic_compare_exchange_n(word, &none, 1, false, __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST);
}
CMWQ_INLINE void cmwq_shim_lock(unsigned int *word)
{
	int spins = 100;

	while (spins--)
		if (cmwq_shim_try(word))
			return;
	while (__atomic_exchange_n(word, 2, __ATOMIC_SEQ_CST))
		cmwq_shim_wait(word, 2, -1);
}
CMWQ_INLINE void cmwq_shim_unlock(unsigned int *word)
{
	if (__atomic_exchange_n(word, 0, __ATOMIC_SEQ_CST) == 2)
		cmwq_shim_wake(word, 1);
}

#endif
