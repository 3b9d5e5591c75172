/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BSEARCH_H
#define CMWQ_SHIM_BSEARCH_H

#include <linux/types.h>
extern void *bsearch(const void *key, const void *base, size_t n, size_t size,
		     int (*cmp)(const void *key, const void *element));

#endif
