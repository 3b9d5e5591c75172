/* Calls every function of cmwq.h. It is compiled as C and as C++. */
#include <cmwq.h>

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <string.h>

#include "check.h"

#define MS UINT64_C(1000000)
#define HOUR (3600 * 1000 * MS)

/* An item in a struct of ours, at some offset. */
struct request {
	int served;
	struct cmwq_work work;
};

static void serve(struct cmwq_work *work)
{
	struct request *request = cmwq_container_of(work, struct request, work);

	CHECK(cmwq_current_work() == work);
	EQUAL(cmwq_work_is_current(work), 1);
	ADD(request->served, 1);
}

static struct request fixed = { 0, CMWQ_WORK_INITIALIZER(serve) };

/* An item that waits until it may go on. */
struct gate {
	struct cmwq_work work;
	int entered;
	int open;
};

static void pass(struct cmwq_work *work)
{
	struct gate *gate = cmwq_container_of(work, struct gate, work);

	ADD(gate->entered, 1);
	AWAIT(LOAD(gate->open));
}

static void gate_init(struct gate *gate)
{
	memset(gate, 0, sizeof(*gate));
	cmwq_work_init(&gate->work, pass);
}

static struct cmwq_queue *create(uint32_t kind, uint32_t flags, int max_active)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_queue *queue = NULL;

	options.kind = kind;
	options.flags = flags;
	options.max_active = max_active;
	EQUAL(cmwq_queue_create("test", &options, &queue), 0);
	CHECK(queue != NULL);
	return queue;
}

static int reports;
static uint32_t last_report;

static void hook(const struct cmwq_report *report, void *arg)
{
	CHECK(report->text != NULL && arg == &reports);
	STORE(last_report, report->kind);
	ADD(reports, 1);
}

static void test_install(void)
{
	struct cmwq_process_options options;

	memset(&options, 0, sizeof(options));
	options.size = sizeof(options);
	options.thread_limit = 1 << 20;
	EQUAL(cmwq_install(&options), -EINVAL);
	options.thread_limit = 512;
	options.stack_size = 1 << 20;
	EQUAL(cmwq_install(&options), 0);
	CHECK(strcmp(cmwq_version(), CMWQ_VERSION) == 0);
	EQUAL(cmwq_set_report_hook(hook, &reports), 0);
	EQUAL(cmwq_set_report_hook(NULL, NULL), -EINVAL);
	EQUAL(LOAD(last_report), CMWQ_REPORT_MISUSE);
	EQUAL(cmwq_freezing(), 0);
}

static void test_items(void)
{
	struct cmwq_queue *queue = create(CMWQ_MANAGED, 0, 0);
	struct request request;
	struct cmwq_process_options late = { sizeof(late), 0, 0 };

	EQUAL(cmwq_install(&late), -EBUSY);
	EQUAL(cmwq_work_flush(&fixed.work), 0);
	EQUAL(cmwq_queue_work(queue, &fixed.work), 1);
	CHECK(cmwq_work_flush(&fixed.work) >= 0);
	EQUAL(LOAD(fixed.served), 1);
	memset(&request, 0xff, sizeof(request));
	request.served = 0;
	cmwq_work_init(&request.work, serve);
	EQUAL(cmwq_work_pending(&request.work), 0);
	EQUAL(cmwq_work_busy(&request.work), 0);
	EQUAL(cmwq_queue_work_on(0, queue, &request.work), 1);
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(cmwq_queue_work_on(-1, queue, &request.work), 1);
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(cmwq_queue_work_on(100000, queue, &request.work), -ENODEV);
	EQUAL(cmwq_queue_work_node(0, queue, &request.work), 1);
	EQUAL(cmwq_queue_drain(queue), 0);
	EQUAL(LOAD(request.served), 3);
	cmwq_work_destroy(&request.work);
	EQUAL(cmwq_queue_destroy(queue), 0);
}

