/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_HARDIRQ_H
#define CMWQ_SHIM_HARDIRQ_H

#include <linux/preempt.h>

#endif
