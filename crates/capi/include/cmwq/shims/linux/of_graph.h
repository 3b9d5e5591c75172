/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_OF_GRAPH_H
#define CMWQ_SHIM_OF_GRAPH_H

#include <linux/of.h>

#endif
