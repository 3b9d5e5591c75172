/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_RWLOCK_H
#define CMWQ_SHIM_RWLOCK_H

/* Readers share. Writers wait for them, and readers for writers. */
#include <linux/rwsem.h>
typedef struct rw_semaphore rwlock_t;
#define DEFINE_RWLOCK(name) rwlock_t name = { 0, 0 }
#define rwlock_init(lock) init_rwsem(lock)
#define read_lock(lock) down_read(lock)
#define read_unlock(lock) up_read(lock)
#define write_lock(lock) down_write(lock)
#define write_unlock(lock) up_write(lock)
#define read_trylock(lock) down_read_trylock(lock)
#define write_trylock(lock) down_write_trylock(lock)
#define read_lock_bh read_lock
#define read_unlock_bh read_unlock
#define write_lock_bh write_lock
#define write_unlock_bh write_unlock
#define read_lock_irq read_lock
#define read_unlock_irq read_unlock
#define write_lock_irq write_lock
#define write_unlock_irq write_unlock
#define read_lock_irqsave(lock, flags) do { (flags) = 0; read_lock(lock); } while (0)
#define read_unlock_irqrestore(lock, flags) do { (void)(flags); read_unlock(lock); } while (0)
#define write_lock_irqsave(lock, flags) do { (flags) = 0; write_lock(lock); } while (0)
#define write_unlock_irqrestore(lock, flags) do { (void)(flags); write_unlock(lock); } while (0)

#endif
