/*
 * Odd and legal uses of the kernel's names, each judged by what the kernel does. Where cmwq differs
 * on purpose, docs/differences.md has a row.
 */
#include <linux/workqueue.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static struct workqueue_struct *wq, *other;
static int ran, inside, most_inside, stop;

/* What was said since it was last emptied. */
static char said[1 << 16];
static pthread_mutex_t said_lock = PTHREAD_MUTEX_INITIALIZER;

static void hook(const struct cmwq_report *report, void *arg)
{
	size_t length;

	(void)arg;
	pthread_mutex_lock(&said_lock);
	length = strlen(said);
	/* Many are refused while a queue is drained: what finds no room is left out. */
	snprintf(said + length, sizeof(said) - length, "%s\n", report->text);
	pthread_mutex_unlock(&said_lock);
}

static bool was_said(const char *text)
{
	bool was;

	pthread_mutex_lock(&said_lock);
	was = strstr(said, text) != NULL;
	*said = 0;
	pthread_mutex_unlock(&said_lock);
	return was;
}

static void enter(void)
{
	int now = ADD(inside, 1) + 1;

	while (now > LOAD(most_inside))
		STORE(most_inside, now);
}

static void leave(void)
{
	ADD(inside, -1);
}

static void count(struct work_struct *work)
{
	(void)work;
	enter();
	ADD(ran, 1);
	leave();
}

static void begin(void)
{
	STORE(ran, 0);
	STORE(most_inside, 0);
	STORE(stop, 0);
	was_said("");
}

struct many {
	struct work_struct work;
	struct workqueue_struct *on;
	int left;
};

static void queues_itself(struct work_struct *work)
{
	struct many *many = cmwq_container_of(work, struct many, work);

	enter();
	ADD(ran, 1);
	/* Pending was cleared before the function was called. */
	CHECK(!work_pending(work));
	if (many->left-- > 0)
		CHECK(queue_work(many->on, work));
	leave();
}

static void test_queues_itself(void)
{
	struct many many = { .on = wq, .left = 2000 };

	begin();
	INIT_WORK_ONSTACK(&many.work, queues_itself);
	CHECK(queue_work(wq, &many.work));
	drain_workqueue(wq);
	EQUAL(LOAD(ran), 2001);
	EQUAL(LOAD(most_inside), 1);
	CHECK(!flush_work(&many.work));
	destroy_work_on_stack(&many.work);
}

/* The next instance is on another queue each time. */
static void moves_on(struct work_struct *work)
{
	struct many *many = cmwq_container_of(work, struct many, work);

	enter();
	ADD(ran, 1);
	many->on = many->on == wq ? other : wq;
	if (many->left-- > 0)
		CHECK(queue_work(many->on, work));
	sleep_ms(0);
	leave();
}

static void test_moves_between_queues(void)
{
	struct many many = { .on = wq, .left = 500 };

	begin();
	INIT_WORK_ONSTACK(&many.work, moves_on);
	CHECK(queue_work(wq, &many.work));
	AWAIT(LOAD(ran) == 501);
	cancel_work_sync(&many.work);
	EQUAL(LOAD(most_inside), 1);
}

static void frees_itself(struct work_struct *work)
{
	ADD(ran, 1);
	memset((void *)work, 0x5a, sizeof(struct many));
	free(cmwq_container_of(work, struct many, work));
}

static void test_frees_itself(void)
{
	int n;

	begin();
	for (n = 0; n < 10000; n++) {
		struct many *many = (struct many *)malloc(sizeof(*many));

		INIT_WORK(&many->work, frees_itself);
		CHECK(queue_work(n % 2 ? wq : other, &many->work));
	}
	flush_workqueue(wq);
	flush_workqueue(other);
	EQUAL(LOAD(ran), 10000);
}

static struct work_struct of_other;

static void flushes(struct work_struct *work)
{
	/* Itself: that would never end. Others may be waited for. */
	CHECK(!flush_work(work));
	CHECK(was_said("flush_work"));
	CHECK(queue_work(other, &of_other));
	flush_work(&of_other);
	CHECK(!(work_busy(&of_other)));
	EQUAL(work_busy(work), WORK_BUSY_RUNNING);
	CHECK(current_work() == work);
	flush_workqueue(wq);
	CHECK(was_said("flush_workqueue"));
	ADD(ran, 1);
}

