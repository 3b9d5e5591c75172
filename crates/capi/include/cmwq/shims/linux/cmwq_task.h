/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_CMWQ_TASK_H
#define CMWQ_SHIM_CMWQ_TASK_H

/* Threads as tasks: each has a state, sleeps until it is running, and is woken by others. */
#include <linux/cmwq_futex.h>
#define TASK_RUNNING 0
#define TASK_INTERRUPTIBLE 1
#define TASK_UNINTERRUPTIBLE 2
#define TASK_KILLABLE 0x102
#define TASK_IDLE 0x402
#define TASK_NORMAL 3
#define TASK_COMM_LEN 16
#define MAX_SCHEDULE_TIMEOUT LONG_MAX
struct task_struct {
	char comm[TASK_COMM_LEN];
	int pid, tgid;
	unsigned int flags;
	int (*func)(void *data);
	void *data;
	/* One of TASK_*; the task sleeps on this word. */
	unsigned int __state;
	/* Not 0 once somebody has woken it: a thread of kthread_create() begins then. */
	unsigned int woken;
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
/* With a barrier: a condition that is looked at afterwards misses no wake-up. */
#define set_current_state(state) \
	__atomic_store_n(&current->__state, (unsigned int)(state), __ATOMIC_SEQ_CST)
#define __set_current_state(state) set_current_state(state)
#define get_current_state() READ_ONCE(current->__state)
#define task_is_running(task) (READ_ONCE((task)->__state) == TASK_RUNNING)
/* 1 if it was not running. */
CMWQ_INLINE int wake_up_process(struct task_struct *task)
{
	int begins = !__atomic_exchange_n(&task->woken, 1, __ATOMIC_SEQ_CST);
	unsigned int state = __atomic_exchange_n(&task->__state, TASK_RUNNING, __ATOMIC_SEQ_CST);

	if (begins)
		cmwq_shim_wake(&task->woken, 1);
	if (state != TASK_RUNNING)
		cmwq_shim_wake(&task->__state, 1);
	return begins || state != TASK_RUNNING;
}
#define wake_up_state(task, state) wake_up_process(task)
/*
 * Sleeps until somebody wakes the calling thread, or so many ticks have passed; returns those that
 * are left. Who has not set another state than TASK_RUNNING before lets others run.
 */
CMWQ_INLINE long schedule_timeout(long timeout)
{
	struct task_struct *task = current;
	unsigned long end = jiffies + (unsigned long)timeout;
	bool for_ever = timeout == MAX_SCHEDULE_TIMEOUT;
	unsigned int state;

	if (__atomic_load_n(&task->__state, __ATOMIC_SEQ_CST) == TASK_RUNNING)
		cmwq_shim_yield();
	while ((state = __atomic_load_n(&task->__state, __ATOMIC_SEQ_CST)) != TASK_RUNNING) {
		long left = (long)(end - jiffies);

		if (!for_ever && left <= 0)
			break;
		cmwq_shim_wait(&task->__state, state, for_ever ? -1 : (long long)left * TICK_NSEC);
	}
	__atomic_store_n(&task->__state, TASK_RUNNING, __ATOMIC_SEQ_CST);
	if (for_ever)
		return timeout;
	return (long)(end - jiffies) > 0 ? (long)(end - jiffies) : 0;
}
CMWQ_INLINE long cmwq_shim_sleep_in(unsigned int state, long timeout)
{
	set_current_state(state);
	return schedule_timeout(timeout);
}
#define schedule() ((void)schedule_timeout(MAX_SCHEDULE_TIMEOUT))
#define io_schedule() schedule()
#define io_schedule_timeout schedule_timeout
#define schedule_timeout_interruptible(t) cmwq_shim_sleep_in(TASK_INTERRUPTIBLE, t)
#define schedule_timeout_killable(t) cmwq_shim_sleep_in(TASK_KILLABLE, t)
#define schedule_timeout_uninterruptible(t) cmwq_shim_sleep_in(TASK_UNINTERRUPTIBLE, t)
#define schedule_timeout_idle(t) cmwq_shim_sleep_in(TASK_IDLE, t)

#endif
