/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CMWQ_SHIMS_H
#define CMWQ_SHIM_CMWQ_SHIMS_H

/*
 * Small headers that stand in for the kernel's, for code that uses its workqueues. They need GNU C
 * and no header of the C library; what sleeps tells cmwq so. A project that has its own leaves this
 * folder out.
 */
#include <stdarg.h>
#include <stddef.h>

#define CMWQ_SHIMS 1
/* What several translation units share without a library. */
#define CMWQ_SHARED __attribute__((weak))
#define CMWQ_INLINE static inline __attribute__((unused))

/* Of the C library, by other names: its headers have names that the kernel uses otherwise. */
extern long cmwq_shim_syscall(long number, ...) __asm__("syscall");
extern int *cmwq_shim_errno(void) __asm__("__errno_location");
extern int cmwq_shim_nanosleep(int clock, int flags, const void *time, void *left)
	__asm__("clock_nanosleep");
extern int cmwq_shim_clock(int clock, void *time) __asm__("clock_gettime");
extern int cmwq_shim_aligned(void **place, size_t align, size_t size) __asm__("posix_memalign");
extern int cmwq_shim_yield(void) __asm__("sched_yield");
extern int cmwq_shim_cpu(void) __asm__("sched_getcpu");
extern long cmwq_shim_write(int fd, const void *text, size_t size) __asm__("write");
extern long cmwq_shim_sysconf(int name) __asm__("sysconf");

void cmwq_blocking(void (*wait)(void *arg), void *arg);

#endif
