/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_IO_64_LO_HI_H
#define CMWQ_SHIM_IO_64_LO_HI_H

#include <linux/io.h>
#ifndef lo_hi_readq
CMWQ_INLINE u64 lo_hi_readq(const volatile void __iomem *from)
{
	u32 low = readl(from);

	return low | (u64)readl((const volatile u8 __iomem *)from + 4) << 32;
}
CMWQ_INLINE void lo_hi_writeq(u64 value, volatile void __iomem *to)
{
	writel((u32)value, to);
	writel((u32)(value >> 32), (volatile u8 __iomem *)to + 4);
}
#endif

#endif