static void test_flushes_from_its_own_function(void)
{
	DECLARE_WORK(work, flushes);

	begin();
	INIT_WORK(&of_other, count);
	CHECK(queue_work(wq, &work));
	AWAIT(LOAD(ran) == 2);
	flush_work(&work);
}

static void test_queue_is_destroyed_with_armed_items(void)
{
	struct workqueue_struct *gone = alloc_workqueue("gone", WQ_UNBOUND, 0);
	struct delayed_work dwork[3];
	int n;

	begin();
	for (n = 0; n < 3; n++) {
		INIT_DELAYED_WORK_ONSTACK(&dwork[n], count);
		CHECK(queue_delayed_work(gone, &dwork[n], 3600 * HZ));
	}
	destroy_workqueue(gone);
	EQUAL(LOAD(ran), 0);
	for (n = 0; n < 3; n++) {
		CHECK(!delayed_work_pending(&dwork[n]));
		CHECK(!queue_delayed_work(gone, &dwork[n], 1));
		CHECK(queue_delayed_work(wq, &dwork[n], 1));
		CHECK(flush_delayed_work(&dwork[n]) || !delayed_work_pending(&dwork[n]));
		cancel_delayed_work_sync(&dwork[n]);
	}
	EQUAL(LOAD(ran), 3);
}

static struct delayed_work stormed;

static void slow(struct work_struct *work)
{
	(void)work;
	enter();
	ADD(ran, 1);
	sleep_ms(1);
	leave();
}

static void *storms(void *arg)
{
	unsigned int seed = (unsigned int)(uintptr_t)arg;
	int n;

	for (n = 0; n < 5000; n++)
		mod_delayed_work(n % 3 ? wq : other, &stormed, (unsigned int)rand_r(&seed) % 3);
	return NULL;
}

static void in_threads(int threads, void *(*body)(void *))
{
	pthread_t all[16];
	int n;

	for (n = 0; n < threads; n++)
		CHECK(!pthread_create(&all[n], NULL, body, (void *)(uintptr_t)n));
	for (n = 0; n < threads; n++)
		CHECK(!pthread_join(all[n], NULL));
}

static void test_mod_delayed_work_storm(void)
{
	begin();
	INIT_DELAYED_WORK(&stormed, slow);
	in_threads(4, storms);
	mod_delayed_work(wq, &stormed, 3600 * HZ);
	CHECK(delayed_work_pending(&stormed));
	CHECK(mod_delayed_work(wq, &stormed, 0));
	flush_delayed_work(&stormed);
	CHECK(!cancel_delayed_work_sync(&stormed));
	CHECK(!mod_delayed_work(wq, &stormed, 3600 * HZ));
	CHECK(cancel_delayed_work_sync(&stormed));
	CHECK(!delayed_work_pending(&stormed));
	CHECK(LOAD(ran) > 0);
	EQUAL(LOAD(most_inside), 1);
}

static void requeues_for_ever(struct work_struct *work)
{
	enter();
	ADD(ran, 1);
	queue_work(wq, work);
	leave();
}

static void *cancels_for_ever(void *arg)
{
	struct work_struct *work = &of_other;
	int n;

	(void)arg;
	for (n = 0; n < 500; n++) {
		queue_work(wq, work);
		cancel_work_sync(work);
	}
	return NULL;
}

static void test_two_threads_cancel(void)
{
	begin();
	INIT_WORK(&of_other, requeues_for_ever);
	CHECK(queue_work(wq, &of_other));
	in_threads(2, cancels_for_ever);
	cancel_work_sync(&of_other);
	EQUAL(work_busy(&of_other), 0);
	CHECK(!cancel_work_sync(&of_other));
	/* Each may have been cancelled before it began. */
	CHECK(LOAD(most_inside) <= 1);
	CHECK(queue_work(wq, &of_other));
	cancel_work_sync(&of_other);
}

