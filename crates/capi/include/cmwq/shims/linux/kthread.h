/* SPDX-License-Identifier: MIT OR Apache-2.0 */
#ifndef CMWQ_SHIM_KTHREAD_H
#define CMWQ_SHIM_KTHREAD_H

/* Threads of the program. They block all signals, as cmwq's own do. */
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/err.h>
#include <linux/sprintf.h>
#include <linux/cpumask.h>
extern int cmwq_shim_thread(unsigned long *id, const void *attr, void *(*func)(void *), void *arg)
	__asm__("pthread_create");
extern int cmwq_shim_join(unsigned long id, void **result) __asm__("pthread_join");
extern int cmwq_shim_sigmask(int how, const void *set, void *old) __asm__("pthread_sigmask");
struct cmwq_shim_kthread {
	struct task_struct task;
	unsigned long id;
	bool started;
};
CMWQ_INLINE void *cmwq_shim_kthread_main(void *arg)
{
	struct cmwq_shim_kthread *thread = (struct cmwq_shim_kthread *)arg;
	struct task_struct *task = &thread->task;

	cmwq_shim_current = task;
	task->pid = (int)cmwq_shim_syscall(__NR_gettid);
	cmwq_shim_syscall(__NR_prctl, 15, task->comm);
	/* As in the kernel: it begins when it is woken first, or stopped. */
	while (!__atomic_load_n(&task->woken, __ATOMIC_SEQ_CST))
		cmwq_shim_wait(&task->woken, 0, -1);
	if (task->cpu_plus_one) {
		const struct cpumask *only = cpumask_of(task->cpu_plus_one - 1);

		cmwq_shim_syscall(__NR_sched_setaffinity, 0, sizeof(*only), only);
	}
	if (__atomic_load_n(&task->stop, __ATOMIC_SEQ_CST) && !task->begun)
		task->result = -EINTR;
	else
		task->result = task->func(task->data);
	return NULL;
}
CMWQ_INLINE struct task_struct *kthread_create_on_node(int (*func)(void *data), void *data,
						       int node, const char *fmt, ...)
{
	struct cmwq_shim_kthread *thread =
		(struct cmwq_shim_kthread *)kzalloc(sizeof(*thread), GFP_KERNEL);
	unsigned long all[16], before[16];
	va_list args;
	int error;

	(void)node;
	if (!thread)
		return (struct task_struct *)ERR_PTR(-ENOMEM);
	va_start(args, fmt);
	vsnprintf(thread->task.comm, sizeof(thread->task.comm), fmt, args);
	va_end(args);
	thread->task.func = func;
	thread->task.data = data;
	thread->task.flags = PF_KTHREAD;
	__builtin_memset(all, 0xff, sizeof(all));
	cmwq_shim_sigmask(0, all, before);
	error = cmwq_shim_thread(&thread->id, NULL, cmwq_shim_kthread_main, thread);
	cmwq_shim_sigmask(2, before, NULL);
	if (error) {
		kfree(thread);
		return (struct task_struct *)ERR_PTR(-error);
	}
	return &thread->task;
}
#define kthread_create(func, data, ...) kthread_create_on_node(func, data, -1, __VA_ARGS__)
#define kthread_create_on_cpu(func, data, cpu, fmt) ({ \
	struct task_struct *on_ = kthread_create(func, data, fmt, cpu); \
	if (!IS_ERR(on_)) kthread_bind(on_, cpu); on_; })
#define kthread_run(func, data, ...) ({ \
	struct task_struct *run_ = kthread_create(func, data, __VA_ARGS__); \
	if (!IS_ERR(run_)) { run_->begun = 1; wake_up_process(run_); } run_; })
#define kthread_should_stop() (__atomic_load_n(&current->stop, __ATOMIC_SEQ_CST) != 0)
#define kthread_freezable_should_stop(was) kthread_should_stop()
#define kthread_should_park() 0
#define kthread_parkme() ((void)0)
#define kthread_park(task) 0
#define kthread_unpark(task) ((void)(task))
/* Before it is woken first. */
#define kthread_bind(task, cpu) ((void)((task)->cpu_plus_one = (unsigned int)(cpu) + 1))
#define kthread_bind_mask(task, mask) ((void)(task))
/* Waits for its end; what its function has returned. */
CMWQ_INLINE int kthread_stop(struct task_struct *task)
{
	struct cmwq_shim_kthread *thread = container_of(task, struct cmwq_shim_kthread, task);
	int result;

	__atomic_store_n(&task->stop, 1, __ATOMIC_SEQ_CST);
	wake_up_process(task);
	cmwq_shim_join(thread->id, NULL);
	result = task->result;
	kfree(thread);
	return result;
}
#define kthread_stop_put kthread_stop
#define get_task_struct(task) (task)
#define put_task_struct(task) ((void)(task))
#define kthread_complete_and_exit(done, code) do { complete(done); return code; } while (0)

#endif
