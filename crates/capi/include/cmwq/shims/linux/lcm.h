/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LCM_H
#define CMWQ_SHIM_LCM_H

#include <linux/gcd.h>
/* 0 if one of them is. */
CMWQ_INLINE unsigned long lcm(unsigned long a, unsigned long b)
{
	return a && b ? a / gcd(a, b) * b : 0;
}
#define lcm_not_zero(a, b) (lcm(a, b) ?: (b) ?: (a))

#endif