static void test_states(void)
{
	struct cmwq_queue *queue = create(CMWQ_ORDERED, CMWQ_MEM_RECLAIM, 0);
	struct gate gate;
	struct request request;

	gate_init(&gate);
	memset(&request, 0, sizeof(request));
	cmwq_work_init(&request.work, serve);
	EQUAL(cmwq_queue_work(queue, &gate.work), 1);
	AWAIT(LOAD(gate.entered) == 1);
	EQUAL(cmwq_work_busy(&gate.work), CMWQ_BUSY_RUNNING);
	EQUAL(cmwq_queue_work(queue, &request.work), 1);
	EQUAL(cmwq_queue_work(queue, &request.work), 0);
	EQUAL(cmwq_work_pending(&request.work), 1);
	EQUAL(cmwq_queue_congested(queue, -1), 1);
	EQUAL(cmwq_work_cancel(&request.work), 1);
	EQUAL(cmwq_work_cancel(&request.work), 0);
	EQUAL(cmwq_queue_work(queue, &request.work), 1);
	EQUAL(cmwq_work_disable(&request.work), 1);
	EQUAL(cmwq_queue_work(queue, &request.work), -ECANCELED);
	EQUAL(cmwq_work_disable_sync(&request.work), 0);
	EQUAL(cmwq_work_enable(&request.work), 0);
	EQUAL(cmwq_enable_and_queue_work(queue, &request.work), 1);
	EQUAL(cmwq_work_cancel_sync(&request.work), 1);
	EQUAL(cmwq_queue_drain_for(queue, MS), -ETIMEDOUT);
	STORE(gate.open, 1);
	EQUAL(cmwq_queue_drain_for(queue, HOUR), 0);
	EQUAL(LOAD(request.served), 0);
	EQUAL(LOAD(gate.entered), 1);
	STORE(last_report, 0);
	cmwq_work_enable(&request.work);
	EQUAL(LOAD(last_report), CMWQ_REPORT_ENABLE_UNDERFLOW);
	EQUAL(cmwq_queue_destroy(queue), 0);
}

static void test_delayed(void)
{
	struct cmwq_queue *queue = create(CMWQ_UNMANAGED, 0, 4);
	struct delayed {
		int served;
		struct cmwq_delayed_work delayed;
	};
	static struct request once = { 0, CMWQ_WORK_INITIALIZER(serve) };
	struct cmwq_delayed_work fixed_one = CMWQ_DELAYED_WORK_INITIALIZER(serve);
	struct cmwq_work *work = &once.work;

	CHECK(fixed_one.work.func == serve);
	EQUAL(cmwq_queue_delayed_work(queue, work, HOUR), 1);
	EQUAL(cmwq_queue_delayed_work(queue, work, 0), 0);
	EQUAL(cmwq_work_armed(work), 1);
	EQUAL(cmwq_work_flush(work), 0);
	EQUAL(cmwq_mod_delayed_work(queue, work, 2 * HOUR), 1);
	EQUAL(cmwq_delayed_work_flush(work), 1);
	EQUAL(LOAD(once.served), 1);
	EQUAL(cmwq_queue_delayed_work_on(0, queue, work, MS), 1);
	AWAIT(LOAD(once.served) == 2);
	EQUAL(cmwq_mod_delayed_work_on(0, queue, work, HOUR), 0);
	EQUAL(cmwq_work_cancel_sync(work), 1);
	EQUAL(cmwq_work_armed(work), 0);
	/* What is armed goes with its queue. */
	EQUAL(cmwq_queue_delayed_work(queue, work, HOUR), 1);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_work_pending(work), 0);
	EQUAL(LOAD(once.served), 2);
}

