/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PANIC_NOTIFIER_H
#define CMWQ_SHIM_PANIC_NOTIFIER_H

#include <linux/notifier.h>
/* Nobody calls it: a program that panics is gone. A rig may. */
CMWQ_SHARED struct atomic_notifier_head panic_notifier_list;

#endif
