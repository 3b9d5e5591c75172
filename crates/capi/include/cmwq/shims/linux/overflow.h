/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_OVERFLOW_H
#define CMWQ_SHIM_OVERFLOW_H

#include <linux/types.h>
#define check_add_overflow(a, b, d) __builtin_add_overflow(a, b, d)
#define check_sub_overflow(a, b, d) __builtin_sub_overflow(a, b, d)
#define check_mul_overflow(a, b, d) __builtin_mul_overflow(a, b, d)
CMWQ_INLINE size_t size_mul(size_t a, size_t b)
{
	size_t size;

	return __builtin_mul_overflow(a, b, &size) ? (size_t)-1 : size;
}
CMWQ_INLINE size_t size_add(size_t a, size_t b)
{
	size_t size;

	return __builtin_add_overflow(a, b, &size) ? (size_t)-1 : size;
}
#define array_size(a, b) size_mul(a, b)
#define array3_size(a, b, c) size_mul(size_mul(a, b), c)
#define struct_size(p, member, n) \
	size_add(sizeof(*(p)), size_mul(sizeof(*(p)->member), n))
#define struct_size_t(type, member, n) struct_size((type *)NULL, member, n)
#define flex_array_size(p, member, n) size_mul(n, sizeof(*(p)->member))
#define is_signed_type(type) (((type)(-1)) < (type)1)
#define type_max(t) ((t)~(is_signed_type(t) ? (t)1 << (8 * sizeof(t) - 1) : 0))

#endif
