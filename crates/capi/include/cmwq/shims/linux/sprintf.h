/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SPRINTF_H
#define CMWQ_SHIM_SPRINTF_H

#include <linux/types.h>
#ifndef _STDIO_H
extern int sprintf(char *to, const char *fmt, ...) __printf(2, 3);
extern int snprintf(char *to, size_t size, const char *fmt, ...) __printf(3, 4);
extern int vsprintf(char *to, const char *fmt, va_list args);
extern int vsnprintf(char *to, size_t size, const char *fmt, va_list args);
extern int sscanf(const char *from, const char *fmt, ...) __scanf(2, 3);
#endif
CMWQ_INLINE int vscnprintf(char *to, size_t size, const char *fmt, va_list args)
{
	int n = vsnprintf(to, size, fmt, args);

	return n < (int)size ? n : size ? (int)size - 1 : 0;
}
CMWQ_INLINE int scnprintf(char *to, size_t size, const char *fmt, ...)
{
	va_list args;
	int n;

	va_start(args, fmt);
	n = vscnprintf(to, size, fmt, args);
	va_end(args);
	return n;
}
extern int cmwq_shim_vasprintf(char **to, const char *fmt, va_list args) __asm__("vasprintf");
CMWQ_INLINE char *kvasprintf(gfp_t gfp, const char *fmt, va_list args)
{
	char *text;

	(void)gfp;
	return cmwq_shim_vasprintf(&text, fmt, args) < 0 ? NULL : text;
}
CMWQ_INLINE char *kasprintf(gfp_t gfp, const char *fmt, ...)
{
	va_list args;
	char *text;

	va_start(args, fmt);
	text = kvasprintf(gfp, fmt, args);
	va_end(args);
	return text;
}

#endif
