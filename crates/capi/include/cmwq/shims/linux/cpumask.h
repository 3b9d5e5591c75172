/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CPUMASK_H
#define CMWQ_SHIM_CPUMASK_H

#include <linux/bitmap.h>
#include <linux/threads.h>
#define CMWQ_SHIM_CPUMASK 1
struct cpumask {
	DECLARE_BITMAP(bits, NR_CPUS);
};
typedef struct cpumask cpumask_t;
typedef struct cpumask cpumask_var_t[1];
#define cpumask_bits(mask) ((mask)->bits)
#define cpumask_first(mask) ((unsigned int)find_first_bit((mask)->bits, NR_CPUS))
#define cpumask_next(cpu, mask) ((unsigned int)find_next_bit((mask)->bits, NR_CPUS, (cpu) + 1))
#define cpumask_any(mask) cpumask_first(mask)
#define cpumask_any_and(a, b) cpumask_first_and(a, b)
#define cpumask_test_cpu(cpu, mask) test_bit(cpu, (mask)->bits)
#define cpumask_set_cpu(cpu, mask) set_bit(cpu, (mask)->bits)
#define __cpumask_set_cpu cpumask_set_cpu
#define cpumask_clear_cpu(cpu, mask) clear_bit(cpu, (mask)->bits)
#define __cpumask_clear_cpu cpumask_clear_cpu
#define cpumask_test_and_set_cpu(cpu, mask) test_and_set_bit(cpu, (mask)->bits)
#define cpumask_test_and_clear_cpu(cpu, mask) test_and_clear_bit(cpu, (mask)->bits)
#define cpumask_clear(mask) bitmap_zero((mask)->bits, NR_CPUS)
#define cpumask_setall(mask) bitmap_fill((mask)->bits, NR_CPUS)
#define cpumask_copy(to, from) bitmap_copy((to)->bits, (from)->bits, NR_CPUS)
#define cpumask_and(to, a, b) bitmap_and((to)->bits, (a)->bits, (b)->bits, NR_CPUS)
#define cpumask_or(to, a, b) bitmap_or((to)->bits, (a)->bits, (b)->bits, NR_CPUS)
#define cpumask_andnot(to, a, b) bitmap_andnot((to)->bits, (a)->bits, (b)->bits, NR_CPUS)
#define cpumask_empty(mask) bitmap_empty((mask)->bits, NR_CPUS)
#define cpumask_equal(a, b) bitmap_equal((a)->bits, (b)->bits, NR_CPUS)
#define cpumask_weight(mask) bitmap_weight((mask)->bits, NR_CPUS)
#define alloc_cpumask_var(mask, gfp) true
#define zalloc_cpumask_var(mask, gfp) (cpumask_clear(*(mask)), true)
#define free_cpumask_var(mask) ((void)0)
#define nr_cpu_ids num_possible_cpus()
#define nr_cpumask_bits NR_CPUS
#define num_possible_cpus() ((unsigned int)cmwq_shim_sysconf(83))
#define num_online_cpus() ((unsigned int)cmwq_shim_sysconf(84))
#define num_present_cpus() num_possible_cpus()
#define num_active_cpus() num_online_cpus()
#define cpu_possible(cpu) ((unsigned int)(cpu) < num_possible_cpus())
#define cpu_online(cpu) cpu_possible(cpu)
#define cpu_present(cpu) cpu_possible(cpu)
#define cpu_active(cpu) cpu_possible(cpu)
CMWQ_INLINE const struct cpumask *cmwq_shim_cpus(void)
{
	static struct cpumask all;
	unsigned int cpu;

	for (cpu = 0; cpu < num_possible_cpus() && cpu < NR_CPUS; cpu++)
		set_bit(cpu, all.bits);
	return &all;
}
#define cpu_possible_mask cmwq_shim_cpus()
#define cpu_online_mask cmwq_shim_cpus()
#define cpu_present_mask cmwq_shim_cpus()
#define cpu_active_mask cmwq_shim_cpus()
CMWQ_INLINE const struct cpumask *cpumask_of(unsigned int cpu)
{
	static struct cpumask each[NR_CPUS];

	set_bit(cpu, each[cpu].bits);
	return &each[cpu];
}
#define for_each_cpu(cpu, mask) for_each_set_bit(cpu, (mask)->bits, (unsigned int)NR_CPUS)
#define for_each_possible_cpu(cpu) for ((cpu) = 0; (unsigned int)(cpu) < num_possible_cpus(); (cpu)++)
#define for_each_online_cpu(cpu) for_each_possible_cpu(cpu)
#define for_each_present_cpu(cpu) for_each_possible_cpu(cpu)
#define cpumask_next_wrap(cpu, mask, ...) ({ unsigned int next_ = cpumask_next(cpu, mask); \
	next_ < NR_CPUS ? next_ : cpumask_first(mask); })
CMWQ_INLINE unsigned int cpumask_first_and(const struct cpumask *a, const struct cpumask *b)
{
	struct cpumask both;

	cpumask_and(&both, a, b);
	return cpumask_first(&both);
}

#endif