static void test_queue(void)
{
	struct cmwq_queue *queue = create(CMWQ_MANAGED, CMWQ_HIGHPRI | CMWQ_EXACT | CMWQ_SYSFS, 3);
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_attrs attrs = CMWQ_ATTRS_INITIALIZER;
	struct cmwq_counts counts;
	char name[4];

	EQUAL(cmwq_queue_name(queue, NULL, 0), 4);
	EQUAL(cmwq_queue_name(queue, name, sizeof(name)), 4);
	CHECK(strcmp(name, "tes") == 0);
	EQUAL(cmwq_queue_max_active(queue), 3);
	EQUAL(cmwq_queue_set_max_active(queue, 1000000), 0);
	EQUAL(cmwq_queue_max_active(queue), 2048);
	EQUAL(cmwq_queue_set_max_active(queue, -5), 0);
	EQUAL(cmwq_queue_max_active(queue), 1);
	EQUAL(cmwq_queue_set_max_active(queue, 16), 0);
	EQUAL(cmwq_queue_destroy(queue), 0);
	queue = create(CMWQ_UNMANAGED, 0, 16);
	EQUAL(cmwq_queue_set_max_active(CMWQ_SYSTEM_BH, 5), -EOPNOTSUPP);
	EQUAL(cmwq_queue_set_min_active(queue, 5), 0);
	EQUAL(cmwq_queue_min_active(queue), 5);
	counts.size = sizeof(counts);
	EQUAL(cmwq_queue_counts(queue, &counts), 0);
	EQUAL(counts.max_active, 16);
	EQUAL(counts.min_active, 5);
	EQUAL(counts.nr_active + counts.nr_executing + counts.nr_inactive, 0);
	EQUAL(cmwq_queue_counts(queue, NULL), -EINVAL);
	EQUAL(cmwq_queue_get_attrs(queue, &attrs), 0);
	EQUAL(attrs.nice, 0);
	EQUAL(attrs.scope, CMWQ_SCOPE_DEFAULT);
	attrs.nice = 7;
	attrs.scope = CMWQ_SCOPE_SYSTEM;
	attrs.cpus.bits[0] = 1;
	EQUAL(cmwq_queue_apply_attrs(queue, &attrs), 0);
	memset(&attrs, 0, sizeof(attrs));
	attrs.size = sizeof(attrs);
	EQUAL(cmwq_queue_get_attrs(queue, &attrs), 0);
	EQUAL(attrs.nice, 7);
	EQUAL(attrs.scope, CMWQ_SCOPE_SYSTEM);
	EQUAL(attrs.cpus.bits[0], 1);
	attrs.nice = 20;
	EQUAL(cmwq_queue_apply_attrs(queue, &attrs), -EINVAL);
	attrs.nice = 0;
	attrs.scope = 6;
	EQUAL(cmwq_queue_apply_attrs(queue, &attrs), -EINVAL);
	EQUAL(cmwq_queue_destroy(queue), 0);
	options.kind = CMWQ_FIFO + 1;
	EQUAL(cmwq_queue_create("odd", &options, &queue), -EINVAL);
	options.kind = CMWQ_PERCPU;
	options.attrs.nice = 5;
	EQUAL(cmwq_queue_create("odd", &options, &queue), -EINVAL);
	EQUAL(cmwq_queue_create(NULL, NULL, &queue), -EINVAL);
	EQUAL(cmwq_queue_create("odd", NULL, NULL), -EINVAL);
	EQUAL(cmwq_queue_create("plain", NULL, &queue), 0);
	EQUAL(cmwq_queue_destroy(queue), 0);
}

static void count(void *arg)
{
	ADD(*(int *)arg, 1);
}

static int on_cpus;

static void on_cpu(struct cmwq_work *work)
{
	(void)work;
	ADD(on_cpus, 1);
}

static void test_submitted(void)
{
	struct cmwq_queue *queue = create(CMWQ_MANAGED, 0, 0);
	cpu_set_t cpus;
	int n, counted = 0;

	for (n = 0; n < 1000; n++)
		EQUAL(cmwq_submit(queue, count, &counted), 0);
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(LOAD(counted), 1000);
	EQUAL(cmwq_submit(queue, NULL, NULL), -EINVAL);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_on_each_cpu(CMWQ_SYSTEM_PERCPU, on_cpu), 0);
	CHECK(sched_getaffinity(0, sizeof(cpus), &cpus) == 0);
	EQUAL(LOAD(on_cpus), CPU_COUNT(&cpus));
}

static void wait_a_little(void *arg)
{
	sleep_ms(1);
	count(arg);
}

static int told;

static void tell(struct cmwq_work *work)
{
	sigset_t mask;
	int signal, was = cmwq_attach_process(0);

	EQUAL(was, 0);
	cmwq_set_worker_desc("telling");
	CHECK(cmwq_others_waiting() >= 0);
	EQUAL(cmwq_is_rescuer(), 0);
	cmwq_blocking(wait_a_little, &told);
	/* Whoever waits for itself is told, and goes on. */
	EQUAL(cmwq_work_flush(work), -EDEADLK);
	EQUAL(cmwq_work_cancel_sync(work), -EDEADLK);
	/* Signals of the program are not ours. */
	CHECK(pthread_sigmask(SIG_BLOCK, NULL, &mask) == 0);
	for (signal = 1; signal < 32; signal++) {
		int fault = signal == SIGSEGV || signal == SIGBUS || signal == SIGFPE ||
			    signal == SIGILL || signal == SIGTRAP || signal == SIGSYS ||
			    signal == SIGABRT || signal == SIGKILL || signal == SIGSTOP;
		EQUAL(sigismember(&mask, signal), !fault);
	}
}