static void test_enable_without_disable(void)
{
	DECLARE_WORK(work, count);

	begin();
	CHECK(enable_work(&work));
	CHECK(was_said("enable"));
	CHECK(queue_work(wq, &work));
	flush_work(&work);
	EQUAL(LOAD(ran), 1);
	/* Nested, and what is refused is forgotten. */
	CHECK(!disable_work(&work) && !disable_work_sync(&work));
	CHECK(!queue_work(wq, &work) && !work_pending(&work));
	CHECK(!enable_work(&work));
	CHECK(!queue_work(wq, &work));
	CHECK(enable_and_queue_work(wq, &work));
	flush_work(&work);
	EQUAL(LOAD(ran), 2);
	/* INIT_WORK takes all disables back. */
	disable_work(&work);
	INIT_WORK(&work, count);
	CHECK(queue_work(wq, &work));
	flush_work(&work);
	EQUAL(LOAD(ran), 3);
}

static void add_ten(struct work_struct *work)
{
	(void)work;
	ADD(ran, 10);
}

static void test_item_is_used_again(void)
{
	struct delayed_work dwork;
	struct work_struct work;
	int n;

	begin();
	INIT_WORK_ONSTACK(&work, count);
	for (n = 0; n < 200; n++) {
		queue_work(wq, &work);
		cancel_work_sync(&work);
		INIT_WORK(&work, n % 2 ? count : add_ten);
		STORE(ran, 0);
		CHECK(queue_work(other, &work));
		CHECK(flush_work(&work) || !work_busy(&work));
		EQUAL(LOAD(ran), n % 2 ? 1 : 10);
	}
	/* The same memory as another sort of item. */
	INIT_DELAYED_WORK_ONSTACK(&dwork, count);
	CHECK(queue_delayed_work(wq, &dwork, 3600 * HZ));
	CHECK(cancel_delayed_work_sync(&dwork));
	STORE(ran, 0);
	INIT_WORK(&dwork.work, add_ten);
	CHECK(queue_work(wq, &dwork.work));
	flush_work(&dwork.work);
	EQUAL(LOAD(ran), 10);
}

static long answers(void *arg)
{
	return (long)(uintptr_t)arg;
}

static void test_cpu_that_does_not_exist(void)
{
	int none[] = { 1023, 4095, INT_MAX };
	struct workqueue_struct *percpu = alloc_workqueue("percpu", WQ_PERCPU, 0);
	struct delayed_work dwork;
	DECLARE_WORK(work, count);
	size_t n;

	begin();
	INIT_DELAYED_WORK_ONSTACK(&dwork, count);
	for (n = 0; n < 3; n++) {
		CHECK(!queue_work_on(none[n], percpu, &work));
		CHECK(was_said("queue_work_on"));
		CHECK(!schedule_work_on(none[n], &work));
		CHECK(!queue_delayed_work_on(none[n], percpu, &dwork, HZ));
		CHECK(!delayed_work_pending(&dwork) && !work_pending(&work));
		EQUAL(work_on_cpu(none[n], answers, (void *)5), -ENODEV);
	}
	EQUAL(work_on_cpu(0, answers, (void *)5), 5);
	CHECK(queue_work_on(WORK_CPU_UNBOUND, percpu, &work));
	destroy_workqueue(percpu);
	EQUAL(LOAD(ran), 1);
}

