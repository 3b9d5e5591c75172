/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PERCPU_H
#define CMWQ_SHIM_PERCPU_H

/* One value for each CPU. A thread may move in between: use it with a lock, as a hint, or atomically. */
#include <linux/smp.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#define DEFINE_PER_CPU(type, name) __typeof__(type) name[NR_CPUS]
#define DECLARE_PER_CPU(type, name) extern __typeof__(type) name[NR_CPUS]
#define DEFINE_PER_CPU_SHARED_ALIGNED DEFINE_PER_CPU
#define DEFINE_PER_CPU_ALIGNED DEFINE_PER_CPU
#define per_cpu(name, cpu) ((name)[cpu])
#define per_cpu_ptr(p, cpu) (&(p)[0] + (cpu))
#define this_cpu_ptr(p) per_cpu_ptr(p, raw_smp_processor_id())
#define raw_cpu_ptr this_cpu_ptr
#define get_cpu_ptr this_cpu_ptr
#define put_cpu_ptr(p) ((void)(p))
#define get_cpu_var(name) (*this_cpu_ptr(name))
#define put_cpu_var(name) ((void)0)
#define alloc_percpu(type) ((__typeof__(type) *)kcalloc(num_possible_cpus(), sizeof(type), GFP_KERNEL))
#define alloc_percpu_gfp(type, gfp) alloc_percpu(type)
#define __alloc_percpu(size, align) kcalloc(num_possible_cpus(), size, GFP_KERNEL)
#define free_percpu(p) kfree(p)

#endif
