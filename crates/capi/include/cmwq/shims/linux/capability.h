/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CAPABILITY_H
#define CMWQ_SHIM_CAPABILITY_H

#include <linux/types.h>

/* What root may, the program may. */
#define CAP_SYS_RAWIO 17
#define CAP_SYS_ADMIN 21
#define CAP_SYS_BOOT 22
#define CAP_SYS_NICE 23
#define CAP_SYS_RESOURCE 24
#define CAP_BLOCK_SUSPEND 36
extern unsigned int cmwq_shim_geteuid(void) __asm__("geteuid");
CMWQ_INLINE bool capable(int cap)
{
	return cmwq_shim_geteuid() == 0;
}

#endif
