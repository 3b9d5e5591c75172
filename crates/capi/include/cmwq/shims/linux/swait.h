/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SWAIT_H
#define CMWQ_SHIM_SWAIT_H

#include <linux/wait.h>

#endif
