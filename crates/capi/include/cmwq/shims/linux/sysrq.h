/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SYSRQ_H
#define CMWQ_SHIM_SYSRQ_H

#include <linux/errno.h>
#include <linux/types.h>

struct sysrq_key_op {
	void (*const handler)(u8 key);
	const char *const help_msg;
	const char *const action_msg;
	const int enable_mask;
};
#define SYSRQ_ENABLE_DUMP 0x0008
#define SYSRQ_ENABLE_BOOT 0x0080
/* There is no such key. */
CMWQ_INLINE int register_sysrq_key(u8 key, const struct sysrq_key_op *op)
{
	return -EINVAL;
}
CMWQ_INLINE int unregister_sysrq_key(u8 key, const struct sysrq_key_op *op)
{
	return -EINVAL;
}
CMWQ_INLINE void handle_sysrq(u8 key)
{
}

#endif
