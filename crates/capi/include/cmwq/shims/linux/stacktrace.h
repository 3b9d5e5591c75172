/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STACKTRACE_H
#define CMWQ_SHIM_STACKTRACE_H

#include <linux/kernel.h>
#include <linux/types.h>

/* musl has no backtrace(): nothing is found there. */
extern int cmwq_shim_backtrace(void **entries, int size) __asm__("backtrace") __attribute__((weak));
CMWQ_INLINE unsigned int stack_trace_save(unsigned long *store, unsigned int size,
					  unsigned int skipnr)
{
	void *found[64];
	int n = 0, at;

	if (cmwq_shim_backtrace)
		n = cmwq_shim_backtrace(found, 64);
	for (at = (int)skipnr; at < n && at - skipnr < size; at++)
		store[at - skipnr] = (unsigned long)found[at];
	return at > (int)skipnr ? (unsigned int)at - skipnr : 0;
}
CMWQ_INLINE void stack_trace_print(const unsigned long *trace, unsigned int n, int spaces)
{
	unsigned int at;

	for (at = 0; at < n; at++)
		printk("%*c%p\n", 1 + spaces, ' ', (void *)trace[at]);
}

#endif
