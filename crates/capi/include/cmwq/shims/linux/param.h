/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PARAM_H
#define CMWQ_SHIM_PARAM_H

#include <linux/jiffies.h>

#endif
