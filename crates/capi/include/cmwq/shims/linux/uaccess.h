/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UACCESS_H
#define CMWQ_SHIM_UACCESS_H

/* User memory is ordinary memory. */
#include <linux/string.h>
#include <linux/errno.h>
#include <linux/slab.h>
#define copy_to_user(to, from, n) (memcpy((void *)(to), from, n), 0UL)
#define copy_from_user(to, from, n) (memcpy(to, (const void *)(from), n), 0UL)
#define __copy_to_user copy_to_user
#define __copy_from_user copy_from_user
#define copy_struct_from_user(to, size, from, n) (memcpy(to, from, min_t(size_t, size, n)), 0)
#define put_user(x, p) (*(p) = (x), 0)
#define get_user(x, p) ((x) = *(p), 0)
#define __put_user put_user
#define __get_user get_user
#define clear_user(p, n) (memset(p, 0, n), 0UL)
#define access_ok(p, n) 1
CMWQ_INLINE long strncpy_from_user(char *to, const char *from, long n)
{
	size_t length = strnlen(from, (size_t)n);

	memcpy(to, from, length < (size_t)n ? length + 1 : length);
	return (long)length;
}
#define strnlen_user(s, n) ((long)strnlen(s, (size_t)(n)) + 1)
CMWQ_INLINE void *memdup_user(const void *from, size_t n)
{
	void *copy = kmemdup(from, n, GFP_KERNEL);

	return copy ? copy : ERR_PTR(-ENOMEM);
}
CMWQ_INLINE void *memdup_user_nul(const void *from, size_t n)
{
	void *copy = kmemdup_nul((const char *)from, n, GFP_KERNEL);

	return copy ? copy : ERR_PTR(-ENOMEM);
}
#define vmemdup_user memdup_user
#define kstrtoint_from_user(s, n, base, to) kstrtoint(s, base, to)
#define kstrtouint_from_user(s, n, base, to) kstrtouint(s, base, to)
#define kstrtobool_from_user(s, n, to) kstrtobool(s, to)

#endif
