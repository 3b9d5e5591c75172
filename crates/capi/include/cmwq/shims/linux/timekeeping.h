/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TIMEKEEPING_H
#define CMWQ_SHIM_TIMEKEEPING_H

#include <linux/ktime.h>

#endif
