/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SORT_H
#define CMWQ_SHIM_SORT_H

#include <linux/types.h>
extern void cmwq_shim_qsort(void *base, size_t n, size_t size, int (*cmp)(const void *, const void *))
	__asm__("qsort");
#define sort(base, n, size, cmp, swap) cmwq_shim_qsort(base, n, size, cmp)

#endif