static void test_inside(void)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(tell);

	CHECK(cmwq_current_work() == NULL);
	EQUAL(cmwq_is_rescuer(), 0);
	EQUAL(cmwq_others_waiting(), 0);
	cmwq_set_worker_desc("nothing");
	cmwq_blocking(wait_a_little, &told);
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &work), 1);
	EQUAL(cmwq_work_cancel_sync(&work) >= 0, 1);
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &work), 1);
	CHECK(cmwq_work_flush(&work) >= 0);
	CHECK(LOAD(told) >= 2);
	EQUAL(cmwq_work_cancel_sync(&work), 0);
}

static void test_system_queues(void)
{
	struct cmwq_queue *all[] = { CMWQ_SYSTEM,      CMWQ_SYSTEM_PERCPU,    CMWQ_SYSTEM_HIGHPRI,
				     CMWQ_SYSTEM_LONG, CMWQ_SYSTEM_FREEZABLE, CMWQ_SYSTEM_BH,
				     CMWQ_SYSTEM_BH_HIGHPRI, CMWQ_SYSTEM_UNMANAGED };
	size_t n;

	for (n = 0; n < sizeof(all) / sizeof(all[0]); n++) {
		int counted = 0;

		EQUAL(cmwq_submit(all[n], count, &counted), 0);
		EQUAL(cmwq_queue_flush(all[n]), 0);
		EQUAL(LOAD(counted), 1);
		EQUAL(cmwq_queue_destroy(all[n]), -EINVAL);
	}
	EQUAL(cmwq_queue_flush(CMWQ_SYSTEM_QUEUE(63)), -EINVAL);
}

static void test_freezing(void)
{
	int counted = 0;

	EQUAL(cmwq_freeze(), 0);
	EQUAL(cmwq_freezing(), 0);
	EQUAL(cmwq_submit(CMWQ_SYSTEM_FREEZABLE, count, &counted), 0);
	sleep_ms(5);
	EQUAL(LOAD(counted), 0);
	EQUAL(cmwq_thaw(), 0);
	EQUAL(cmwq_queue_flush(CMWQ_SYSTEM_FREEZABLE), 0);
	EQUAL(LOAD(counted), 1);
}

static void test_process(void)
{
	struct cmwq_stats stats;
	struct cmwq_cpus cpus, none;
	int scope = cmwq_default_scope();

	stats.size = sizeof(stats);
	EQUAL(cmwq_get_stats(&stats), 0);
	CHECK(stats.completed > 5 && stats.started >= stats.completed && stats.workers > 0);
	EQUAL(cmwq_get_stats(NULL), -EINVAL);
	CHECK(cmwq_cpus() >= 1);
	EQUAL(cmwq_unbound_cpus(&cpus), 0);
	EQUAL(cmwq_set_unbound_cpus(&cpus), 0);
	memset(&none, 0, sizeof(none));
	EQUAL(cmwq_set_unbound_cpus(&none), -EINVAL);
	CHECK(scope >= 0);
	EQUAL(cmwq_set_default_scope(CMWQ_SCOPE_NUMA), 0);
	EQUAL(cmwq_default_scope(), CMWQ_SCOPE_NUMA);
	EQUAL(cmwq_set_default_scope(CMWQ_SCOPE_DEFAULT), -EINVAL);
	EQUAL(cmwq_set_default_scope(scope), 0);
	cmwq_set_cpu_intensive_threshold(0);
	cmwq_set_watchdog_threshold(0);
	cmwq_set_cpu_intensive_threshold(10 * MS);
	cmwq_set_watchdog_threshold(30000 * MS);
}

#define UNITS 100000
static unsigned char done[UNITS];

static void do_units(unsigned long start, unsigned long end, void *arg)
{
	CHECK(arg == done && start < end && end <= UNITS);
	for (; start < end; start++)
		done[start]++;
}

static void test_job(void)
{
	struct cmwq_job job;
	size_t n;

	memset(&job, 0, sizeof(job));
	job.struct_size = sizeof(job);
	job.func = do_units;
	job.arg = done;
	job.size = UNITS;
	job.min_chunk = 100;
	job.align = 8;
	EQUAL(cmwq_run_job(&job), 0);
	for (n = 0; n < UNITS; n++)
		EQUAL(done[n], 1);
	job.size = 0;
	EQUAL(cmwq_run_job(&job), 0);
	job.func = NULL;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	EQUAL(cmwq_run_job(NULL), -EINVAL);
}

