/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_LOG2_H
#define CMWQ_SHIM_LOG2_H

#include <linux/bitops.h>
#define ilog2(n) ((int)(63 - __builtin_clzll((unsigned long long)(n) | 1)))
#define is_power_of_2(n) ((n) != 0 && ((n) & ((n) - 1)) == 0)
#define roundup_pow_of_two(n) ((n) <= 1 ? 1UL : 1UL << (ilog2((n) - 1) + 1))
#define rounddown_pow_of_two(n) (1UL << ilog2(n))
#define order_base_2(n) ((n) > 1 ? ilog2((n) - 1) + 1 : 0)

#endif
