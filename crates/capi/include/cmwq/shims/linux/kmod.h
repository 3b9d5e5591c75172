/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KMOD_H
#define CMWQ_SHIM_KMOD_H

#define request_module(...) (-38)
#define request_module_nowait(...) (-38)

#endif
