/* Prints what is part of the interface: sizes, and where fields are. */
#include <cmwq.h>
#include <linux/workqueue.h>
#include <stdio.h>

#define SIZE(type) printf("size %s %zu %zu\n", #type, sizeof(type), _Alignof(type))
#define FIELD(type, field) \
	printf("field %s %s %zu %zu\n", #type, #field, offsetof(type, field), \
	       sizeof(((type *)0)->field))
#define VALUE(name) printf("value %s %lld\n", #name, (long long)(name))

int main(void)
{
	SIZE(struct cmwq_work);
	FIELD(struct cmwq_work, word);
	FIELD(struct cmwq_work, links);
	FIELD(struct cmwq_work, home);
	FIELD(struct cmwq_work, table);
	FIELD(struct cmwq_work, func);
	FIELD(struct cmwq_work, room);
	SIZE(struct cmwq_delayed_work);
	FIELD(struct cmwq_delayed_work, work);
	SIZE(struct cmwq_cpus);
	SIZE(struct cmwq_attrs);
	FIELD(struct cmwq_attrs, size);
	FIELD(struct cmwq_attrs, nice);
	FIELD(struct cmwq_attrs, scope);
	FIELD(struct cmwq_attrs, strict);
	FIELD(struct cmwq_attrs, locality_ns);
	FIELD(struct cmwq_attrs, cpus);
	SIZE(struct cmwq_queue_options);
	FIELD(struct cmwq_queue_options, kind);
	FIELD(struct cmwq_queue_options, flags);
	FIELD(struct cmwq_queue_options, max_active);
	FIELD(struct cmwq_queue_options, stacking);
	FIELD(struct cmwq_queue_options, attrs);
	SIZE(struct cmwq_counts);
	FIELD(struct cmwq_counts, nr_active);
	FIELD(struct cmwq_counts, nr_inactive);
	SIZE(struct cmwq_process_options);
	FIELD(struct cmwq_process_options, stack_size);
	SIZE(struct cmwq_shutdown_report);
	FIELD(struct cmwq_shutdown_report, armed);
	SIZE(struct cmwq_stats);
	FIELD(struct cmwq_stats, ticks);
	SIZE(struct cmwq_report);
	FIELD(struct cmwq_report, text);
	SIZE(struct cmwq_job);
	FIELD(struct cmwq_job, func);
	FIELD(struct cmwq_job, min_chunk);
	FIELD(struct cmwq_job, flags);
	FIELD(struct cmwq_job, try_func);
	FIELD(struct cmwq_job, cancelled);
	FIELD(struct cmwq_job, parts);
	FIELD(struct cmwq_job, stats);
	SIZE(struct cmwq_job_part);
	FIELD(struct cmwq_job_part, start);
	SIZE(struct cmwq_job_stats);
	FIELD(struct cmwq_job_stats, lifted);
	SIZE(struct cmwq_async_domain);
	FIELD(struct cmwq_async_domain, exclusive);
	SIZE(struct work_struct);
	FIELD(struct work_struct, func);
	SIZE(struct delayed_work);
	FIELD(struct delayed_work, timer);
	FIELD(struct delayed_work, wq);
	FIELD(struct delayed_work, cpu);
	VALUE(CMWQ_BH);
	VALUE(CMWQ_FIFO);
	VALUE(CMWQ_EXACT);
	VALUE(CMWQ_JOB_NICE);
	VALUE(CMWQ_SYSFS);
	VALUE(CMWQ_SCOPE_SYSTEM);
	VALUE(CMWQ_REPORT_FLUSH_DEPENDENCY);
	VALUE(CMWQ_REPORT_MISUSE);
	VALUE((uintptr_t)CMWQ_SYSTEM_UNMANAGED);
	VALUE((uintptr_t)system_freezable_power_efficient_wq);
	return 0;
}