static struct cmwq_async_domain domain;
static uint64_t order[8];
static int ordered;

static void probe(void *data, uint64_t cookie)
{
	EQUAL(cmwq_current_is_async(), 1);
	sleep_ms((long)(intptr_t)data);
	EQUAL(cmwq_async_synchronize_full(&domain), -EDEADLK);
	EQUAL(cmwq_async_synchronize_cookie(&domain, cookie), 0);
	order[ADD(ordered, 1)] = cookie;
}

static void test_async(void)
{
	int n, counted = 0;
	uint64_t last = 0;

	EQUAL(cmwq_current_is_async(), 0);
	for (n = 0; n < 8; n++) {
		uint64_t cookie =
			cmwq_async_schedule(&domain, probe, (void *)(intptr_t)(8 - n));
		CHECK(cookie > last);
		last = cookie;
	}
	EQUAL(cmwq_async_synchronize_full(&domain), 0);
	EQUAL(LOAD(ordered), 8);
	for (n = 1; n < 8; n++)
		CHECK(order[n - 1] < order[n]);
	EQUAL(cmwq_async_synchronize_all(), 0);
	EQUAL(cmwq_async_synchronize_cookie(NULL, last), 0);
	EQUAL(cmwq_async_schedule(NULL, NULL, &counted), 0);
}

static void test_linux_queues(void)
{
	struct cmwq_queue *queue = NULL;

	EQUAL(cmwq_linux_alloc_workqueue("unbound", 1 << 1, 0, &queue), 0);
	EQUAL(cmwq_queue_max_active(queue), 1024);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_linux_alloc_workqueue("clamped", 1 << 8, 5000, &queue), 0);
	EQUAL(cmwq_queue_max_active(queue), 2048);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_linux_alloc_workqueue("bh", 1, 5, &queue), -EINVAL);
	STORE(last_report, 0);
	cmwq_linux_warn("queue_work", 1);
	cmwq_linux_warn("queue_work", -ECANCELED);
	EQUAL(LOAD(last_report), 0);
	cmwq_linux_warn("queue_work", -EBUSY);
	EQUAL(LOAD(last_report), CMWQ_REPORT_MISUSE);
}

static void test_misuse(void)
{
	struct cmwq_work zero;
	struct cmwq_queue *queue = create(CMWQ_MANAGED, 0, 0);
	int before = LOAD(reports);

	memset(&zero, 0, sizeof(zero));
	EQUAL(cmwq_queue_work(queue, &zero), -EINVAL);
	EQUAL(cmwq_queue_work(queue, NULL), -EINVAL);
	EQUAL(cmwq_queue_work(NULL, &fixed.work), -EINVAL);
	memset(&zero, 0x5a, sizeof(zero));
	EQUAL(cmwq_work_cancel_sync(&zero), -EINVAL);
	cmwq_work_init(NULL, serve);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(cmwq_queue_work(queue, &fixed.work), -ESHUTDOWN);
	EQUAL(cmwq_queue_destroy(queue), -ESHUTDOWN);
	EQUAL(LOAD(reports), before + 7);
	EQUAL(LOAD(last_report), CMWQ_REPORT_MISUSE);
}

static void test_shutdown(void)
{
	struct cmwq_shutdown_report report;
	int counted = 0;

	memset(&report, 0, sizeof(report));
	report.size = sizeof(report);
	EQUAL(cmwq_submit(CMWQ_SYSTEM, count, &counted), 0);
	EQUAL(cmwq_shutdown(HOUR, &report), 0);
	EQUAL(LOAD(counted), 1);
	EQUAL(report.queued + report.running + report.armed, 0);
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &fixed.work), -ESHUTDOWN);
}

int main(void)
{
	/* CMWQ_CHECKED=1 ends the process at misuse, which the last tests are about. */
	const char *checked = getenv("CMWQ_CHECKED");

	test_install();
	test_items();
	test_states();
	test_delayed();
	test_queue();
	if (!checked)
		test_submitted();
	test_inside();
	if (!checked)
		test_system_queues();
	test_freezing();
	test_process();
	test_job();
	test_async();
	test_linux_queues();
	if (!checked)
		test_misuse();
	test_shutdown();
	return 0;
}
