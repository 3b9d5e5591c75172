/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CACHE_H
#define CMWQ_SHIM_CACHE_H

#include <linux/compiler.h>
#define SMP_CACHE_BYTES 64
#define L1_CACHE_BYTES 64
#define L1_CACHE_SHIFT 6
#define cache_line_size() 64
#define SMP_CACHE_ALIGN(n) (((n) + 63) & ~63UL)
#define prefetch(p) __builtin_prefetch(p)
#define prefetchw(p) __builtin_prefetch(p, 1)

#endif
