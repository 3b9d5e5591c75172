/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SEQLOCK_H
#define CMWQ_SHIM_SEQLOCK_H

#include <linux/spinlock.h>
typedef struct { unsigned int sequence; } seqcount_t;
typedef struct { seqcount_t seqcount; spinlock_t lock; } seqlock_t;
#define SEQCNT_ZERO(name) { 0 }
#define DEFINE_SEQLOCK(name) seqlock_t name = { { 0 }, { 0 } }
#define seqcount_init(s) ((void)((s)->sequence = 0))
#define seqlock_init(s) (seqcount_init(&(s)->seqcount), spin_lock_init(&(s)->lock))
CMWQ_INLINE unsigned int read_seqcount_begin(const seqcount_t *s)
{
	unsigned int n;

	while ((n = __atomic_load_n(&s->sequence, __ATOMIC_SEQ_CST)) & 1)
		cmwq_shim_yield();
	return n;
}
#define read_seqcount_retry(s, n) (smp_rmb(), __atomic_load_n(&(s)->sequence, __ATOMIC_SEQ_CST) != (n))
#define write_seqcount_begin(s) ((void)__atomic_fetch_add(&(s)->sequence, 1, __ATOMIC_SEQ_CST))
#define write_seqcount_end(s) write_seqcount_begin(s)
#define read_seqbegin(s) read_seqcount_begin(&(s)->seqcount)
#define read_seqretry(s, n) read_seqcount_retry(&(s)->seqcount, n)
#define write_seqlock(s) do { spin_lock(&(s)->lock); write_seqcount_begin(&(s)->seqcount); } while (0)
#define write_sequnlock(s) do { write_seqcount_end(&(s)->seqcount); spin_unlock(&(s)->lock); } while (0)
#define write_seqlock_irqsave(s, f) do { (f) = 0; write_seqlock(s); } while (0)
#define write_sequnlock_irqrestore(s, f) do { (void)(f); write_sequnlock(s); } while (0)
#define write_seqlock_bh write_seqlock
#define write_sequnlock_bh write_sequnlock
#define write_seqlock_irq write_seqlock
#define write_sequnlock_irq write_sequnlock

#endif