static void test_attrs(void)
{
	struct workqueue_attrs *attrs = alloc_workqueue_attrs();
	struct workqueue_struct *percpu = alloc_workqueue("percpu", WQ_PERCPU, 0);
	struct workqueue_struct *ordered = alloc_ordered_workqueue("ordered", 0);
	DECLARE_WORK(work, count);

	begin();
	/* No CPU, or none that is there: all that may be used. */
	memset(attrs->cpumask, 0, sizeof(struct cmwq_cpus));
	EQUAL(apply_workqueue_attrs(wq, attrs), 0);
	CHECK(queue_work(wq, &work));
	flush_work(&work);
	((struct cmwq_cpus *)(void *)attrs->cpumask)->bits[15] = UINT64_C(1) << 63;
	EQUAL(apply_workqueue_attrs(wq, attrs), 0);
	CHECK(queue_work(wq, &work));
	flush_work(&work);
	EQUAL(LOAD(ran), 2);
	EQUAL(apply_workqueue_attrs(percpu, attrs), -EINVAL);
	EQUAL(apply_workqueue_attrs(ordered, attrs), 0);
	CHECK(queue_work(ordered, &work));
	flush_work(&work);
	EQUAL(LOAD(ran), 3);
	attrs->affn_scope = WQ_AFFN_NR_TYPES;
	EQUAL(apply_workqueue_attrs(wq, attrs), -EINVAL);
	attrs->affn_scope = WQ_AFFN_SYSTEM;
	attrs->affn_strict = true;
	memset(attrs->cpumask, 0xff, sizeof(struct cmwq_cpus));
	EQUAL(apply_workqueue_attrs(wq, attrs), 0);
	free_workqueue_attrs(attrs);
	free_workqueue_attrs(NULL);
	attrs = alloc_workqueue_attrs();
	EQUAL(apply_workqueue_attrs(wq, attrs), 0);
	free_workqueue_attrs(attrs);
	destroy_workqueue(percpu);
	destroy_workqueue(ordered);
}

static int max_of(struct workqueue_struct *of)
{
	return cmwq_queue_max_active((struct cmwq_queue *)of);
}

static void test_max_active(void)
{
	struct { int asked, got; } cases[] = {
		{ 0, 1024 }, { -1, 1 }, { INT_MIN, 1 }, { 2049, 2048 }, { INT_MAX, 2048 }, { 7, 7 },
	};
	size_t n;

	for (n = 0; n < sizeof(cases) / sizeof(*cases); n++) {
		struct workqueue_struct *made = alloc_workqueue("max", WQ_UNBOUND, cases[n].asked);

		CHECK(made);
		EQUAL(max_of(made), cases[n].got);
		workqueue_set_max_active(made, cases[n].asked);
		EQUAL(max_of(made), cases[n].asked ? cases[n].got : 1);
		destroy_workqueue(made);
	}
	was_said("");
	CHECK(!alloc_workqueue("bh", WQ_BH, 1));
	CHECK(!alloc_workqueue("bh", WQ_BH | WQ_UNBOUND, 0));
	CHECK(was_said("BH"));
}

static void test_names(void)
{
	struct workqueue_struct *made;
	char name[256];

	begin();
	made = alloc_workqueue("%s-%d-%c-%%", WQ_UNBOUND, 0, "name", -5, 'x');
	cmwq_queue_name((struct cmwq_queue *)made, name, sizeof(name));
	CHECK(!strcmp(name, "name--5-x-%"));
	destroy_workqueue(made);
	CHECK(!was_said("xceed"));
	/* The kernel keeps 31 characters, and says so. */
	made = alloc_workqueue("%s", WQ_UNBOUND, 0, "a-name-that-is-longer-than-the-kernel-keeps");
	cmwq_queue_name((struct cmwq_queue *)made, name, sizeof(name));
	CHECK(!strcmp(name, "a-name-that-is-longer-than-the-"));
	CHECK(was_said("a-name-that-is-longer-than-the-"));
	destroy_workqueue(made);
	made = alloc_ordered_workqueue("%s%s", 0, "an-ordered-one-with-a-name-", "as-long");
	cmwq_queue_name((struct cmwq_queue *)made, name, sizeof(name));
	EQUAL(strlen(name), 31);
	destroy_workqueue(made);
}

static void *makes_and_destroys(void *arg)
{
	int n;

	for (n = 0; n < 100; n++) {
		unsigned int flags = n % 3 ? WQ_UNBOUND : WQ_PERCPU | WQ_MEM_RECLAIM;
		struct workqueue_struct *mine = alloc_workqueue("of-%d", flags, n % 5, n);
		struct many many[4];
		int m;

		CHECK(mine);
		for (m = 0; m < 4; m++) {
			many[m].on = mine;
			many[m].left = m;
			INIT_WORK_ONSTACK(&many[m].work, queues_itself);
			CHECK(queue_work(mine, &many[m].work));
		}
		destroy_workqueue(mine);
		for (m = 0; m < 4; m++) {
			EQUAL(many[m].left, -1);
			destroy_work_on_stack(&many[m].work);
		}
	}
	(void)arg;
	return NULL;
}

