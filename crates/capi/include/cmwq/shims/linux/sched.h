/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_SCHED_H
#define CMWQ_SHIM_SCHED_H

#include <linux/types.h>
#include <linux/jiffies.h>
#include <linux/list.h>
#include <linux/preempt.h>
#include <linux/wait.h>
#include <linux/cmwq_futex.h>
struct task_struct {
	char comm[TASK_COMM_LEN];
	int pid, tgid;
	unsigned int flags;
	int (*func)(void *data);
	void *data;
	/* Goes up when somebody wakes it. */
	unsigned int woken;
	unsigned int seen;
	unsigned int begun;
	unsigned int stop;
	/* 0: any. */
	unsigned int cpu_plus_one;
	int result;
};
/* The calling thread. */
CMWQ_SHARED __thread struct task_struct *cmwq_shim_current;
CMWQ_SHARED __thread struct task_struct cmwq_shim_self;
CMWQ_INLINE struct task_struct *cmwq_shim_task(void)
{
	if (!cmwq_shim_current) {
		cmwq_shim_current = &cmwq_shim_self;
		cmwq_shim_self.pid = (int)cmwq_shim_syscall(__NR_gettid);
		cmwq_shim_self.tgid = (int)cmwq_shim_syscall(__NR_getpid);
	}
	return cmwq_shim_current;
}
#define current cmwq_shim_task()
#define get_current() cmwq_shim_task()
#define task_pid_nr(task) ((task)->pid)
#define task_tgid_nr(task) ((task)->tgid)
#define PF_EXITING 4u
#define PF_MEMALLOC 0x800u
#define PF_KTHREAD 0x200000u
#define PF_WQ_WORKER 0x20u
#define PF_NOFREEZE 0x8000u
/* Until somebody wakes it, or so many ticks have passed; what is left of them. */
CMWQ_INLINE long schedule_timeout(long timeout)
{
	struct task_struct *task = current;
	unsigned long end = jiffies + (unsigned long)timeout;
	long left;

	if (__atomic_load_n(&task->woken, __ATOMIC_SEQ_CST) == task->seen)
		cmwq_shim_wait(&task->woken, task->seen,
			       timeout >= LONG_MAX ? -1 : (long long)timeout * TICK_NSEC);
	task->seen = __atomic_load_n(&task->woken, __ATOMIC_SEQ_CST);
	left = timeout >= LONG_MAX ? timeout : (long)(end - jiffies);
	return left > 0 ? left : 0;
}
#define schedule() ((void)schedule_timeout(MAX_SCHEDULE_TIMEOUT))
#define io_schedule() schedule()
#define io_schedule_timeout schedule_timeout
#define schedule_timeout_interruptible schedule_timeout
#define schedule_timeout_killable schedule_timeout
#define schedule_timeout_uninterruptible schedule_timeout
#define schedule_timeout_idle schedule_timeout
#define cond_resched() (cmwq_shim_yield(), 0)
#define cond_resched_lock(lock) 0
#define need_resched() 0
#define yield() ((void)cmwq_shim_yield())
#define cpu_relax() ((void)cmwq_shim_yield())
#define set_current_state(state) ((void)(state))
#define __set_current_state(state) ((void)(state))
CMWQ_INLINE int wake_up_process(struct task_struct *task)
{
	__atomic_fetch_add(&task->woken, 1, __ATOMIC_SEQ_CST);
	cmwq_shim_wake(&task->woken, 1);
	return 1;
}
#define wake_up_state(task, state) wake_up_process(task)
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
