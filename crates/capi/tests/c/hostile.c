/* Every function with values that no program should give: an error comes back, and all goes on. */
#include <cmwq.h>

#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define HOUR (UINT64_C(3600) * 1000 * 1000 * 1000)

static int ran;

static void count(struct cmwq_work *work)
{
	(void)work;
	ADD(ran, 1);
}

static void count_arg(void *arg)
{
	(void)arg;
	ADD(ran, 1);
}

static void count_call(void *data, uint64_t cookie)
{
	(void)data;
	(void)cookie;
	ADD(ran, 1);
}

static struct cmwq_work item = CMWQ_WORK_INITIALIZER(count);
static struct cmwq_queue *queue;

/* What is no queue, or no item, each with the result of the calls. */
static void test_queue_pointer(struct cmwq_queue *bad, int error)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_counts counts;
	char name[4];

	memset(&counts, 0, sizeof(counts));
	counts.size = sizeof(counts);
	EQUAL(cmwq_queue_work(bad, &item), error);
	EQUAL(cmwq_queue_work_on(0, bad, &item), error);
	EQUAL(cmwq_queue_work_node(0, bad, &item), error);
	EQUAL(cmwq_queue_delayed_work(bad, &item, 1), error);
	EQUAL(cmwq_queue_delayed_work_on(0, bad, &item, 1), error);
	EQUAL(cmwq_mod_delayed_work(bad, &item, 1), error);
	EQUAL(cmwq_mod_delayed_work_on(0, bad, &item, 1), error);
	EQUAL(cmwq_enable_and_queue_work(bad, &item), error);
	EQUAL(cmwq_submit(bad, count_arg, NULL), error);
	EQUAL(cmwq_on_each_cpu(bad, count), error);
	EQUAL(cmwq_queue_flush(bad), error);
	EQUAL(cmwq_queue_drain(bad), error);
	EQUAL(cmwq_queue_drain_for(bad, UINT64_MAX), error);
	EQUAL(cmwq_queue_congested(bad, 0), error);
	EQUAL(cmwq_queue_counts(bad, &counts), error);
	EQUAL(cmwq_queue_name(bad, name, sizeof(name)), error);
	EQUAL(cmwq_queue_max_active(bad), error);
	EQUAL(cmwq_queue_min_active(bad), error);
	EQUAL(cmwq_queue_set_max_active(bad, 1), error);
	EQUAL(cmwq_queue_set_min_active(bad, 1), error);
	EQUAL(cmwq_queue_get_attrs(bad, &options.attrs), error);
	EQUAL(cmwq_queue_apply_attrs(bad, &options.attrs), error);
	EQUAL(cmwq_queue_destroy(bad), error);
	EQUAL(cmwq_work_busy(&item), 0);
}

static void test_item_pointer(struct cmwq_work *bad)
{
	EQUAL(cmwq_queue_work(queue, bad), -EINVAL);
	EQUAL(cmwq_queue_work_on(0, queue, bad), -EINVAL);
	EQUAL(cmwq_queue_work_node(0, queue, bad), -EINVAL);
	EQUAL(cmwq_queue_delayed_work(queue, bad, 1), -EINVAL);
	EQUAL(cmwq_mod_delayed_work(queue, bad, 1), -EINVAL);
	EQUAL(cmwq_enable_and_queue_work(queue, bad), -EINVAL);
	EQUAL(cmwq_work_pending(bad), -EINVAL);
	EQUAL(cmwq_work_busy(bad), -EINVAL);
	EQUAL(cmwq_work_armed(bad), -EINVAL);
	EQUAL(cmwq_work_is_current(bad), -EINVAL);
	EQUAL(cmwq_work_flush(bad), -EINVAL);
	EQUAL(cmwq_delayed_work_flush(bad), -EINVAL);
	EQUAL(cmwq_work_cancel(bad), -EINVAL);
	EQUAL(cmwq_work_cancel_sync(bad), -EINVAL);
	EQUAL(cmwq_work_disable(bad), -EINVAL);
	EQUAL(cmwq_work_disable_sync(bad), -EINVAL);
	EQUAL(cmwq_work_enable(bad), -EINVAL);
}

