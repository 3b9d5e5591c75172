/*
 * The calls of the oracle's scripts, by the kernel's names. tests/oracle.rs loads it. All have one
 * type, so that they are found by name.
 */
#include <linux/delay.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <linux/workqueue.h>

struct item {
	struct delayed_work dwork;
	long id;
};

void (*o_execute)(long id);

/* Several functions that do the same: their address is what tells items apart. */
#define FUNC(name)                                                                   \
	static void name(struct work_struct *work)                                   \
	{                                                                            \
		o_execute(container_of(to_delayed_work(work), struct item, dwork)->id); \
		barrier();                                                           \
		(void)#name;                                                         \
	}
FUNC(first)
FUNC(second)
FUNC(third)
static work_func_t funcs[] = { first, second, third };

#define CALL(name) \
	long o_##name(void *p, void *q, long a, long b); \
	long o_##name(void *p, void *q, long a, long b)
#define WQ ((struct workqueue_struct *)p)
#define ITEM ((struct item *)q)
#define WORK (&ITEM->dwork.work)
#define DWORK (&ITEM->dwork)

CALL(item_new)
{
	struct item *item = q ? q : kzalloc(sizeof(*item), GFP_KERNEL);

	item->id = a;
	INIT_DELAYED_WORK(&item->dwork, funcs[b % 3]);
	return (long)item;
}
CALL(item_free)
{
	memset(ITEM, 0xa5, sizeof(struct item));
	kfree(ITEM);
	return 0;
}
/* Scripts that wait by the clock may be early on a busy machine: never while it is queued. */
CALL(reinit)
{
	for (int i = 0; i < 10000 && delayed_work_pending(DWORK); i++)
		usleep_range(1000, 1000);
	INIT_DELAYED_WORK(DWORK, first);
	return 0;
}
CALL(set_func)
{
	WORK->func = funcs[a % 3];
	return 0;
}
CALL(queue_work) { return queue_work(WQ, WORK); }
CALL(queue_work_on) { return queue_work_on((int)a, WQ, WORK); }
CALL(queue_work_node) { return queue_work_node((int)a, WQ, WORK); }
CALL(queue_delayed_work)
{
	return a < 0 ? queue_delayed_work(WQ, DWORK, (unsigned long)b) :
		       queue_delayed_work_on((int)a, WQ, DWORK, (unsigned long)b);
}
CALL(mod_delayed_work)
{
	return a < 0 ? mod_delayed_work(WQ, DWORK, (unsigned long)b) :
		       mod_delayed_work_on((int)a, WQ, DWORK, (unsigned long)b);
}
CALL(enable_and_queue_work) { return enable_and_queue_work(WQ, WORK); }
CALL(flush_work) { return flush_work(WORK); }
CALL(flush_delayed_work) { return flush_delayed_work(DWORK); }
CALL(cancel_work) { return cancel_work(WORK); }
CALL(cancel_work_sync) { return cancel_work_sync(WORK); }
CALL(cancel_delayed_work) { return cancel_delayed_work(DWORK); }
CALL(cancel_delayed_work_sync) { return cancel_delayed_work_sync(DWORK); }
CALL(disable_work) { return disable_work(WORK); }
CALL(disable_work_sync) { return disable_work_sync(WORK); }
CALL(enable_work) { return enable_work(WORK); }
CALL(disable_delayed_work) { return disable_delayed_work(DWORK); }
CALL(disable_delayed_work_sync) { return disable_delayed_work_sync(DWORK); }
CALL(enable_delayed_work) { return enable_delayed_work(DWORK); }
CALL(work_pending) { return work_pending(WORK); }
CALL(delayed_work_pending) { return delayed_work_pending(DWORK); }
CALL(timer_pending) { return timer_pending(&DWORK->timer); }
CALL(work_busy) { return work_busy(WORK); }
CALL(flush_workqueue)
{
	flush_workqueue(WQ);
	return 0;
}
CALL(drain_workqueue)
{
	drain_workqueue(WQ);
	return 0;
}
CALL(destroy_workqueue)
{
	destroy_workqueue(WQ);
	return 0;
}
CALL(workqueue_congested) { return workqueue_congested(a < 0 ? WORK_CPU_UNBOUND : (int)a, WQ); }
CALL(set_max_active)
{
	workqueue_set_max_active(WQ, (int)a);
	return 0;
}
CALL(set_min_active)
{
	workqueue_set_min_active(WQ, (int)a);
	return 0;
}
CALL(max_active) { return cmwq_queue_max_active((struct cmwq_queue *)p); }
/* q: the CPUs, or NULL. */
CALL(apply_attrs)
{
	struct workqueue_attrs *attrs = alloc_workqueue_attrs();
	long answer;

	attrs->nice = (int)a;
	if (q)
		memcpy(attrs->cpumask, q, sizeof(struct cpumask));
	answer = apply_workqueue_attrs(WQ, attrs);
	free_workqueue_attrs(attrs);
	return answer;
}
CALL(system) { return (long)(a == 0 ? system_percpu_wq : a == 1 ? system_highpri_wq : system_dfl_wq); }
/* q: the name; a: flags, with the bits of wq_flags; b: max_active. */
CALL(alloc_workqueue)
{
	if (a & __WQ_ORDERED)
		return (long)alloc_ordered_workqueue("%s", (unsigned int)a & ~(unsigned int)__WQ_ORDERED,
						     (char *)q);
	return (long)alloc_workqueue("%s", (unsigned int)a, (int)b, (char *)q);
}
CALL(create_workqueue) { return (long)create_workqueue((char *)q); }
CALL(create_singlethread_workqueue) { return (long)create_singlethread_workqueue((char *)q); }
CALL(current_work)
{
	struct work_struct *work = current_work();

	return (long)(work ? container_of(to_delayed_work(work), struct item, dwork) : NULL);
}
CALL(is_rescuer) { return current_is_workqueue_rescuer(); }
CALL(set_worker_desc)
{
	set_worker_desc("%s", (char *)q);
	return 0;
}
CALL(freeze)
{
	freeze_workqueues_begin();
	return 0;
}
CALL(freeze_busy) { return freeze_workqueues_busy(); }
CALL(thaw)
{
	thaw_workqueues();
	return 0;
}
CALL(threshold)
{
	cmwq_set_cpu_intensive_threshold((uint64_t)a * 1000);
	return 0;
}
