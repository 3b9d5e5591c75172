/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KLIST_H
#define CMWQ_SHIM_KLIST_H

struct klist_node { void *unused; };

#endif
