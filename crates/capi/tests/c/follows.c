/*
 * What the library lets follow what, seen through data that nothing else guards. ThreadSanitizer
 * must find no race here; with the argument "race" there is one, which it must find.
 */
#include <cmwq.h>

#include <string.h>

#include "check.h"

#define ITEMS 200

static unsigned long counter, hooked;
static struct cmwq_work works[ITEMS];

static void count(struct cmwq_work *work)
{
	(void)work;
	counter++;
}

static void count_slowly(struct cmwq_work *work)
{
	counter++;
	sleep_ms(1);
	counter++;
	(void)work;
}

static struct cmwq_queue *new_queue(unsigned kind, int max_active, unsigned flags)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_queue *queue = NULL;

	options.kind = kind;
	options.max_active = max_active;
	options.flags = flags;
	EQUAL(cmwq_queue_create("follows", &options, &queue), 0);
	return queue;
}

static void init(cmwq_work_fn func)
{
	size_t n;

	counter = 0;
	for (n = 0; n < ITEMS; n++)
		cmwq_work_init(&works[n], func);
}

/* Its executions follow each other, whoever queues it, and on whatever thread they are. */
static void test_one_item(struct cmwq_queue *queue)
{
	struct cmwq_work work;
	unsigned long n, queued = 0;

	counter = 0;
	cmwq_work_init(&work, count_slowly);
	for (n = 0; n < ITEMS; n++) {
		queued += cmwq_queue_work(n % 2 ? queue : CMWQ_SYSTEM, &work) == 1;
		sleep_ms(n % 4 == 0);
	}
	CHECK(cmwq_work_flush(&work) >= 0);
	EQUAL(counter, 2 * queued);
	EQUAL(cmwq_queue_work(queue, &work), 1);
	CHECK(cmwq_work_cancel_sync(&work) >= 0);
	counter = 0;
	cmwq_work_destroy(&work);
}

static unsigned long ran;

static void count_and_tell(struct cmwq_work *work)
{
	counter++;
	(void)work;
	__atomic_fetch_add(&ran, 1, __ATOMIC_RELAXED);
}

static void sleep_a_while(void *arg)
{
	(void)arg;
	sleep_ms(20);
}

/* The same on another worker each time: the last one is asleep in something else. */
static void test_series_of_workers(struct cmwq_queue *queue, int cpu)
{
	unsigned long n;

	init(count_and_tell);
	__atomic_store_n(&ran, 0, __ATOMIC_RELAXED);
	for (n = 0; n < 8; n++) {
		EQUAL(cmwq_queue_work_on(cpu, queue, &works[n]), 1);
		AWAIT(__atomic_load_n(&ran, __ATOMIC_RELAXED) == n + 1);
		EQUAL(cmwq_submit(CMWQ_SYSTEM, sleep_a_while, NULL), 0);
		EQUAL(cmwq_submit(CMWQ_SYSTEM_PERCPU, sleep_a_while, NULL), 0);
		EQUAL(cmwq_submit(CMWQ_SYSTEM_UNMANAGED, sleep_a_while, NULL), 0);
	}
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(counter, 8);
}

/* Items that run one at a time follow each other. */
static void test_series(struct cmwq_queue *queue, int cpu)
{
	unsigned long n;

	init(count);
	for (n = 0; n < ITEMS; n++)
		EQUAL(cmwq_queue_work_on(cpu, queue, &works[n]), 1);
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(counter, ITEMS);
	init(count_slowly);
	for (n = 0; n < ITEMS / 10; n++)
		EQUAL(cmwq_queue_work_on(cpu, queue, &works[n]), 1);
	EQUAL(cmwq_queue_drain(queue), 0);
	EQUAL(counter, 2 * (ITEMS / 10));
}

static void test_kinds(void)
{
	static const unsigned kinds[] = { CMWQ_ORDERED, CMWQ_MANAGED, CMWQ_FIFO, CMWQ_UNMANAGED,
					  CMWQ_PERCPU, CMWQ_BH };
	size_t n;

	for (n = 0; n < sizeof(kinds) / sizeof(kinds[0]); n++) {
		unsigned kind = kinds[n];
		int limited = kind != CMWQ_ORDERED && kind != CMWQ_BH;
		int on_cpu = kind == CMWQ_PERCPU || kind == CMWQ_BH;
		unsigned exact = kind == CMWQ_MANAGED || kind == CMWQ_UNMANAGED ? CMWQ_EXACT : 0;
		struct cmwq_queue *queue = new_queue(kind, limited, exact);

		test_series(queue, on_cpu ? 0 : -1);
		test_series_of_workers(queue, on_cpu ? 0 : -1);
		if (kind != CMWQ_BH)
			test_one_item(queue);
		EQUAL(cmwq_queue_destroy(queue), 0);
	}
}

/* What was done before an item was queued is seen in it, also if it was queued already. */
static void test_frozen(void)
{
	struct cmwq_queue *queue = new_queue(CMWQ_ORDERED, 0, CMWQ_FREEZABLE);
	unsigned long n;

	init(count_slowly);
	for (n = 0; n < 10; n++)
		EQUAL(cmwq_queue_work(queue, &works[n]), 1);
	EQUAL(cmwq_freeze(), 0);
	AWAIT(!cmwq_freezing());
	counter = 1000;
	EQUAL(cmwq_queue_work(queue, &works[n]), 1);
	EQUAL(cmwq_queue_work(queue, &works[n]), 0);
	EQUAL(cmwq_thaw(), 0);
	EQUAL(cmwq_queue_destroy(queue), 0);
	CHECK(counter > 1000);
}