static void test_pointers(void)
{
	struct cmwq_queue *gone = NULL;
	struct cmwq_work zero, garbage;
	size_t n;

	EQUAL(cmwq_queue_create("gone", NULL, &gone), 0);
	EQUAL(cmwq_queue_destroy(gone), 0);
	test_queue_pointer(gone, -ESHUTDOWN);
	for (n = 0; n < 64; n++)
		if (n == 0 || n > 13)
			test_queue_pointer(CMWQ_SYSTEM_QUEUE(n), -EINVAL);
	/* Within a queue, and something else. */
	for (n = 1; n < 8; n++)
		test_queue_pointer((struct cmwq_queue *)(void *)((char *)(void *)queue + n), -EINVAL);
	memset(&zero, 0, sizeof(zero));
	memset(&garbage, 0x5a, sizeof(garbage));
	test_queue_pointer((struct cmwq_queue *)(void *)&zero, -EINVAL);
	test_queue_pointer((struct cmwq_queue *)(void *)&garbage, -EINVAL);
	test_item_pointer(NULL);
	test_item_pointer(&zero);
	test_item_pointer(&garbage);
	test_item_pointer((struct cmwq_work *)(void *)((char *)(void *)&item + 4));
	for (n = 1; n <= 13; n++)
		EQUAL(cmwq_queue_destroy(CMWQ_SYSTEM_QUEUE(n)), -EINVAL);
	cmwq_work_init(&item, NULL);
	cmwq_work_init(NULL, count);
	cmwq_work_destroy(NULL);
	EQUAL(cmwq_submit(queue, NULL, NULL), -EINVAL);
	EQUAL(cmwq_on_each_cpu(CMWQ_SYSTEM_PERCPU, NULL), -EINVAL);
	EQUAL(cmwq_queue_create(NULL, NULL, &gone), -EINVAL);
	EQUAL(cmwq_queue_create("no place", NULL, NULL), -EINVAL);
	EQUAL(cmwq_queue_counts(queue, NULL), -EINVAL);
	EQUAL(cmwq_queue_get_attrs(queue, NULL), -EINVAL);
	EQUAL(cmwq_queue_apply_attrs(queue, NULL), -EINVAL);
	EQUAL(cmwq_get_stats(NULL), -EINVAL);
	EQUAL(cmwq_unbound_cpus(NULL), -EINVAL);
	EQUAL(cmwq_set_unbound_cpus(NULL), -EINVAL);
	EQUAL(cmwq_set_report_hook(NULL, NULL), -EINVAL);
	EQUAL(cmwq_linux_alloc_workqueue(NULL, 0, 0, &gone), -EINVAL);
	EQUAL(cmwq_linux_alloc_workqueue("no place", 0, 0, NULL), -EINVAL);
	EQUAL(cmwq_async_schedule(NULL, NULL, NULL), 0);
	cmwq_linux_warn(NULL, -EIO);
	cmwq_linux_warn("out of range", INT_MIN);
	cmwq_blocking(NULL, NULL);
	cmwq_set_worker_desc(NULL);
}

static int create(uint32_t kind, uint32_t flags, int max_active)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_queue *made = NULL;
	int result;

	options.kind = kind;
	options.flags = flags;
	options.max_active = max_active;
	result = cmwq_queue_create("odd", &options, &made);
	CHECK(!result == (made != NULL));
	if (made) {
		struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);
		int limits[] = { -1, 0, 1, 2048, 2049, INT_MAX, INT_MIN };
		size_t n;

		for (n = 0; n < sizeof(limits) / sizeof(*limits); n++) {
			int set = cmwq_queue_set_max_active(made, limits[n]);

			CHECK(set == 0 || set == -EOPNOTSUPP);
			set = cmwq_queue_set_min_active(made, limits[n]);
			CHECK(set == 0 || set == -EOPNOTSUPP);
			CHECK(cmwq_queue_max_active(made) >= 1);
			EQUAL(cmwq_queue_work(made, &work), 1);
			CHECK(cmwq_work_flush(&work) >= 0);
		}
		EQUAL(cmwq_queue_destroy(made), 0);
	}
	return result;
}

