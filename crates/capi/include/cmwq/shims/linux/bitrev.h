/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BITREV_H
#define CMWQ_SHIM_BITREV_H

#include <linux/types.h>
CMWQ_INLINE u32 bitrev32(u32 x)
{
	x = (x & 0x55555555u) << 1 | ((x >> 1) & 0x55555555u);
	x = (x & 0x33333333u) << 2 | ((x >> 2) & 0x33333333u);
	x = (x & 0x0f0f0f0fu) << 4 | ((x >> 4) & 0x0f0f0f0fu);
	return __builtin_bswap32(x);
}
#define bitrev16(x) ((u16)(bitrev32(x) >> 16))
#define bitrev8(x) ((u8)(bitrev32(x) >> 24))

#endif
