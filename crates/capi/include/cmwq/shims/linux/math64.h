/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MATH64_H
#define CMWQ_SHIM_MATH64_H

#include <linux/math.h>
#define div_u64(a, b) ((u64)(a) / (u32)(b))
#define div_s64(a, b) ((s64)(a) / (s32)(b))
#define div64_u64(a, b) ((u64)(a) / (u64)(b))
#define div64_s64(a, b) ((s64)(a) / (s64)(b))
#define div64_ul(a, b) ((u64)(a) / (unsigned long)(b))
#define div64_long(a, b) ((s64)(a) / (long)(b))
#define div_u64_rem(a, b, rem) ({ *(rem) = (u32)((u64)(a) % (u32)(b)); (u64)(a) / (u32)(b); })
#define div64_u64_rem(a, b, rem) ({ *(rem) = (u64)(a) % (u64)(b); (u64)(a) / (u64)(b); })
#define do_div(n, base) ({ u32 rem_ = (u32)((n) % (base)); (n) /= (base); rem_; })
#define mul_u32_u32(a, b) ((u64)(a) * (b))
#define mul_u64_u32_shr(a, b, s) ((u64)(((unsigned __int128)(a) * (b)) >> (s)))
#define mul_u64_u64_div_u64(a, b, c) ((u64)((unsigned __int128)(a) * (b) / (c)))

#endif
