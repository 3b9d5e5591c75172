/* Jobs: how they end, what is claimed, parts of nodes. */
#include <cmwq.h>

#include <errno.h>
#include <pthread.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

#define UNITS 20000

static unsigned char done[UNITS];
static unsigned long total, undone, told, fails_at;
static pthread_t caller;
static int helpers, cancels, nice_of_helper;

static struct cmwq_job new_job(void)
{
	struct cmwq_job job;

	memset(&job, 0, sizeof(job));
	memset(done, 0, sizeof(done));
	job.struct_size = sizeof(job);
	job.arg = done;
	job.size = UNITS;
	STORE(total, 0);
	undone = told = 0;
	helpers = cancels = 0;
	caller = pthread_self();
	return job;
}

static void do_units(unsigned long start, unsigned long end, void *arg)
{
	CHECK(arg == done && start < end && end <= UNITS);
	ADD(total, end - start);
	for (; start < end; start++)
		done[start]++;
}

static void check_all(void)
{
	size_t n;

	EQUAL(LOAD(total), UNITS);
	for (n = 0; n < UNITS; n++)
		EQUAL(done[n], 1);
}

static int try_units(unsigned long start, unsigned long end, void *arg)
{
	if (start <= fails_at && fails_at < end)
		return -EDOM;
	do_units(start, end, arg);
	return 0;
}

static void undo_units(unsigned long start, unsigned long end, void *arg)
{
	CHECK(arg == done && start < end && pthread_equal(caller, pthread_self()));
	/* In ascending order. */
	CHECK(!undone || start > undone);
	undone = end;
	for (; start < end; start++)
		EQUAL(done[start]--, 1);
}

static void test_failing(void)
{
	struct cmwq_job job = new_job();
	size_t n;

	job.try_func = try_units;
	job.undo = undo_units;
	fails_at = 15000;
	EQUAL(cmwq_run_job(&job), -EDOM);
	for (n = 0; n < UNITS; n++)
		EQUAL(done[n], 0);
	fails_at = UNITS;
	job = new_job();
	job.try_func = try_units;
	job.undo = undo_units;
	EQUAL(cmwq_run_job(&job), 0);
	EQUAL(undone, 0);
	check_all();
}

static void tell(unsigned long at, unsigned long size, void *arg)
{
	CHECK(arg == done && pthread_equal(caller, pthread_self()));
	CHECK(at > told && at <= size && size == UNITS);
	told = at;
}

static int is_cancelled(void *arg)
{
	CHECK(arg == done);
	return ADD(cancels, 1) >= 5;
}

static void test_progress_and_cancel(void)
{
	struct cmwq_job job = new_job();

	job.func = do_units;
	job.progress = tell;
	job.align = 64;
	job.flags = CMWQ_JOB_ADAPTIVE;
	EQUAL(cmwq_run_job(&job), 0);
	EQUAL(told, UNITS);
	check_all();
	job = new_job();
	job.func = do_units;
	job.min_chunk = 100;
	job.undo = undo_units;
	job.cancelled = is_cancelled;
	EQUAL(cmwq_run_job(&job), -ECANCELED);
	CHECK(LOAD(total) < UNITS);
}

/* A helper sleeps in its step until all others are done: so somebody claims what it has not begun. */
static void claim_units(unsigned long start, unsigned long end, void *arg)
{
	/* Read first: a helper is lifted when the caller has done the rest. */
	int nice = getpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid));

	if (pthread_equal(caller, pthread_self())) {
		AWAIT(LOAD(helpers) == 1);
	} else if (!ADD(helpers, 1)) {
		nice_of_helper = nice;
		AWAIT(LOAD(total) == UNITS - (end - start));
	}
	do_units(start, end, arg);
}