static void test_options(void)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct { struct cmwq_queue_options known; char more[64]; } later;
	int limits[] = { -1, INT_MIN, 2049, INT_MAX };
	struct cmwq_queue *made = NULL;
	uint32_t kind;
	size_t n;

	for (kind = 0; kind <= CMWQ_FIFO; kind++) {
		for (n = 0; n < 4; n++)
			EQUAL(create(kind, 0, limits[n]), -EINVAL);
		EQUAL(create(kind, 0, 0), 0);
		EQUAL(create(kind, 0x40, 0), -EINVAL);
		EQUAL(create(kind, ~0u, 0), -EINVAL);
	}
	EQUAL(create(CMWQ_FIFO + 1, 0, 0), -EINVAL);
	EQUAL(create(~0u, 0, 0), -EINVAL);
	options.stacking = 2;
	EQUAL(cmwq_queue_create("odd", &options, &made), -EINVAL);
	options.stacking = 0;
	for (n = 0; n < 4; n++) {
		options.size = (uint32_t)n;
		EQUAL(cmwq_queue_create("odd", &options, &made), -EINVAL);
	}
	options.size = 1 << 16;
	EQUAL(cmwq_queue_create("odd", &options, &made), -EINVAL);
	/* A later program's options: what this library does not know has to be zero. */
	memset(&later, 0, sizeof(later));
	options.size = sizeof(options);
	later.known = options;
	later.known.size = sizeof(later);
	EQUAL(cmwq_queue_create("later", &later.known, &made), 0);
	EQUAL(cmwq_queue_destroy(made), 0);
	later.more[63] = 1;
	EQUAL(cmwq_queue_create("later", &later.known, &made), -EINVAL);
}

static void test_attrs(void)
{
	struct cmwq_attrs attrs = CMWQ_ATTRS_INITIALIZER;
	int nices[] = { -21, 20, 127, -128, 256, INT_MIN, INT_MAX };
	int scopes[] = { -2, 6, INT_MIN, INT_MAX };
	struct cmwq_cpus cpus;
	size_t n;

	for (n = 0; n < sizeof(nices) / sizeof(*nices); n++) {
		attrs.nice = nices[n];
		EQUAL(cmwq_queue_apply_attrs(queue, &attrs), -EINVAL);
	}
	attrs.nice = 0;
	for (n = 0; n < 4; n++) {
		attrs.scope = scopes[n];
		EQUAL(cmwq_queue_apply_attrs(queue, &attrs), -EINVAL);
		EQUAL(cmwq_set_default_scope(scopes[n]), -EINVAL);
	}
	attrs.scope = CMWQ_SCOPE_DEFAULT;
	attrs.locality_ns = UINT64_MAX;
	attrs.strict = ~0u;
	memset(&attrs.cpus, 0xff, sizeof(attrs.cpus));
	EQUAL(cmwq_queue_apply_attrs(queue, &attrs), 0);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	CHECK(cmwq_work_flush(&item) >= 0);
	/* Only CPUs that no machine of ours has. */
	memset(&attrs.cpus, 0, sizeof(attrs.cpus));
	attrs.cpus.bits[15] = UINT64_C(1) << 63;
	CHECK(cmwq_queue_apply_attrs(queue, &attrs) <= 0);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	CHECK(cmwq_work_flush(&item) >= 0);
	cpus = attrs.cpus;
	CHECK(cmwq_set_unbound_cpus(&cpus) <= 0);
	memset(&cpus, 0, sizeof(cpus));
	EQUAL(cmwq_set_unbound_cpus(&cpus), -EINVAL);
	memset(&cpus, 0xff, sizeof(cpus));
	EQUAL(cmwq_set_unbound_cpus(&cpus), 0);
	memset(&attrs.cpus, 0, sizeof(attrs.cpus));
	attrs.locality_ns = attrs.strict = 0;
	EQUAL(cmwq_queue_apply_attrs(queue, &attrs), 0);
	EQUAL(cmwq_queue_apply_attrs(CMWQ_SYSTEM_BH, &attrs), -EINVAL);
}

