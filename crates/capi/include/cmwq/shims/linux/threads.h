/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_THREADS_H
#define CMWQ_SHIM_THREADS_H

#define NR_CPUS 1024

#endif
