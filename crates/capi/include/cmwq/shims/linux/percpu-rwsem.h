/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PERCPU_RWSEM_H
#define CMWQ_SHIM_PERCPU_RWSEM_H

/* As a semaphore of all CPUs together. */
#include <linux/rwsem.h>
struct percpu_rw_semaphore { struct rw_semaphore rwsem; };
#define __PERCPU_RWSEM_INITIALIZER(name) { __RWSEM_INITIALIZER(name) }
#define DEFINE_PERCPU_RWSEM(name) struct percpu_rw_semaphore name = { { 0, 0 } }
#define DEFINE_STATIC_PERCPU_RWSEM(name) static DEFINE_PERCPU_RWSEM(name)
#define percpu_init_rwsem(sem) ({ init_rwsem(&(sem)->rwsem); 0; })
#define percpu_free_rwsem(sem) ((void)(sem))
#define percpu_down_read(sem) down_read(&(sem)->rwsem)
#define percpu_down_read_trylock(sem) down_read_trylock(&(sem)->rwsem)
#define percpu_up_read(sem) up_read(&(sem)->rwsem)
#define percpu_down_write(sem) down_write(&(sem)->rwsem)
#define percpu_up_write(sem) up_write(&(sem)->rwsem)

#endif