static void test_names(void)
{
	static char longest[1001], got[1001];
	const char *names[] = { "", "%s%n%d", "%1$s", "a\nb\033[31m", "\xff\xfe", longest, "../../x" };
	struct cmwq_queue *made = NULL;
	size_t n;

	memset(longest, 'x', 1000);
	for (n = 0; n < sizeof(names) / sizeof(*names); n++) {
		EQUAL(cmwq_queue_create(names[n], NULL, &made), 0);
		CHECK(cmwq_queue_name(made, got, sizeof(got)) >= (int)strlen(names[n]));
		CHECK(n == 4 || !strcmp(got, names[n]));
		CHECK(cmwq_queue_name(made, NULL, 5) >= 0 && cmwq_queue_name(made, got, 0) >= 0);
		CHECK(cmwq_queue_name(made, got, 1) >= 0 && !*got);
		EQUAL(cmwq_queue_work(made, &item), 1);
		EQUAL(cmwq_queue_destroy(made), 0);
		EQUAL(cmwq_linux_alloc_workqueue(names[n], 1 << 1, INT_MAX, &made), 0);
		EQUAL(cmwq_queue_max_active(made), 2048);
		EQUAL(cmwq_queue_destroy(made), 0);
		EQUAL(cmwq_linux_alloc_workqueue(names[n], 1 << 8, INT_MIN, &made), 0);
		EQUAL(cmwq_queue_max_active(made), 1);
		EQUAL(cmwq_queue_destroy(made), 0);
		cmwq_set_worker_desc(names[n]);
	}
}

static void test_numbers(void)
{
	int cpus[] = { -1, INT_MIN, 0 }, none[] = { 1023, 1024, 100000, INT_MAX };
	uint64_t delays[] = { HOUR, UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63 };
	size_t n;
	int turn;

	for (n = 0; n < 3; n++) {
		EQUAL(cmwq_queue_work_on(cpus[n], CMWQ_SYSTEM_PERCPU, &item), 1);
		CHECK(cmwq_work_flush(&item) >= 0);
		EQUAL(cmwq_queue_work_node(cpus[n], queue, &item), 1);
		CHECK(cmwq_work_flush(&item) >= 0);
		CHECK(cmwq_queue_congested(queue, cpus[n]) >= 0);
	}
	for (n = 0; n < 4; n++) {
		EQUAL(cmwq_queue_work_on(none[n], queue, &item), -ENODEV);
		EQUAL(cmwq_queue_delayed_work_on(none[n], queue, &item, 1), -ENODEV);
		EQUAL(cmwq_mod_delayed_work_on(none[n], queue, &item, 1), -ENODEV);
		CHECK(cmwq_queue_work_node(none[n], queue, &item) >= -ENODEV);
		CHECK(cmwq_work_flush(&item) >= 0);
		CHECK(cmwq_queue_congested(queue, none[n]) <= 1);
	}
	for (n = 0; n < 4; n++) {
		EQUAL(cmwq_queue_delayed_work(queue, &item, delays[n]), 1);
		EQUAL(cmwq_work_armed(&item), 1);
		EQUAL(cmwq_mod_delayed_work(queue, &item, delays[3 - n]), 1);
		EQUAL(cmwq_work_armed(&item), 1);
		EQUAL(cmwq_work_cancel_sync(&item), 1);
	}
	for (turn = 0; turn < 70000; turn++)
		cmwq_work_disable(&item);
	EQUAL(cmwq_queue_work(queue, &item), -ECANCELED);
	for (turn = 0; turn < 70000; turn++)
		cmwq_work_enable(&item);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	CHECK(cmwq_work_flush(&item) >= 0);
	cmwq_set_cpu_intensive_threshold(UINT64_MAX);
	cmwq_set_watchdog_threshold(UINT64_MAX);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	EQUAL(cmwq_queue_drain_for(queue, UINT64_MAX), 0);
	cmwq_set_cpu_intensive_threshold(1);
	cmwq_set_watchdog_threshold(1);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	EQUAL(cmwq_queue_flush(queue), 0);
	cmwq_set_cpu_intensive_threshold(0);
	cmwq_set_watchdog_threshold(0);
	cmwq_attach_process(-1);
	cmwq_attach_process(INT_MIN);
	EQUAL(cmwq_async_synchronize_cookie(NULL, UINT64_MAX), 0);
}

static struct cmwq_async_domain domain;

