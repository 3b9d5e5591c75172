/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_GCD_H
#define CMWQ_SHIM_GCD_H

#include <linux/types.h>
CMWQ_INLINE unsigned long gcd(unsigned long a, unsigned long b)
{
	while (b) {
		unsigned long rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

#endif
