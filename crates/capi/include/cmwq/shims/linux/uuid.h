/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_UUID_H
#define CMWQ_SHIM_UUID_H

#include <linux/types.h>
#include <linux/errno.h>
#include <linux/random.h>
#define UUID_SIZE 16
#define UUID_STRING_LEN 36
typedef struct { u8 b[UUID_SIZE]; } guid_t;
typedef struct { u8 b[UUID_SIZE]; } uuid_t;
/* The first three fields of a GUID are little-endian, those of a UUID big-endian. */
#define GUID_INIT(a, x, y, ...) ((guid_t){ { (a) & 255, ((a) >> 8) & 255, ((a) >> 16) & 255, \
	((a) >> 24) & 255, (x) & 255, ((x) >> 8) & 255, (y) & 255, ((y) >> 8) & 255, __VA_ARGS__ } })
#define UUID_INIT(a, x, y, ...) ((uuid_t){ { ((a) >> 24) & 255, ((a) >> 16) & 255, \
	((a) >> 8) & 255, (a) & 255, ((x) >> 8) & 255, (x) & 255, ((y) >> 8) & 255, (y) & 255, \
	__VA_ARGS__ } })
CMWQ_SHARED const guid_t guid_null;
CMWQ_SHARED const uuid_t uuid_null;
#define guid_equal(a, b) (!__builtin_memcmp(a, b, UUID_SIZE))
#define uuid_equal(a, b) (!__builtin_memcmp(a, b, UUID_SIZE))
#define guid_is_null(a) guid_equal(a, &guid_null)
#define uuid_is_null(a) uuid_equal(a, &uuid_null)
#define guid_copy(to, from) ((void)(*(to) = *(from)))
#define uuid_copy(to, from) ((void)(*(to) = *(from)))
#define import_guid(to, from) ((void)__builtin_memcpy((to)->b, from, UUID_SIZE))
#define import_uuid(to, from) ((void)__builtin_memcpy((to)->b, from, UUID_SIZE))
#define export_guid(to, from) ((void)__builtin_memcpy(to, (from)->b, UUID_SIZE))
#define export_uuid(to, from) ((void)__builtin_memcpy(to, (from)->b, UUID_SIZE))
CMWQ_INLINE void uuid_gen(uuid_t *to)
{
	get_random_bytes(to->b, UUID_SIZE);
	to->b[6] = (u8)((to->b[6] & 15) | 0x40);
	to->b[8] = (u8)((to->b[8] & 0x3f) | 0x80);
}
CMWQ_INLINE void guid_gen(guid_t *to)
{
	get_random_bytes(to->b, UUID_SIZE);
	to->b[7] = (u8)((to->b[7] & 15) | 0x40);
	to->b[8] = (u8)((to->b[8] & 0x3f) | 0x80);
}
CMWQ_INLINE int cmwq_shim_hex(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c = (char)(c | 32);
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}
CMWQ_INLINE int uuid_parse(const char *text, uuid_t *to)
{
	int n, high, low;

	for (n = 0; n < UUID_SIZE; n++, text += 2) {
		if ((n == 4 || n == 6 || n == 8 || n == 10) && *text++ != '-')
			return -EINVAL;
		high = cmwq_shim_hex(text[0]);
		low = high < 0 ? -1 : cmwq_shim_hex(text[1]);
		if (low < 0)
			return -EINVAL;
		to->b[n] = (u8)(high << 4 | low);
	}
	return 0;
}
CMWQ_INLINE int guid_parse(const char *text, guid_t *to)
{
	static const u8 from[UUID_SIZE] = { 3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15 };
	uuid_t uuid;
	int n, error = uuid_parse(text, &uuid);

	for (n = 0; !error && n < UUID_SIZE; n++)
		to->b[n] = uuid.b[from[n]];
	return error;
}

#endif
