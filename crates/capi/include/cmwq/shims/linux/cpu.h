/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CPU_H
#define CMWQ_SHIM_CPU_H

#include <linux/cpumask.h>
#include <linux/cpuhotplug.h>
#include <linux/device.h>
#define cpus_read_lock() ((void)0)
#define cpus_read_unlock() ((void)0)
#define get_online_cpus() ((void)0)
#define put_online_cpus() ((void)0)
#define lockdep_assert_cpus_held() ((void)0)
extern struct device *get_cpu_device(unsigned int cpu);

#endif
