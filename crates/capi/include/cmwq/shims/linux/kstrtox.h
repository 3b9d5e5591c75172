/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KSTRTOX_H
#define CMWQ_SHIM_KSTRTOX_H

#include <linux/types.h>
#include <linux/errno.h>
#include <linux/string.h>
extern unsigned long long cmwq_shim_strtoull(const char *s, char **end, int base)
	__asm__("strtoull");
CMWQ_INLINE int cmwq_shim_kstrto(const char *s, unsigned int base, bool is_signed,
				 unsigned long long most, unsigned long long *value)
{
	bool negative = is_signed && *s == '-';
	char *end;

	s += *s == '-' ? negative : *s == '+';
	if (*s < '0' || *s > 'z')
		return -EINVAL;
	*value = cmwq_shim_strtoull(s, &end, (int)base);
	if (end == s || (*end && !(*end == '\n' && !end[1])))
		return -EINVAL;
	if (*value > most + negative)
		return -ERANGE;
	if (negative)
		*value = -*value;
	return 0;
}
#define CMWQ_KSTRTO(name, type, is_signed) \
	CMWQ_INLINE int name(const char *s, unsigned int base, type *to) \
	{ \
		unsigned long long most = ~0ULL >> (64 - 8 * sizeof(type) + is_signed), value; \
		int error = cmwq_shim_kstrto(s, base, is_signed, most, &value); \
		if (!error) \
			*to = (type)value; \
		return error; \
	}
CMWQ_KSTRTO(kstrtoull, unsigned long long, 0)
CMWQ_KSTRTO(kstrtoll, long long, 1)
CMWQ_KSTRTO(kstrtoul, unsigned long, 0)
CMWQ_KSTRTO(kstrtol, long, 1)
CMWQ_KSTRTO(kstrtouint, unsigned int, 0)
CMWQ_KSTRTO(kstrtoint, int, 1)
CMWQ_KSTRTO(kstrtou64, u64, 0)
CMWQ_KSTRTO(kstrtos64, s64, 1)
CMWQ_KSTRTO(kstrtou32, u32, 0)
CMWQ_KSTRTO(kstrtou16, u16, 0)
CMWQ_KSTRTO(kstrtos16, s16, 1)
CMWQ_KSTRTO(kstrtou8, u8, 0)
CMWQ_KSTRTO(kstrtos8, s8, 1)
CMWQ_INLINE int kstrtobool(const char *s, bool *to)
{
	switch (s ? s[0] : 0) {
	case 'y': case 'Y': case 't': case 'T': case '1':
		*to = true;
		return 0;
	case 'n': case 'N': case 'f': case 'F': case '0':
		*to = false;
		return 0;
	case 'o': case 'O':
		*to = s[1] == 'n' || s[1] == 'N';
		return *to || s[1] == 'f' || s[1] == 'F' ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}
#define strtobool kstrtobool
#define simple_strtoul(s, end, base) ((unsigned long)cmwq_shim_strtoull(s, end, base))
#define simple_strtol(s, end, base) ((long)cmwq_shim_strtoull(s, end, base))
#define simple_strtoull cmwq_shim_strtoull

#endif
