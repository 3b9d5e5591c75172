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
CMWQ_INLINE void padata_do_multithreaded(struct padata_mt_job *job)
{
	struct cmwq_job ours = { sizeof(ours), (u32)job->max_threads, job->thread_fn, job->fn_arg,
				 job->start, job->size, job->align, job->min_chunk };

	cmwq_run_job(&ours);
}

#endif
