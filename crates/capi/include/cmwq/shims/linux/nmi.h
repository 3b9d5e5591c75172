/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_NMI_H
#define CMWQ_SHIM_NMI_H

#include <linux/types.h>
/* There is no watchdog of CPUs that a program could calm. */
#define touch_nmi_watchdog() ((void)0)
#define touch_softlockup_watchdog() ((void)0)
#define touch_all_softlockup_watchdogs() ((void)0)

#endif
