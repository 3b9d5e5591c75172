/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_AVERAGE_H
#define CMWQ_SHIM_AVERAGE_H

#include <linux/types.h>
/* Exponentially weighted moving averages: the last value has a weight of 1 / reciprocal. */
#define DECLARE_EWMA(name, precision, reciprocal) \
	struct ewma_##name { unsigned long internal; }; \
	CMWQ_INLINE void ewma_##name##_init(struct ewma_##name *e) { e->internal = 0; } \
	CMWQ_INLINE unsigned long ewma_##name##_read(struct ewma_##name *e) \
	{ return e->internal >> (precision); } \
	CMWQ_INLINE void ewma_##name##_add(struct ewma_##name *e, unsigned long value) \
	{ \
		unsigned long was = e->internal, is = value << (precision); \
		e->internal = was ? (was * ((reciprocal) - 1) + is) / (reciprocal) : is; \
	}

#endif
