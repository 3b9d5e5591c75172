/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_TIME_H
#define CMWQ_SHIM_TIME_H

#include <linux/time64.h>
#include <linux/ktime.h>
#include <linux/math64.h>

#endif
