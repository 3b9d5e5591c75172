/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PID_H
#define CMWQ_SHIM_PID_H

#include <linux/types.h>
#include <linux/sched.h>

#endif