static void test_claims(void)
{
	struct cmwq_job job = new_job();
	struct cmwq_job_stats stats;

	if (cmwq_cpus() < 2)
		return;
	memset(&stats, 0, sizeof(stats));
	stats.size = sizeof(stats);
	job.func = claim_units;
	job.max_threads = 2;
	job.stats = &stats;
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
	EQUAL(stats.helpers, 1);
	CHECK(stats.helped > 0 && stats.helped < UNITS && stats.claims > 0);
	CHECK(stats.chunks > stats.claims);
	/* Counted from the program's own, up to the last one. */
	EQUAL(nice_of_helper, getpriority(PRIO_PROCESS, 0) < 0 ? getpriority(PRIO_PROCESS, 0) + 19 : 19);
	job = new_job();
	job.func = claim_units;
	job.max_threads = 2;
	job.flags = CMWQ_JOB_NICE;
	job.nice = 3;
	EQUAL(cmwq_run_job(&job), 0);
	EQUAL(nice_of_helper, getpriority(PRIO_PROCESS, 0) + 3);
}

static void test_nodes(void)
{
	struct cmwq_job_part parts[3] = { { 0, 0, 0, 5000 }, { 12345, 0, 5000, 0 },
					  { -1, 0, 5000, UNITS - 5000 } };
	struct cmwq_job job = new_job();

	job.func = do_units;
	job.parts = parts;
	job.part_count = 3;
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
	parts[2].start--;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	parts[2].start = ~0ul;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.part_count = 0;
	EQUAL(cmwq_run_job(&job), 0);
	job.parts = NULL;
	job.part_count = 3;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job = new_job();
	job.func = do_units;
	job.flags = CMWQ_JOB_NUMA_AWARE;
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
}

static void test_misuse(void)
{
	struct cmwq_job job = new_job();

	EQUAL(cmwq_run_job(NULL), -EINVAL);
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.func = do_units;
	job.try_func = try_units;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.try_func = NULL;
	job.flags = 8;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.flags = CMWQ_JOB_NICE;
	job.nice = 20;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.nice = -129;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.flags = 0;
	job.start = ~0ul;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	job.struct_size = 3;
	EQUAL(cmwq_run_job(&job), -EINVAL);
	EQUAL(LOAD(total), 0);
	/* As a program has it that was made before there were flags. */
	job = new_job();
	job.func = do_units;
	job.flags = 0xffffffffu;
	job.struct_size = offsetof(struct cmwq_job, flags);
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
	/* The largest numbers do no harm. */
	job = new_job();
	job.func = do_units;
	job.align = job.min_chunk = ~0ul;
	job.max_threads = ~0u;
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
}

static void fork_in_it(unsigned long start, unsigned long end, void *arg)
{
	static pid_t child = -1;

	if (start == 0 && child < 0)
		child = fork();
	if (child > 0 && start == 0) {
		int status = -1;

		CHECK(waitpid(child, &status, 0) == child);
		CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	}
	if (child)
		do_units(start, end, arg);
}

static void test_fork(void)
{
	struct cmwq_job job = new_job();
	pid_t process = getpid();
	int result;

	job.func = fork_in_it;
	job.max_threads = 1;
	result = cmwq_run_job(&job);
	if (getpid() != process)
		_exit(result == -ECHILD ? 0 : 1);
	EQUAL(result, 0);
	check_all();
}

static void nested(unsigned long start, unsigned long end, void *arg)
{
	struct cmwq_job job;

	memset(&job, 0, sizeof(job));
	job.struct_size = sizeof(job);
	job.func = do_units;
	job.arg = arg;
	job.start = start;
	job.size = end - start;
	EQUAL(cmwq_run_job(&job), 0);
}

static void in_item(struct cmwq_work *work)
{
	struct cmwq_job job = new_job();

	(void)work;
	job.func = nested;
	job.min_chunk = 1000;
	EQUAL(cmwq_run_job(&job), 0);
	check_all();
}

int main(int argc, char **argv)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(in_item);

	(void)argv;
	test_failing();
	test_progress_and_cancel();
	test_claims();
	test_nodes();
	test_misuse();
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &work), 1);
	CHECK(cmwq_work_flush(&work) >= 0);
	/* Sanitizers do not follow a fork of many threads. */
	if (argc == 1)
		test_fork();
	return 0;
}
