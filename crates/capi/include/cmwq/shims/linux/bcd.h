/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_BCD_H
#define CMWQ_SHIM_BCD_H

#include <linux/types.h>
#define bcd2bin(x) ((unsigned int)(((u8)(x) >> 4) * 10 + ((x) & 15)))
#define bin2bcd(x) ((u8)(((x) / 10 % 10) << 4 | (x) % 10))
#define bcd_is_valid(x) (((x) & 15) < 10 && ((u8)(x) >> 4) < 10)

#endif