static void test_queues_of_eight_threads(void)
{
	begin();
	in_threads(8, makes_and_destroys);
	EQUAL(LOAD(ran), 8 * 100 * 10);
}

/* Functions that nobody has queued before. */
#define NEW(name) static void name(struct work_struct *work) { count(work); }
NEW(new_0) NEW(new_1) NEW(new_2) NEW(new_3) NEW(new_4) NEW(new_5) NEW(new_6) NEW(new_7)

static work_func_t const new_ones[] = {
	new_0, new_1, new_2, new_3, new_4, new_5, new_6, new_7,
};

static pthread_barrier_t together;

static void *queues_the_new_ones(void *arg)
{
	size_t n;

	(void)arg;
	for (n = 0; n < sizeof(new_ones) / sizeof(*new_ones); n++) {
		struct work_struct work;

		INIT_WORK_ONSTACK(&work, new_ones[n]);
		pthread_barrier_wait(&together);
		CHECK(queue_work(wq, &work));
		flush_work(&work);
		destroy_work_on_stack(&work);
	}
	return NULL;
}

/* All threads ask for the name of the same function: it is kept once, and nothing leaks. */
static void test_new_functions_of_four_threads(void)
{
	begin();
	CHECK(!pthread_barrier_init(&together, NULL, 4));
	in_threads(4, queues_the_new_ones);
	CHECK(!pthread_barrier_destroy(&together));
	EQUAL(LOAD(ran), 4 * 8);
}

static void *on_its_stack(void *arg)
{
	int n;

	(void)arg;
	for (n = 0; n < 500; n++) {
		struct work_struct work;
		struct delayed_work dwork;

		INIT_WORK_ONSTACK(&work, count);
		INIT_DELAYED_WORK_ONSTACK(&dwork, count);
		CHECK(queue_work(n % 2 ? wq : system_percpu_wq, &work));
		CHECK(queue_delayed_work(wq, &dwork, 3600 * HZ));
		flush_work(&work);
		EQUAL(work_busy(&work), 0);
		CHECK(flush_delayed_work(&dwork) || !delayed_work_pending(&dwork));
		EQUAL(work_busy(&dwork.work), 0);
		destroy_work_on_stack(&work);
		destroy_delayed_work_on_stack(&dwork);
		memset(&work, 0x5a, sizeof(work));
		memset(&dwork, 0x5a, sizeof(dwork));
	}
	return NULL;
}

static void test_items_on_the_stack(void)
{
	begin();
	in_threads(4, on_its_stack);
	EQUAL(LOAD(ran), 4 * 1000);
}