static void add(void *arg)
{
	counter++;
	(void)arg;
}

static void add_in_turn(void *arg, uint64_t cookie)
{
	CHECK(cmwq_async_synchronize_cookie((struct cmwq_async_domain *)arg, cookie) >= 0);
	counter++;
}

static void test_calls(void)
{
	static struct cmwq_async_domain domain;
	struct cmwq_queue *queue = new_queue(CMWQ_ORDERED, 0, 0);
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);
	int n;

	counter = 0;
	for (n = 0; n < ITEMS; n++)
		EQUAL(cmwq_submit(queue, add, NULL), 0);
	EQUAL(cmwq_queue_delayed_work(queue, &work, 1000000), 1);
	CHECK(cmwq_delayed_work_flush(&work) >= 0);
	EQUAL(counter, ITEMS + 1);
	EQUAL(cmwq_queue_destroy(queue), 0);
	for (n = 0; n < 20; n++)
		CHECK(cmwq_async_schedule(&domain, add_in_turn, &domain) > 0);
	CHECK(cmwq_async_synchronize_full(&domain) >= 0);
	EQUAL(counter, ITEMS + 21);
}

static unsigned char done[20000];

static void do_units(unsigned long start, unsigned long end, void *arg)
{
	CHECK(arg == &counter && counter == 5);
	for (; start < end; start++)
		done[start]++;
}

static void see_done(unsigned long to, unsigned long size, void *arg)
{
	CHECK(arg == &counter && to <= size);
}

static int is_cancelled(void *arg)
{
	return *(unsigned long *)arg != 5;
}

static void undo_units(unsigned long start, unsigned long end, void *arg)
{
	(void)arg;
	for (; start < end; start++)
		EQUAL(done[start]--, 1);
}

static int fail_late(unsigned long start, unsigned long end, void *arg)
{
	if (end > sizeof(done) - 1000)
		return -1;
	do_units(start, end, arg);
	return 0;
}

static void test_job(void)
{
	struct cmwq_job job;
	size_t n;

	memset(&job, 0, sizeof(job));
	memset(done, 0, sizeof(done));
	counter = 5;
	job.struct_size = sizeof(job);
	job.size = sizeof(done);
	job.min_chunk = 100;
	job.arg = &counter;
	job.func = do_units;
	job.progress = see_done;
	job.cancelled = is_cancelled;
	EQUAL(cmwq_run_job(&job), 0);
	for (n = 0; n < sizeof(done); n++)
		EQUAL(done[n]--, 1);
	job.func = NULL;
	job.try_func = fail_late;
	job.undo = undo_units;
	EQUAL(cmwq_run_job(&job), -1);
	for (n = 0; n < sizeof(done); n++)
		EQUAL(done[n], 0);
}

static void hook(const struct cmwq_report *report, void *arg)
{
	(void)report;
	CHECK(*(unsigned long *)arg == 7);
}

static int misused;

static void misuse(struct cmwq_work *work)
{
	(void)work;
	CHECK(cmwq_queue_work(CMWQ_SYSTEM, NULL) < 0);
	__atomic_store_n(&misused, 1, __ATOMIC_RELAXED);
}

static void test_hook(void)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(misuse);

	/* It is queued before the hook is set, and looked at in no other call before it has begun. */
	EQUAL(cmwq_queue_delayed_work(CMWQ_SYSTEM, &work, 20000000), 1);
	hooked = 7;
	EQUAL(cmwq_set_report_hook(hook, &hooked), 0);
	AWAIT(__atomic_load_n(&misused, __ATOMIC_RELAXED));
	CHECK(cmwq_delayed_work_flush(&work) >= 0);
}

static void count_together(struct cmwq_work *work)
{
	static int together;

	(void)work;
	/* Guards nothing, so neither follows the other. */
	__atomic_fetch_add(&together, 1, __ATOMIC_RELAXED);
	AWAIT(__atomic_load_n(&together, __ATOMIC_RELAXED) == 2);
	counter++;
}

/* Two items at once, which share a counter. */
static int race(void)
{
	struct cmwq_queue *queue = new_queue(CMWQ_UNMANAGED, 2, 0);

	init(count_together);
	EQUAL(cmwq_queue_work(queue, &works[0]), 1);
	EQUAL(cmwq_queue_work(queue, &works[1]), 1);
	EQUAL(cmwq_queue_destroy(queue), 0);
	return 0;
}

int main(int argc, char **argv)
{
	int round;

	if (argc > 1 && !strcmp(argv[1], "race"))
		return race();
	for (round = 0; round < 3; round++) {
		test_kinds();
		test_frozen();
		test_calls();
		test_job();
	}
	/* Where misuse is checked it ends the program. */
	if (!getenv("CMWQ_CHECKED"))
		test_hook();
	/* What has ended is seen by who shuts down. */
	counter = 0;
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &works[0]), 1);
	EQUAL(cmwq_shutdown(60000000000ull, NULL), 0);
	EQUAL(counter, 2);
	return 0;
}
