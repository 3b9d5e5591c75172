/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_NUMA_H
#define CMWQ_SHIM_NUMA_H

#include <linux/nodemask.h>
#include <linux/cpumask.h>

#endif
