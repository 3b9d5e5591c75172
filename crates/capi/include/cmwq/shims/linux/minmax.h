/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_MINMAX_H
#define CMWQ_SHIM_MINMAX_H

#define min(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ < b_ ? a_ : b_; })
#define max(a, b) ({ __typeof__(a) a_ = (a); __typeof__(b) b_ = (b); a_ > b_ ? a_ : b_; })
#define min_t(type, a, b) ({ type at_ = (a); type bt_ = (b); at_ < bt_ ? at_ : bt_; })
#define max_t(type, a, b) ({ type at_ = (a); type bt_ = (b); at_ > bt_ ? at_ : bt_; })
#define umin(a, b) min((unsigned long long)(a), (unsigned long long)(b))
#define umax(a, b) max((unsigned long long)(a), (unsigned long long)(b))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))
#define MIN_T(type, a, b) MIN((type)(a), (type)(b))
#define MAX_T(type, a, b) MAX((type)(a), (type)(b))
#define min3(a, b, c) min(min(a, b), c)
#define max3(a, b, c) max(max(a, b), c)
#define min_not_zero(a, b) ({ __typeof__(a) an_ = (a); __typeof__(b) bn_ = (b); \
	an_ == 0 ? bn_ : (bn_ == 0 ? an_ : min(an_, bn_)); })
#define clamp(value, low, high) min(max(value, low), high)
#define clamp_t(type, value, low, high) min_t(type, max_t(type, value, low), high)
#define clamp_val(value, low, high) clamp_t(__typeof__(value), value, low, high)
#define in_range(value, start, length) \
	((value) >= (start) && (value) - (start) < (length))
#define swap(a, b) do { __typeof__(a) swap_ = (a); (a) = (b); (b) = swap_; } while (0)

#endif
