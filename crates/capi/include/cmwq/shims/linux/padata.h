/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_PADATA_H
#define CMWQ_SHIM_PADATA_H

#include <linux/types.h>
#include "../../../cmwq.h"
struct padata_mt_job {
	void (*thread_fn)(unsigned long start, unsigned long end, void *arg);
	void *fn_arg;
	unsigned long start;
	unsigned long size;
	unsigned long align;
	unsigned long min_chunk;
	int max_threads;
	bool numa_aware;
};
/* As in the kernel helpers have no worse nice level than others. With numa_aware each node has a
 * part of the range, so that helpers work on what is near. */
CMWQ_INLINE void padata_do_multithreaded(struct padata_mt_job *job)
{
	struct cmwq_job ours = {
		.struct_size = sizeof(ours),
		.max_threads = (u32)job->max_threads,
		.func = job->thread_fn,
		.arg = job->fn_arg,
		.start = job->start,
		.size = job->size,
		.align = job->align,
		.min_chunk = job->min_chunk,
		.flags = CMWQ_JOB_NICE | (job->numa_aware ? CMWQ_JOB_NUMA_AWARE : 0),
	};

	cmwq_linux_warn("padata_do_multithreaded", cmwq_run_job(&ours));
}

#endif
