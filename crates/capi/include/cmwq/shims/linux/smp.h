/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SMP_H
#define CMWQ_SHIM_SMP_H

#include <linux/cpumask.h>
#define raw_smp_processor_id() cmwq_shim_cpu()
#define smp_processor_id() raw_smp_processor_id()
#define get_cpu() raw_smp_processor_id()
#define put_cpu() ((void)0)
#define preempt_disable() ((void)0)
#define preempt_enable() ((void)0)

#endif