/* The parent is in the middle of things; the child begins anew. */
static void test_child(void)
{
	DECLARE_WORK(work, requeues_for_ever);
	int status = -1;
	pid_t child;

	begin();
	CHECK(queue_work(wq, &work));
	child = fork();
	CHECK(child >= 0);
	if (!child) {
		struct workqueue_struct *mine = alloc_workqueue("child", WQ_UNBOUND, 1);
		DECLARE_WORK(its, count);
		struct delayed_work dwork;

		STORE(ran, 0);
		CHECK(!queue_work(wq, &its) && was_said("queue_work"));
		CHECK(queue_work(mine, &its));
		flush_work(&its);
		INIT_DELAYED_WORK_ONSTACK(&dwork, count);
		CHECK(schedule_delayed_work(&dwork, 1));
		flush_delayed_work(&dwork);
		EQUAL(LOAD(ran), 2);
		EQUAL(work_on_cpu(0, answers, (void *)6), 6);
		destroy_workqueue(mine);
		/* The parent's own is refused, and nothing hangs. */
		flush_workqueue(wq);
		destroy_workqueue(wq);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	cancel_work_sync(&work);
}

static int refused;

static void *queues_from_outside(void *arg)
{
	DECLARE_WORK(work, count);

	while (!LOAD(stop)) {
		if (!queue_work((struct workqueue_struct *)arg, &work))
			ADD(refused, 1);
		flush_work(&work);
	}
	cancel_work_sync(&work);
	return NULL;
}

static void queues_itself_slowly(struct work_struct *work)
{
	sleep_ms(1);
	queues_itself(work);
}

static void test_drain_lets_chains_end(void)
{
	struct many many = { .on = wq, .left = 50 };
	pthread_t thread;

	begin();
	CHECK(!pthread_create(&thread, NULL, queues_from_outside, wq));
	INIT_WORK_ONSTACK(&many.work, queues_itself_slowly);
	CHECK(queue_work(wq, &many.work));
	drain_workqueue(wq);
	EQUAL(many.left, -1);
	AWAIT(LOAD(refused) > 0);
	STORE(stop, 1);
	CHECK(!pthread_join(thread, NULL));
	/* The queue takes everything again. */
	many.left = 0;
	CHECK(queue_work(wq, &many.work));
	flush_work(&many.work);
}

static void arms_itself(struct work_struct *work)
{
	ADD(ran, 1);
	queue_delayed_work(wq, to_delayed_work(work), 1);
}

static void test_arms_itself(void)
{
	DECLARE_DELAYED_WORK(dwork, arms_itself);
	int at_end;

	begin();
	CHECK(schedule_delayed_work(&dwork, 0));
	AWAIT(LOAD(ran) >= 5);
	cancel_delayed_work_sync(&dwork);
	at_end = LOAD(ran);
	sleep_ms(20);
	EQUAL(LOAD(ran), at_end);
	CHECK(!delayed_work_pending(&dwork));
}

static void test_delays(void)
{
	unsigned long delays[] = { 1, HZ, LONG_MAX / 2, LONG_MAX, ULONG_MAX };
	DECLARE_DELAYED_WORK(dwork, count);
	size_t n;

	begin();
	for (n = 1; n < 5; n++) {
		CHECK(queue_delayed_work(wq, &dwork, delays[n]));
		/* The first one holds. */
		CHECK(!queue_delayed_work(other, &dwork, 0));
		CHECK(delayed_work_pending(&dwork));
		EQUAL(work_busy(&dwork.work), WORK_BUSY_PENDING);
		/* Of an armed timer flush_work knows nothing. */
		CHECK(!flush_work(&dwork.work));
		CHECK(mod_delayed_work(other, &dwork, delays[5 - n]));
		CHECK(cancel_delayed_work(&dwork));
		CHECK(!cancel_delayed_work(&dwork));
	}
	EQUAL(LOAD(ran), 0);
	CHECK(queue_delayed_work(wq, &dwork, ULONG_MAX));
	CHECK(flush_delayed_work(&dwork) || !delayed_work_pending(&dwork));
	EQUAL(LOAD(ran), 1);
}

static void modifies_itself(struct work_struct *work)
{
	struct delayed_work *dwork = to_delayed_work(work);

	/* It runs and is not pending: false, and it is armed again. */
	CHECK(!mod_delayed_work(wq, dwork, 3600 * HZ));
	CHECK(delayed_work_pending(dwork));
	EQUAL(work_busy(work), WORK_BUSY_PENDING | WORK_BUSY_RUNNING);
	CHECK(cancel_delayed_work(dwork));
	CHECK(!disable_delayed_work(dwork));
	CHECK(!mod_delayed_work(wq, dwork, 0) && !delayed_work_pending(dwork));
	CHECK(enable_delayed_work(dwork));
	ADD(ran, 1);
}

static void test_modifies_itself(void)
{
	DECLARE_DELAYED_WORK(dwork, modifies_itself);

	begin();
	CHECK(!mod_delayed_work(wq, &dwork, 0));
	flush_delayed_work(&dwork);
	EQUAL(LOAD(ran), 1);
	EQUAL(work_busy(&dwork.work), 0);
}

static void test_frozen(void)
{
	struct workqueue_struct *cold = alloc_workqueue("cold", WQ_UNBOUND | WQ_FREEZABLE, 0);
	DECLARE_WORK(one, count);
	DECLARE_WORK(two, count);

	begin();
	freeze_workqueues_begin();
	CHECK(queue_work(cold, &one) && queue_work(cold, &two));
	CHECK(!queue_work(cold, &one));
	AWAIT(!freeze_workqueues_busy());
	EQUAL(LOAD(ran), 0);
	CHECK(workqueue_congested(WORK_CPU_UNBOUND, cold));
	CHECK(cancel_work_sync(&two));
	thaw_workqueues();
	flush_work(&one);
	EQUAL(LOAD(ran), 1);
	EQUAL(work_busy(&two), 0);
	destroy_workqueue(cold);
}

static void on_each(struct work_struct *work)
{
	(void)work;
	EQUAL(schedule_on_each_cpu(count), 0);
	ADD(ran, 1000);
}

static void test_on_each_cpu_in_an_item(void)
{
	DECLARE_WORK(work, on_each);
	int cpus;

	begin();
	EQUAL(schedule_on_each_cpu(count), 0);
	cpus = LOAD(ran);
	CHECK(cpus >= 1);
	CHECK(schedule_work(&work));
	AWAIT(LOAD(ran) == 1000 + 2 * cpus);
	flush_work(&work);
}

static int order[8][500], place[8], overtaken;

struct numbered {
	struct work_struct work;
	int thread, number;
};

static void note_order(struct work_struct *work)
{
	struct numbered *it = cmwq_container_of(work, struct numbered, work);

	enter();
	if (place[it->thread] != it->number)
		ADD(overtaken, 1);
	order[it->thread][place[it->thread]++] = it->number;
	leave();
	free(it);
}

static struct workqueue_struct *in_order;

static void *queues_in_order(void *arg)
{
	int n;

	for (n = 0; n < 500; n++) {
		struct numbered *it = (struct numbered *)malloc(sizeof(*it));

		it->thread = (int)(uintptr_t)arg;
		it->number = n;
		INIT_WORK(&it->work, note_order);
		CHECK(queue_work(in_order, &it->work));
	}
	return NULL;
}

static void test_ordered_queue_keeps_each_threads_order(void)
{
	begin();
	in_order = alloc_ordered_workqueue("in-%s", WQ_MEM_RECLAIM, "order");
	/* What a driver must not do; it changes nothing. */
	workqueue_set_max_active(in_order, 8);
	CHECK(was_said("workqueue_set_max_active"));
	in_threads(4, queues_in_order);
	destroy_workqueue(in_order);
	EQUAL(overtaken, 0);
	EQUAL(LOAD(most_inside), 1);
	EQUAL(place[0] + place[1] + place[2] + place[3], 2000);
}

/* A flush waits for one instance, not for all that follow it. */
static void test_flush_of_an_endless_item_ends(void)
{
	DECLARE_WORK(work, requeues_for_ever);
	int n;

	begin();
	CHECK(queue_work(wq, &work));
	for (n = 0; n < 200; n++)
		flush_work(&work);
	flush_workqueue(wq);
	CHECK(LOAD(ran) > 0);
	cancel_work_sync(&work);
	EQUAL(work_busy(&work), 0);
}

static void *changes_the_limit(void *arg)
{
	int n;

	for (n = 0; n < 2000; n++) {
		workqueue_set_max_active((struct workqueue_struct *)arg, n % 7);
		if (n % 5 == 0)
			workqueue_set_min_active((struct workqueue_struct *)arg, n % 3);
	}
	STORE(stop, 1);
	return NULL;
}

static void test_limit_changes_all_the_time(void)
{
	struct workqueue_struct *mine = alloc_workqueue("limits", WQ_UNBOUND, 3);
	struct work_struct works[50];
	pthread_t thread;
	int n, queued = 0;

	begin();
	for (n = 0; n < 50; n++)
		INIT_WORK_ONSTACK(&works[n], count);
	CHECK(!pthread_create(&thread, NULL, changes_the_limit, mine));
	while (!LOAD(stop))
		for (n = 0; n < 50; n++)
			queued += queue_work(mine, &works[n]);
	CHECK(!pthread_join(thread, NULL));
	destroy_workqueue(mine);
	EQUAL(LOAD(ran), queued);
}

static void cancels_its_next(struct work_struct *work)
{
	CHECK(queue_work(wq, work));
	CHECK(!queue_work(wq, work));
	EQUAL(work_busy(work), WORK_BUSY_PENDING | WORK_BUSY_RUNNING);
	CHECK(cancel_work(work));
	CHECK(!cancel_work(work));
	/* In the kernel it would wait for itself. */
	CHECK(queue_work(wq, work));
	cancel_work_sync(work);
	CHECK(!work_pending(work));
	ADD(ran, 1);
}

static void test_cancels_its_next_instance(void)
{
	DECLARE_WORK(work, cancels_its_next);

	begin();
	CHECK(queue_work(wq, &work));
	AWAIT(LOAD(ran) == 1);
	flush_work(&work);
	sleep_ms(5);
	EQUAL(LOAD(ran), 1);
}

static void *disables(void *arg)
{
	int n;

	(void)arg;
	for (n = 0; n < 2000; n++) {
		disable_work_sync(&of_other);
		enable_and_queue_work(wq, &of_other);
	}
	return NULL;
}

static void test_many_disable_and_enable(void)
{
	begin();
	INIT_WORK(&of_other, count);
	in_threads(4, disables);
	CHECK(!was_said("not disabled"));
	cancel_work_sync(&of_other);
	CHECK(queue_work(wq, &of_other));
	flush_work(&of_other);
	CHECK(LOAD(ran) > 0);
	EQUAL(LOAD(most_inside), 1);
}

/* The same call, in a child that its own item has forked. */
static void forks(struct work_struct *work)
{
	pid_t child = fork();
	int status = -1;

	(void)work;
	if (!child) {
		DECLARE_WORK(its, count);

		STORE(ran, 0);
		CHECK(schedule_work(&its));
		flush_work(&its);
		_exit(LOAD(ran) == 1 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ADD(ran, 1);
}

static void test_forks_in_an_item(void)
{
	DECLARE_WORK(work, forks);

	begin();
	CHECK(queue_work(wq, &work));
	AWAIT(LOAD(ran) == 1);
	flush_work(&work);
}

#define TEST(name) { #name, test_##name, false }
#define FORKING_TEST(name) { #name, test_##name, true }
static const struct test { const char *name; void (*body)(void); bool forks; } tests[] = {
	TEST(queues_itself), TEST(moves_between_queues), TEST(frees_itself),
	TEST(flushes_from_its_own_function), TEST(queue_is_destroyed_with_armed_items),
	TEST(mod_delayed_work_storm), TEST(two_threads_cancel), TEST(enable_without_disable),
	TEST(item_is_used_again), TEST(cpu_that_does_not_exist), TEST(attrs), TEST(max_active),
	TEST(names), TEST(queues_of_eight_threads), TEST(new_functions_of_four_threads),
	TEST(items_on_the_stack), FORKING_TEST(child),
	TEST(drain_lets_chains_end), TEST(arms_itself), TEST(delays), TEST(modifies_itself),
	TEST(frozen), TEST(on_each_cpu_in_an_item), TEST(ordered_queue_keeps_each_threads_order),
	TEST(flush_of_an_endless_item_ends), TEST(limit_changes_all_the_time),
	TEST(cancels_its_next_instance), TEST(many_disable_and_enable), FORKING_TEST(forks_in_an_item),
};

static bool is_asked_for(const struct test *test, const char *which)
{
	if (!strcmp(which, "no-fork"))
		return !test->forks;
	return !strcmp(which, "all") || !strcmp(which, test->name);
}

/* `all`, `no-fork`, or the one that is named. */
int main(int argc, char **argv)
{
	const char *which = argc > 1 ? argv[1] : "all";
	size_t n;

	CHECK(!cmwq_set_report_hook(hook, NULL));
	wq = alloc_workqueue("odd", WQ_UNBOUND, 0);
	other = alloc_workqueue("other", WQ_PERCPU, 0);
	CHECK(wq && other);
	for (n = 0; n < sizeof(tests) / sizeof(*tests); n++) {
		if (!is_asked_for(&tests[n], which))
			continue;
		fprintf(stderr, "%s\n", tests[n].name);
		tests[n].body();
	}
	destroy_workqueue(wq);
	destroy_workqueue(other);
	return 0;
}
