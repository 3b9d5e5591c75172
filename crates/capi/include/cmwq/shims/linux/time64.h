/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TIME64_H
#define CMWQ_SHIM_TIME64_H

#include <linux/jiffies.h>
struct timespec64 {
	time64_t tv_sec;
	long tv_nsec;
};

#endif