/* Everything that waits for the item, in the item. */
static void waits_for_itself(struct cmwq_work *work)
{
	EQUAL(cmwq_work_flush(work), -EDEADLK);
	EQUAL(cmwq_delayed_work_flush(work), -EDEADLK);
	EQUAL(cmwq_work_cancel_sync(work), -EDEADLK);
	EQUAL(cmwq_work_disable_sync(work), -EDEADLK);
	EQUAL(cmwq_work_enable(work), 1);
	EQUAL(cmwq_queue_flush(queue), -EDEADLK);
	EQUAL(cmwq_queue_drain(queue), -EDEADLK);
	EQUAL(cmwq_queue_drain_for(queue, HOUR), -EDEADLK);
	cmwq_set_worker_desc("%s%n");
	cmwq_attach_process(INT_MAX);
	cmwq_attach_process(getpid());
	cmwq_attach_process(0);
	ADD(ran, 1);
}

static void test_self(void)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(waits_for_itself);

	STORE(ran, 0);
	EQUAL(cmwq_queue_work(queue, &work), 1);
	AWAIT(LOAD(ran) == 1);
	EQUAL(cmwq_work_flush(&work) < 0, 0);
}

static int in_hook;

/* Does what it reports. */
static void hook(const struct cmwq_report *report, void *arg)
{
	CHECK(report->text && !arg);
	ADD(in_hook, 1);
	cmwq_queue_work(NULL, NULL);
	ADD(in_hook, -1);
}

static int stop;

static void *queues_all_the_time(void *arg)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);

	(void)arg;
	while (!LOAD(stop)) {
		cmwq_queue_work(queue, &work);
		cmwq_queue_delayed_work(queue, &item, 1);
		cmwq_work_cancel_sync(&work);
	}
	CHECK(cmwq_work_cancel_sync(&work) >= 0);
	return NULL;
}

/* Children of a process whose other threads are in the middle of calls. */
static void test_forks(void)
{
	pthread_t threads[2];
	int n;

	for (n = 0; n < 2; n++)
		CHECK(!pthread_create(&threads[n], NULL, queues_all_the_time, NULL));
	for (n = 0; n < 50; n++) {
		pid_t child = fork();
		int status = -1;

		CHECK(child >= 0);
		if (!child) {
			struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);

			STORE(ran, 0);
			EQUAL(cmwq_queue_work(queue, &work), -ECHILD);
			EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &work), 1);
			CHECK(cmwq_work_flush(&work) >= 0);
			EQUAL(LOAD(ran), 1);
			exit(n % 2 ? 0 : cmwq_shutdown(HOUR, NULL));
		}
		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	STORE(stop, 1);
	for (n = 0; n < 2; n++)
		CHECK(!pthread_join(threads[n], NULL));
	CHECK(cmwq_work_cancel_sync(&item) >= 0);
}

static void test_install(void)
{
	struct cmwq_process_options options = { sizeof(options), 0, 0 };

	EQUAL(cmwq_install(NULL), -EINVAL);
	options.size = 3;
	EQUAL(cmwq_install(&options), -EINVAL);
	options.size = sizeof(options);
	options.thread_limit = ~0u;
	EQUAL(cmwq_install(&options), -EINVAL);
	options.thread_limit = 0;
	/* Less than a thread needs becomes what it needs. */
	options.stack_size = 1;
	EQUAL(cmwq_install(&options), 0);
}

int main(int argc, char **argv)
{
	struct cmwq_process_options options = { sizeof(options), 0, 0 };
	struct cmwq_shutdown_report report;

	(void)argv;
	test_install();
	EQUAL(cmwq_queue_create("hostile", NULL, &queue), 0);
	EQUAL(cmwq_install(&options), -EBUSY);
	test_pointers();
	test_options();
	test_attrs();
	test_names();
	test_numbers();
	test_self();
	if (argc == 1)
		test_forks();
	EQUAL(cmwq_set_report_hook(hook, NULL), 0);
	EQUAL(cmwq_queue_work(NULL, NULL), -EINVAL);
	EQUAL(LOAD(in_hook), 0);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_submit(CMWQ_SYSTEM, count_arg, NULL), 0);
	CHECK(cmwq_async_schedule(&domain, count_call, NULL) > 0);
	memset(&report, 0, sizeof(report));
	EQUAL(cmwq_shutdown(UINT64_MAX, &report), 0);
	EQUAL(cmwq_shutdown(0, NULL), 0);
	CHECK(cmwq_async_schedule(&domain, count_call, NULL) > 0);
	EQUAL(cmwq_async_synchronize_full(&domain), 0);
	return 0;
}
