/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BITS_H
#define CMWQ_SHIM_BITS_H

#include <linux/types.h>
#include_next <linux/const.h>
#define BITS_PER_BYTE 8
#define BITS_PER_TYPE(type) (sizeof(type) * BITS_PER_BYTE)
#define BITS_PER_LONG 64
#define BITS_PER_LONG_LONG 64
#define BIT(n) (1UL << (n))
#define BIT_ULL(n) (1ULL << (n))
#define BIT_MASK(n) (1UL << ((n) % BITS_PER_LONG))
#define BIT_WORD(n) ((n) / BITS_PER_LONG)
#define BITS_TO_LONGS(n) (((n) + BITS_PER_LONG - 1) / BITS_PER_LONG)
#define BITS_TO_BYTES(n) (((n) + 7) / 8)
#define GENMASK(high, low) ((~0UL << (low)) & (~0UL >> (63 - (high))))
#define GENMASK_ULL(high, low) ((~0ULL << (low)) & (~0ULL >> (63 - (high))))
#define GENMASK_U32(h, l) ((u32)GENMASK(h, l))
#define GENMASK_U16(h, l) ((u16)GENMASK(h, l))
#define GENMASK_U8(h, l) ((u8)GENMASK(h, l))
#define BIT_U8(n) ((u8)BIT(n))
#define BIT_U16(n) ((u16)BIT(n))
#define BIT_U32(n) ((u32)BIT(n))

#endif
