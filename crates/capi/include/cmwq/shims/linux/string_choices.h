/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_STRING_CHOICES_H
#define CMWQ_SHIM_STRING_CHOICES_H

#include <linux/types.h>
CMWQ_INLINE const char *str_yes_no(bool v) { return v ? "yes" : "no"; }
CMWQ_INLINE const char *str_on_off(bool v) { return v ? "on" : "off"; }
CMWQ_INLINE const char *str_true_false(bool v) { return v ? "true" : "false"; }
CMWQ_INLINE const char *str_high_low(bool v) { return v ? "high" : "low"; }
CMWQ_INLINE const char *str_hi_lo(bool v) { return v ? "hi" : "lo"; }
CMWQ_INLINE const char *str_enable_disable(bool v) { return v ? "enable" : "disable"; }
CMWQ_INLINE const char *str_enabled_disabled(bool v) { return v ? "enabled" : "disabled"; }
CMWQ_INLINE const char *str_read_write(bool v) { return v ? "read" : "write"; }
CMWQ_INLINE const char *str_up_down(bool v) { return v ? "up" : "down"; }
CMWQ_INLINE const char *str_assert_deassert(bool v) { return v ? "assert" : "deassert"; }
#define str_plural(n) ((n) == 1 ? "" : "s")

#endif
