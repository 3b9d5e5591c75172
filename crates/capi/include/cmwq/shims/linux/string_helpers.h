/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STRING_HELPERS_H
#define CMWQ_SHIM_STRING_HELPERS_H

#include <linux/ctype.h>
#include <linux/kernel.h>
#include <linux/string.h>
#include <linux/string_choices.h>

enum string_size_units { STRING_UNITS_10, STRING_UNITS_2, STRING_UNITS_MASK = 1,
			 STRING_UNITS_NO_SPACE = 1 << 30, STRING_UNITS_NO_BYTES = 1 << 31 };
/* Three digits, rounded down. */
CMWQ_INLINE int string_get_size(u64 blocks, u64 block_size, int units, char *to, int len)
{
	static const char names[] = " kMGTPEZY";
	unsigned int base = (units & STRING_UNITS_MASK) == STRING_UNITS_2 ? 1024 : 1000;
	unsigned __int128 size = (unsigned __int128)blocks * block_size;
	unsigned int rest = 0, at = 0, whole, digits;
	char part[8] = "";

	for (; size >= base; at++) {
		rest = (unsigned int)(size % base);
		size /= base;
	}
	whole = (unsigned int)size;
	digits = whole < 10 ? 2 : whole < 100 ? 1 : 0;
	rest = rest * 1000 / base;
	if (at && digits)
		snprintf(part, sizeof(part), ".%0*u", digits, digits == 2 ? rest / 10 : rest / 100);
	return snprintf(to, (size_t)len, "%u%s%s%.*s%s%s", whole, part,
			units & STRING_UNITS_NO_SPACE ? "" : " ", at ? 1 : 0, names + at,
			at && base == 1024 ? "i" : "", units & STRING_UNITS_NO_BYTES ? "" : "B");
}
CMWQ_INLINE void string_upper(char *to, const char *from)
{
	do
		*to++ = (char)toupper(*from);
	while (*from++);
}
CMWQ_INLINE void string_lower(char *to, const char *from)
{
	do
		*to++ = (char)tolower(*from);
	while (*from++);
}

#endif
