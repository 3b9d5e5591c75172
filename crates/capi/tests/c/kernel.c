/* Kernel-style code, under the kernel's names and against the small headers. */
#include <linux/async.h>
#include <linux/completion.h>
#include <linux/delay.h>
#include <linux/hrtimer.h>
#include <linux/idr.h>
#include <linux/interrupt.h>
#include <linux/kfifo.h>
#include <linux/kthread.h>
#include <linux/module.h>
#include <linux/mutex.h>
#include <linux/notifier.h>
#include <linux/padata.h>
#include <linux/rcupdate.h>
#include <linux/semaphore.h>
#include <linux/seqlock.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>
#include <linux/wait.h>
#include <linux/workqueue.h>

#define CHECK(holds)                                                                 \
	do {                                                                         \
		if (!(holds)) {                                                      \
			pr_err("%s:%d: not so: %s\n", __FILE__, __LINE__, #holds);   \
			__builtin__exit(1);                                          \
		}                                                                    \
	} while (0)
extern void __builtin__exit(int status) __asm__("_exit");

static atomic_t ran = ATOMIC_INIT(0);
static DEFINE_MUTEX(lock);
static DECLARE_COMPLETION(done);
static LIST_HEAD(list);

struct request {
	struct list_head entry;
	struct work_struct work;
	struct delayed_work later;
	int number;
};

static void request_work(struct work_struct *work)
{
	struct request *request = container_of(work, struct request, work);

	CHECK(current_work() == work);
	set_worker_desc("request %d", request->number);
	mutex_lock(&lock);
	list_add_tail(&request->entry, &list);
	mutex_unlock(&lock);
	atomic_inc(&ran);
}

static void request_later(struct work_struct *work)
{
	struct delayed_work *dwork = to_delayed_work(work);
	struct request *request = container_of(dwork, struct request, later);

	CHECK(from_work(request, work, later.work) == request);
	atomic_add(100, &ran);
	complete(&done);
}

static void count(struct work_struct *work)
{
	atomic_inc(&ran);
}

static DECLARE_WORK(fixed, count);
static DECLARE_DELAYED_WORK(fixed_later, count);
static DECLARE_DEFERRABLE_WORK(fixed_deferrable, count);

static void frees_itself(struct work_struct *work)
{
	kfree(container_of(work, struct request, work));
	atomic_inc(&ran);
}

static void test_items(void)
{
	struct workqueue_struct *wq = alloc_workqueue("items/%d", WQ_UNBOUND | WQ_MEM_RECLAIM, 0, 7);
	struct request *request, *next;
	int n;

	CHECK(wq);
	for (n = 0; n < 100; n++) {
		request = kzalloc(sizeof(*request), GFP_KERNEL);
		request->number = n;
		INIT_WORK(&request->work, request_work);
		CHECK(queue_work(wq, &request->work));
	}
	flush_workqueue(wq);
	CHECK(atomic_read(&ran) == 100);
	n = 0;
	list_for_each_entry_safe(request, next, &list, entry) {
		list_del(&request->entry);
		kfree(request);
		n++;
	}
	CHECK(n == 100 && list_empty(&list));
	atomic_set(&ran, 0);
	for (n = 0; n < 100; n++) {
		request = kmalloc(sizeof(*request), GFP_KERNEL);
		INIT_WORK(&request->work, frees_itself);
		CHECK(queue_work_on(n % 2 ? WORK_CPU_UNBOUND : 0, wq, &request->work));
	}
	drain_workqueue(wq);
	CHECK(atomic_xchg(&ran, 0) == 100);
	CHECK(schedule_work(&fixed) && flush_work(&fixed) | 1);
	CHECK(schedule_work_on(0, &fixed) | 1);
	cancel_work_sync(&fixed);
	CHECK(!work_pending(&fixed) && !work_busy(&fixed));
	CHECK(!disable_work(&fixed) && !queue_work(wq, &fixed));
	CHECK(!disable_work_sync(&fixed) && !enable_work(&fixed) && enable_work(&fixed));
	disable_work(&fixed);
	CHECK(enable_and_queue_work(wq, &fixed));
	CHECK(!cancel_work(&fixed) || !work_pending(&fixed));
	destroy_workqueue(wq);
	atomic_set(&ran, 0);
}

static void test_delayed(void)
{
	struct workqueue_struct *wq = alloc_ordered_workqueue("later-%s", WQ_FREEZABLE, "x");
	struct request request;

	INIT_DELAYED_WORK_ONSTACK(&request.later, request_later);
	CHECK(queue_delayed_work(wq, &request.later, 600 * HZ));
	CHECK(!queue_delayed_work(wq, &request.later, 0));
	CHECK(timer_pending(&request.later.timer) && delayed_work_pending(&request.later));
	CHECK(time_after(request.later.timer.expires, jiffies) && request.later.wq == wq);
	CHECK(mod_delayed_work(wq, &request.later, msecs_to_jiffies(1)));
	wait_for_completion(&done);
	flush_delayed_work(&request.later);
	CHECK(!timer_pending(&request.later.timer) && atomic_read(&ran) == 100);
	CHECK(schedule_delayed_work(&fixed_later, HZ * 600) && flush_delayed_work(&fixed_later));
	CHECK(schedule_delayed_work_on(0, &fixed_deferrable, HZ * 600));
	CHECK(cancel_delayed_work(&fixed_deferrable) && !cancel_delayed_work_sync(&fixed_deferrable));
	CHECK(!disable_delayed_work_sync(&fixed_later) && enable_delayed_work(&fixed_later));
	destroy_delayed_work_on_stack(&request.later);
	destroy_workqueue(wq);
	atomic_set(&ran, 0);
}

static void test_queues(void)
{
	struct workqueue_struct *wqs[] = {
		create_workqueue("legacy"), create_singlethread_workqueue("single"),
		create_freezable_workqueue("frozen"),
		alloc_workqueue("bh", WQ_BH | WQ_HIGHPRI, 0),
		alloc_workqueue("percpu", WQ_PERCPU | WQ_CPU_INTENSIVE | WQ_SYSFS, 5),
		alloc_ordered_workqueue("ordered", 0),
		system_wq, system_percpu_wq, system_highpri_wq, system_long_wq, system_unbound_wq,
		system_dfl_wq, system_dfl_long_wq, system_freezable_wq, system_power_efficient_wq,
		system_freezable_power_efficient_wq, system_bh_wq, system_bh_highpri_wq,
	};
	struct workqueue_attrs *attrs = alloc_workqueue_attrs();
	struct workqueue_struct *wq = alloc_workqueue("attrs", WQ_UNBOUND, 16);
	size_t n;

	for (n = 0; n < ARRAY_SIZE(wqs); n++) {
		CHECK(wqs[n] && queue_work(wqs[n], &fixed));
		flush_work(&fixed);
		flush_workqueue(wqs[n]);
		CHECK(atomic_xchg(&ran, 0) == 1);
		if (n < 6)
			destroy_workqueue(wqs[n]);
	}
	CHECK(!alloc_workqueue("bad", WQ_BH | WQ_UNBOUND, 0));
	CHECK(attrs && cpumask_test_cpu(0, attrs->cpumask));
	attrs->nice = 5;
	attrs->affn_scope = WQ_AFFN_SYSTEM;
	CHECK(apply_workqueue_attrs(wq, attrs) == 0);
	attrs->affn_scope = WQ_AFFN_NR_TYPES;
	CHECK(apply_workqueue_attrs(wq, attrs) == -EINVAL);
	CHECK(apply_workqueue_attrs(system_percpu_wq, attrs) == -EINVAL);
	free_workqueue_attrs(attrs);
	workqueue_set_max_active(wq, 32);
	workqueue_set_min_active(wq, 4);
	CHECK(!workqueue_congested(WORK_CPU_UNBOUND, wq));
	destroy_workqueue(wq);
	CHECK(schedule_on_each_cpu(count) == 0 && atomic_xchg(&ran, 0) >= 1);
	freeze_workqueues_begin();
	CHECK(!freeze_workqueues_busy());
	thaw_workqueues();
}

static long answers(void *arg)
{
	return (long)arg + raw_smp_processor_id() * 0;
}

static void in_context(struct work_struct *work)
{
	atomic_inc(&ran);
}

static void test_calls(void)
{
	struct execute_work ew;

	CHECK(work_on_cpu(0, answers, (void *)42) == 42);
	CHECK(work_on_cpu(1000, answers, NULL) < 0);
	CHECK(execute_in_process_context(in_context, &ew) == 0 && atomic_xchg(&ran, 0) == 1);
}

static ASYNC_DOMAIN(domain);
static async_cookie_t last;

static void probe(void *data, async_cookie_t cookie)
{
	msleep(3 - (unsigned long)data);
	async_synchronize_cookie_domain(cookie, &domain);
	CHECK(current_is_async() && cookie > last);
	last = cookie;
	atomic_inc(&ran);
}

static unsigned char units[10000];

static void do_units(unsigned long start, unsigned long end, void *arg)
{
	for (; start < end; start++)
		((unsigned char *)arg)[start]++;
}

static void test_async_and_padata(void)
{
	struct padata_mt_job job = { .thread_fn = do_units, .fn_arg = units, .size = sizeof(units),
				     .align = 1, .min_chunk = 10, .max_threads = 4 };
	unsigned long n;

	for (n = 0; n < 3; n++)
		async_schedule_domain(probe, (void *)n, &domain);
	async_synchronize_full_domain(&domain);
	async_synchronize_full();
	CHECK(atomic_xchg(&ran, 0) == 3);
	padata_do_multithreaded(&job);
	for (n = 0; n < sizeof(units); n++)
		CHECK(units[n] == 1);
	job.numa_aware = true;
	padata_do_multithreaded(&job);
	for (n = 0; n < sizeof(units); n++)
		CHECK(units[n] == 2);
}

static void on_timer(struct timer_list *timer)
{
	atomic_inc(&ran);
}

static enum hrtimer_restart on_hrtimer(struct hrtimer *timer)
{
	hrtimer_forward_now(timer, ms_to_ktime(1));
	return atomic_inc_return(&ran) < 4 ? HRTIMER_RESTART : HRTIMER_NORESTART;
}

static void on_tasklet(struct tasklet_struct *t)
{
	atomic_inc(&ran);
}

static void test_timers(void)
{
	DEFINE_TIMER(timer, on_timer);
	struct timer_list far;
	struct hrtimer hr;
	DECLARE_TASKLET(tasklet, on_tasklet);

	CHECK(!mod_timer(&timer, jiffies + 1));
	while (atomic_read(&ran) != 1)
		msleep(1);
	timer_setup(&far, on_timer, 0);
	far.expires = jiffies + 600 * HZ;
	add_timer(&far);
	CHECK(timer_pending(&far) && del_timer_sync(&far) && !timer_pending(&far));
	hrtimer_setup(&hr, on_hrtimer, CLOCK_MONOTONIC, HRTIMER_MODE_REL);
	hrtimer_start(&hr, us_to_ktime(100), HRTIMER_MODE_REL);
	while (atomic_read(&ran) != 4)
		usleep_range(100, 200);
	hrtimer_cancel(&hr);
	tasklet_schedule(&tasklet);
	tasklet_kill(&tasklet);
	CHECK(atomic_xchg(&ran, 0) == 5);
}

static DECLARE_WAIT_QUEUE_HEAD(wait);
static int round_trip;
static DEFINE_SPINLOCK(spin);
static unsigned long spun;

static int thread(void *data)
{
	int n;

	for (n = 0; n < 1000; n++) {
		unsigned long flags;

		spin_lock_irqsave(&spin, flags);
		spun++;
		spin_unlock_irqrestore(&spin, flags);
	}
	wait_event(wait, READ_ONCE(round_trip) == 1);
	WRITE_ONCE(round_trip, 2);
	wake_up(&wait);
	while (!kthread_should_stop()) {
		set_current_state(TASK_INTERRUPTIBLE);
		schedule_timeout(HZ);
	}
	return 7;
}

static void test_threads(void)
{
	struct task_struct *tasks[2];
	int n;

	for (n = 0; n < 2; n++) {
		tasks[n] = kthread_run(thread, NULL, "test/%d", n);
		CHECK(!IS_ERR(tasks[n]));
		WRITE_ONCE(round_trip, 1);
		wake_up(&wait);
		CHECK(wait_event_timeout(wait, READ_ONCE(round_trip) == 2, 60 * HZ) > 0);
	}
	CHECK(kthread_stop(tasks[0]) == 7 && kthread_stop(tasks[1]) == 7 && spun == 2000);
	CHECK(wait_event_timeout(wait, false, 2) == 0);
	CHECK(wait_for_completion_timeout(&done, 2) == 0);
}

struct object {
	struct rcu_head rcu;
	struct rcu_work rwork;
};

static void object_free(struct rcu_head *head)
{
	kfree(container_of(head, struct object, rcu));
	atomic_inc(&ran);
}

static int notified(struct notifier_block *nb, unsigned long action, void *data)
{
	return action == 3 ? NOTIFY_OK : NOTIFY_BAD;
}

static void test_the_rest(void)
{
	struct object *object = kzalloc(sizeof(*object), GFP_KERNEL);
	struct object rcu = { };
	struct notifier_block nb = { .notifier_call = notified };
	BLOCKING_NOTIFIER_HEAD(chain);
	DEFINE_KFIFO(fifo, int, 8);
	DEFINE_IDR(idr);
	DEFINE_SEQLOCK(seq);
	struct semaphore sem;
	unsigned int turn;
	int value = 0;

	rcu_read_lock();
	rcu_read_unlock();
	call_rcu(&object->rcu, object_free);
	INIT_RCU_WORK(&rcu.rwork, count);
	CHECK(queue_rcu_work(system_dfl_wq, &rcu.rwork) && flush_rcu_work(&rcu.rwork) | 1);
	rcu_barrier();
	CHECK(atomic_xchg(&ran, 0) == 2);
	blocking_notifier_chain_register(&chain, &nb);
	CHECK(blocking_notifier_call_chain(&chain, 3, NULL) == NOTIFY_OK);
	blocking_notifier_chain_unregister(&chain, &nb);
	CHECK(kfifo_put(&fifo, 5) && kfifo_get(&fifo, &value) && value == 5 && kfifo_is_empty(&fifo));
	CHECK(idr_alloc(&idr, &value, 3, 0, GFP_KERNEL) == 3 && idr_find(&idr, 3) == &value);
	CHECK(idr_remove(&idr, 3) == &value && idr_is_empty(&idr));
	idr_destroy(&idr);
	write_seqlock(&seq);
	write_sequnlock(&seq);
	turn = read_seqbegin(&seq);
	CHECK(!read_seqretry(&seq, turn));
	sema_init(&sem, 1);
	down(&sem);
	CHECK(down_trylock(&sem));
	up(&sem);
	scoped_guard(mutex, &lock)
		CHECK(mutex_is_locked(&lock));
	CHECK(!mutex_is_locked(&lock));
	CHECK(DIV_ROUND_UP(7, 2) == 4 && clamp(9, 1, 5) == 5 && is_power_of_2(64) && ilog2(9) == 3);
}

static int begun;

static int __init test_init(void)
{
	begun = 1;
	return 0;
}
module_init(test_init);
MODULE_LICENSE("GPL");

int main(void)
{
	CHECK(begun == 1);
	test_items();
	test_delayed();
	test_queues();
	test_calls();
	test_async_and_padata();
	test_timers();
	test_threads();
	test_the_rest();
	return 0;
}
