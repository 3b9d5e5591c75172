/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_WAIT_BIT_H
#define CMWQ_SHIM_WAIT_BIT_H

#include <linux/wait.h>

#endif
