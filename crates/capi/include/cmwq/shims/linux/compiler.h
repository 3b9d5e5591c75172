/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_COMPILER_H
#define CMWQ_SHIM_COMPILER_H

#include <linux/compiler_attributes.h>

#define likely(x) __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)
#define barrier() __asm__ __volatile__("" : : : "memory")
#define READ_ONCE(x) (*(const volatile __typeof__(x) *)&(x))
#define WRITE_ONCE(x, value) (*(volatile __typeof__(x) *)&(x) = (value))
#define data_race(x) (x)
#define unreachable() __builtin_unreachable()
#define smp_mb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_rmb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define smp_wmb() __atomic_thread_fence(__ATOMIC_SEQ_CST)
#define mb() smp_mb()
#define rmb() smp_rmb()
#define wmb() smp_wmb()
#define dma_wmb() smp_wmb()
#define dma_rmb() smp_rmb()
#define smp_mb__before_atomic() smp_mb()
#define smp_mb__after_atomic() smp_mb()
#define smp_load_acquire(p) __atomic_load_n(p, __ATOMIC_ACQUIRE)
#define smp_store_release(p, v) __atomic_store_n(p, v, __ATOMIC_RELEASE)
#define smp_store_mb(x, v) __atomic_store_n(&(x), v, __ATOMIC_SEQ_CST)
#define __user
#define __kernel
#define __iomem
#define __percpu
#define __rcu
#define __force
#define __bitwise
#define __private
#define __nocast
#define __acquires(x)
#define __releases(x)
#define __must_hold(x)
#define __acquire(x) (void)0
#define __release(x) (void)0
#define __cond_acquires(x)
#define __same_type(a, b) __builtin_types_compatible_p(__typeof__(a), __typeof__(b))
#ifndef typeof
#define typeof __typeof__
#endif
#ifndef asm
#define asm __asm__
#endif
#define __maybe_unused __attribute__((__unused__))
#define notrace
#define noinline_for_stack noinline
#define __latent_entropy
#define __counted_by(m)
#define __counted_by_le(m)
#define __counted_by_be(m)
#define __randomize_layout
#define randomized_struct_fields_start
#define randomized_struct_fields_end
#define DECLARE_FLEX_ARRAY(type, name) struct { struct { } empty_##name; type name[]; }
#define struct_group(name, ...) union { struct { __VA_ARGS__ }; struct { __VA_ARGS__ } name; }

#endif
