/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SCHED_ISOLATION_H
#define CMWQ_SHIM_SCHED_ISOLATION_H

#include <linux/sched.h>

#endif
