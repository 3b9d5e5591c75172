/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STRING_H
#define CMWQ_SHIM_STRING_H

#include <linux/types.h>
#include <linux/err.h>
#include <linux/gfp.h>
#ifndef _STRING_H
extern void *memcpy(void *to, const void *from, size_t n);
extern void *memmove(void *to, const void *from, size_t n);
extern void *memset(void *to, int c, size_t n);
extern int memcmp(const void *a, const void *b, size_t n);
extern void *memchr(const void *p, int c, size_t n);
extern size_t strlen(const char *s);
extern size_t strnlen(const char *s, size_t n);
extern char *strcpy(char *to, const char *from);
extern char *strncpy(char *to, const char *from, size_t n);
extern char *strcat(char *to, const char *from);
extern char *strncat(char *to, const char *from, size_t n);
extern int strcmp(const char *a, const char *b);
extern int strncmp(const char *a, const char *b, size_t n);
extern int strcasecmp(const char *a, const char *b);
extern int strncasecmp(const char *a, const char *b, size_t n);
extern char *strchr(const char *s, int c);
extern char *strrchr(const char *s, int c);
extern char *strstr(const char *s, const char *t);
extern size_t strspn(const char *s, const char *t);
extern size_t strcspn(const char *s, const char *t);
extern char *strpbrk(const char *s, const char *t);
extern char *strsep(char **s, const char *t);
#endif
CMWQ_INLINE ssize_t cmwq_shim_strscpy(char *to, const char *from, size_t size)
{
	size_t length = strnlen(from, size);

	if (!size)
		return -E2BIG;
	if (length == size) {
		memcpy(to, from, size - 1);
		to[size - 1] = 0;
		return -E2BIG;
	}
	memcpy(to, from, length + 1);
	return (ssize_t)length;
}
#define CMWQ_STRSCPY2(to, from, size, ...) cmwq_shim_strscpy(to, from, size)
#define strscpy(to, from, ...) CMWQ_STRSCPY2(to, from, ##__VA_ARGS__, sizeof(to))
#define strscpy_pad(to, from, ...) \
	({ memset(to, 0, CMWQ_SECOND(0, ##__VA_ARGS__, sizeof(to))); strscpy(to, from, ##__VA_ARGS__); })
#define CMWQ_SECOND(a, b, ...) (b)
#ifndef __USE_MISC
#define strlcpy(to, from, size) ({ cmwq_shim_strscpy(to, from, size); strlen(from); })
#endif
CMWQ_INLINE size_t strlcat(char *to, const char *from, size_t size)
{
	size_t had = strnlen(to, size);

	if (had < size)
		cmwq_shim_strscpy(to + had, from, size - had);
	return had + strlen(from);
}
CMWQ_INLINE void *memchr_inv(const void *start, int c, size_t n)
{
	const unsigned char *p = (const unsigned char *)start;

	for (; n; p++, n--)
		if (*p != (unsigned char)c)
			return (void *)(unsigned long)p;
	return NULL;
}
CMWQ_INLINE const char *kbasename(const char *path)
{
	const char *tail = strrchr(path, '/');

	return tail ? tail + 1 : path;
}
#define memzero_explicit(p, n) do { memset(p, 0, n); barrier(); } while (0)
#define strstarts(s, prefix) (strncmp(s, prefix, strlen(prefix)) == 0)
#define str_has_prefix(s, prefix) (strstarts(s, prefix) ? strlen(prefix) : 0)
#define memset32(p, v, n) ({ u32 *p_ = (p); size_t n_ = (n); while (n_--) *p_++ = (v); })
#define memset_after(obj, v, member) \
	memset((u8 *)(obj) + offsetofend(__typeof__(*(obj)), member), v, \
	       sizeof(*(obj)) - offsetofend(__typeof__(*(obj)), member))
#define memset_startat(obj, v, member) \
	memset((u8 *)(obj) + offsetof(__typeof__(*(obj)), member), v, \
	       sizeof(*(obj)) - offsetof(__typeof__(*(obj)), member))
CMWQ_INLINE bool sysfs_streq(const char *a, const char *b)
{
	while (*a && *a == *b)
		a++, b++;
	if (*a == '\n' && !a[1])
		a++;
	if (*b == '\n' && !b[1])
		b++;
	return !*a && !*b;
}
CMWQ_INLINE int match_string(const char *const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (!strcmp(array[i], string))
			return (int)i;
	return -EINVAL;
}
CMWQ_INLINE int sysfs_match_string_n(const char *const *array, size_t n, const char *string)
{
	size_t i;

	for (i = 0; i < n && array[i]; i++)
		if (sysfs_streq(array[i], string))
			return (int)i;
	return -EINVAL;
}
#define __sysfs_match_string sysfs_match_string_n
#define sysfs_match_string(array, string) \
	sysfs_match_string_n(array, sizeof(array) / sizeof((array)[0]), string)
CMWQ_INLINE char *skip_spaces(const char *s)
{
	while (*s == ' ' || (*s >= '\t' && *s <= '\r'))
		s++;
	return (char *)(unsigned long)s;
}
CMWQ_INLINE char *strim(char *s)
{
	size_t n = strlen(s);

	while (n && (s[n - 1] == ' ' || (s[n - 1] >= '\t' && s[n - 1] <= '\r')))
		s[--n] = 0;
	return skip_spaces(s);
}
#define strstrip strim
CMWQ_INLINE void *kmemdup(const void *from, size_t n, gfp_t gfp)
{
	void *copy = __builtin_malloc(n ? n : 1);

	(void)gfp;
	return copy ? memcpy(copy, from, n) : NULL;
}
#define kmemdup_array(from, n, size, gfp) kmemdup(from, (n) * (size), gfp)
#define kvmemdup kmemdup
CMWQ_INLINE char *kstrdup(const char *s, gfp_t gfp)
{
	return s ? (char *)kmemdup(s, strlen(s) + 1, gfp) : NULL;
}
#define kstrdup_const kstrdup
#define kfree_const(p) __builtin_free((void *)(unsigned long)(p))
CMWQ_INLINE char *kstrndup(const char *s, size_t most, gfp_t gfp)
{
	size_t n = s ? strnlen(s, most) : 0;
	char *copy = s ? (char *)__builtin_malloc(n + 1) : NULL;

	(void)gfp;
	if (copy) {
		memcpy(copy, s, n);
		copy[n] = 0;
	}
	return copy;
}
CMWQ_INLINE char *kmemdup_nul(const char *s, size_t n, gfp_t gfp)
{
	char *copy = (char *)__builtin_malloc(n + 1);

	(void)gfp;
	if (copy) {
		memcpy(copy, s, n);
		copy[n] = 0;
	}
	return copy;
}

#endif
