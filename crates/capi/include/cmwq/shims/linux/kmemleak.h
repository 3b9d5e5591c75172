/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KMEMLEAK_H
#define CMWQ_SHIM_KMEMLEAK_H

#include <linux/types.h>
/* Leaks are for the C library's tools to find, which see all memory. */
#define kmemleak_alloc(p, size, min, gfp) ((void)(p))
#define kmemleak_free(p) ((void)(p))
#define kmemleak_not_leak(p) ((void)(p))
#define kmemleak_ignore(p) ((void)(p))
#define kmemleak_no_scan(p) ((void)(p))
#define kmemleak_update_trace(p) ((void)(p))

#endif
