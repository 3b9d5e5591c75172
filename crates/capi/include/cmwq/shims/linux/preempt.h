/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PREEMPT_H
#define CMWQ_SHIM_PREEMPT_H

#include <linux/smp.h>
#define in_interrupt() 0
#define in_task() 1
#define in_atomic() 0
#define in_irq() 0
#define in_hardirq() 0
#define in_softirq() 0
#define in_serving_softirq() 0
#define preemptible() 1
#define preempt_count() 0

#endif
