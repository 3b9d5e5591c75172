/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_EXTCON_PROVIDER_H
#define CMWQ_SHIM_EXTCON_PROVIDER_H

#include <linux/extcon.h>

#endif
