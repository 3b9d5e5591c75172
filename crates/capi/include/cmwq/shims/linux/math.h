/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MATH_H
#define CMWQ_SHIM_MATH_H

#include <linux/types.h>
#define DIV_ROUND_UP(n, d) (((n) + (d) - 1) / (d))
#define DIV_ROUND_DOWN_ULL(n, d) ((unsigned long long)(n) / (d))
#define DIV_ROUND_UP_ULL(n, d) DIV_ROUND_UP((unsigned long long)(n), (d))
#define DIV_ROUND_UP_SECTOR_T(n, d) DIV_ROUND_UP_ULL(n, d)
#define DIV_ROUND_CLOSEST(x, d) ({ __typeof__(x) x_ = (x); __typeof__(d) d_ = (d); \
	(((__typeof__(x))-1) > 0 || ((__typeof__(d))-1) > 0 || ((x_ > 0) == (d_ > 0))) ? \
	((x_ + d_ / 2) / d_) : ((x_ - d_ / 2) / d_); })
#define DIV_ROUND_CLOSEST_ULL(x, d) (((unsigned long long)(x) + (d) / 2) / (d))
#define roundup(x, y) ((((x) + (y) - 1) / (y)) * (y))
#define rounddown(x, y) ((x) - (x) % (y))
#define round_up(x, y) ((((x) - 1) | ((__typeof__(x))((y) - 1))) + 1)
#define round_down(x, y) ((x) & ~((__typeof__(x))((y) - 1)))
#define mult_frac(x, n, d) ({ __typeof__(x) x_ = (x); (x_ / (d)) * (n) + (x_ % (d)) * (n) / (d); })
#define abs(x) ({ __typeof__(x) abs_ = (x); abs_ < 0 ? -abs_ : abs_; })
#define abs_diff(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); \
	a_ > b_ ? a_ - b_ : b_ - a_; })
CMWQ_INLINE unsigned long int_sqrt(unsigned long x)
{
	unsigned long root = 0, bit = 1UL << 62;

	while (bit > x)
		bit >>= 2;
	for (; bit; bit >>= 2) {
		if (x >= root + bit) {
			x -= root + bit;
			root = (root >> 1) + bit;
		} else {
			root >>= 1;
		}
	}
	return root;
}
#define int_sqrt64(x) ((u32)int_sqrt(x))
#define reciprocal_scale(value, range) ((u32)(((u64)(u32)(value) * (u32)(range)) >> 32))

#endif
