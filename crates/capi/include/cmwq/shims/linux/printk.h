/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PRINTK_H
#define CMWQ_SHIM_PRINTK_H

#include <linux/types.h>
#define KERN_SOH "\001"
#define KERN_EMERG KERN_SOH "0"
#define KERN_ALERT KERN_SOH "1"
#define KERN_CRIT KERN_SOH "2"
#define KERN_ERR KERN_SOH "3"
#define KERN_WARNING KERN_SOH "4"
#define KERN_NOTICE KERN_SOH "5"
#define KERN_INFO KERN_SOH "6"
#define KERN_DEBUG KERN_SOH "7"
#define KERN_DEFAULT ""
#define KERN_CONT KERN_SOH "c"
/* Goes to the standard error output, but for debugging. The kernel's own %p formats are not known. */
CMWQ_INLINE int vprintk(const char *fmt, va_list args)
{
	char text[1024];
	int length;

	if (fmt[0] == '\001' && fmt[1] == '7')
		return 0;
	length = __builtin_vsnprintf(text, sizeof(text), fmt, args);
	if (length > 0) {
		size_t size = (size_t)length < sizeof(text) ? (size_t)length : sizeof(text) - 1;
		size_t skip = size > 1 && text[0] == '\001' ? 2 : 0;

		if (cmwq_shim_write(2, text + skip, size - skip) < 0)
			return 0;
	}
	return length;
}
CMWQ_INLINE int printk(const char *fmt, ...)
{
	va_list args;
	int length;

	va_start(args, fmt);
	length = vprintk(fmt, args);
	va_end(args);
	return length;
}
#define _printk printk
#define no_printk(fmt, ...) ({ if (0) printk(fmt, ##__VA_ARGS__); 0; })
#ifndef pr_fmt
#define pr_fmt(fmt) fmt
#endif
#define pr_emerg(fmt, ...) printk(KERN_EMERG pr_fmt(fmt), ##__VA_ARGS__)
#define pr_alert(fmt, ...) printk(KERN_ALERT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_crit(fmt, ...) printk(KERN_CRIT pr_fmt(fmt), ##__VA_ARGS__)
#define pr_err(fmt, ...) printk(KERN_ERR pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warn(fmt, ...) printk(KERN_WARNING pr_fmt(fmt), ##__VA_ARGS__)
#define pr_warning pr_warn
#define pr_notice(fmt, ...) printk(KERN_NOTICE pr_fmt(fmt), ##__VA_ARGS__)
#define pr_info(fmt, ...) printk(KERN_INFO pr_fmt(fmt), ##__VA_ARGS__)
#define pr_cont(fmt, ...) printk(KERN_CONT fmt, ##__VA_ARGS__)
#define pr_debug(fmt, ...) no_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define pr_devel(fmt, ...) no_printk(pr_fmt(fmt), ##__VA_ARGS__)
#define CMWQ_ONCE(act) ({ static bool said_; bool first_ = !said_; \
	if (first_) { said_ = true; act; } first_; })
#define printk_once(fmt, ...) CMWQ_ONCE(printk(fmt, ##__VA_ARGS__))
#define pr_err_once(fmt, ...) CMWQ_ONCE(pr_err(fmt, ##__VA_ARGS__))
#define pr_warn_once(fmt, ...) CMWQ_ONCE(pr_warn(fmt, ##__VA_ARGS__))
#define pr_info_once(fmt, ...) CMWQ_ONCE(pr_info(fmt, ##__VA_ARGS__))
#define pr_notice_once(fmt, ...) CMWQ_ONCE(pr_notice(fmt, ##__VA_ARGS__))
#define pr_debug_once pr_debug
#define printk_ratelimited printk
#define pr_err_ratelimited pr_err
#define pr_warn_ratelimited pr_warn
#define pr_info_ratelimited pr_info
#define pr_notice_ratelimited pr_notice
#define pr_debug_ratelimited pr_debug
#define printk_ratelimit() 1
#define dump_stack() ((void)0)
#define print_hex_dump(...) ((void)0)
#define print_hex_dump_debug(...) ((void)0)
#define print_hex_dump_bytes(...) ((void)0)
#define DUMP_PREFIX_NONE 0
#define DUMP_PREFIX_ADDRESS 1
#define DUMP_PREFIX_OFFSET 2

#endif
