/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_FWNODE_H
#define CMWQ_SHIM_FWNODE_H

#include <linux/property.h>

#endif
