/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CRC_ITU_T_H
#define CMWQ_SHIM_CRC_ITU_T_H

#include <linux/types.h>
CMWQ_INLINE u16 crc_itu_t(u16 crc, const u8 *p, size_t n)
{
	int bit;

	for (; n--; p++)
		for (crc = (u16)(crc ^ *p << 8), bit = 0; bit < 8; bit++)
			crc = (u16)(crc << 1 ^ (crc & 0x8000 ? 0x1021 : 0));
	return crc;
}

#endif
