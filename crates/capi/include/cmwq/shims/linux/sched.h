/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SCHED_H
#define CMWQ_SHIM_SCHED_H

#include <linux/types.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/preempt.h>
#include <linux/wait.h>
#include <linux/cmwq_task.h>
#define task_pid_nr(task) ((task)->pid)
#define task_tgid_nr(task) ((task)->tgid)
#define PF_EXITING 4u
#define PF_MEMALLOC 0x800u
#define PF_KTHREAD 0x200000u
#define PF_WQ_WORKER 0x20u
#define PF_NOFREEZE 0x8000u
#define cond_resched() (cmwq_shim_yield(), 0)
#define cond_resched_lock(lock) 0
#define need_resched() 0
#define yield() ((void)cmwq_shim_yield())
#define cpu_relax() ((void)cmwq_shim_yield())
#define signal_pending(task) 0
#define fatal_signal_pending(task) 0
#define signal_pending_state(state, task) 0
#define flush_signals(task) ((void)(task))
#define allow_signal(n) ((void)(n))
#define send_sig(n, task, private_) 0
#define set_user_nice(task, nice) ((void)(task))
#define sched_set_fifo(task) ((void)(task))
#define sched_set_fifo_low(task) ((void)(task))
#define sched_set_normal(task, nice) ((void)(task))
#define set_cpus_allowed_ptr(task, mask) 0
#define memalloc_noio_save() 0u
#define memalloc_noio_restore(flags) ((void)(flags))
#define memalloc_nofs_save() 0u
#define memalloc_nofs_restore(flags) ((void)(flags))
#define memalloc_noreclaim_save() 0u
#define memalloc_noreclaim_restore(flags) ((void)(flags))
#define get_task_comm(to, task) ((void)strscpy(to, (task)->comm, sizeof(to)))

#endif
