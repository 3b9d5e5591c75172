/*
 * Items that do not simply return, named by the first argument: those that may, and those whose
 * process ends with a message.
 */
#include <cmwq.h>

#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <string.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static struct cmwq_queue *queue;
static int ran;

static void count(struct cmwq_work *work)
{
	(void)work;
	ADD(ran, 1);
}

static void exits(struct cmwq_work *work)
{
	(void)work;
	exit(3);
}

static void ends_its_thread(struct cmwq_work *work)
{
	(void)work;
	pthread_exit(NULL);
}

static void cancels_its_thread(struct cmwq_work *work)
{
	(void)work;
	pthread_cancel(pthread_self());
	for (;;)
		pause();
}

static void jumps_inside(struct cmwq_work *work)
{
	static volatile int jumped;
	jmp_buf here;

	(void)work;
	if (!setjmp(here)) {
		jumped = 1;
		longjmp(here, 1);
	}
	ADD(ran, jumped);
}

/* The child returns from the item: its only thread is a worker of its parent's queue. */
static void child_returns(struct cmwq_work *work)
{
	int status = -1;
	pid_t child = fork();

	(void)work;
	if (!child)
		return;
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ADD(ran, 1);
}

static void child_works(struct cmwq_work *work)
{
	int status = -1;
	pid_t child = fork();

	(void)work;
	if (!child) {
		struct cmwq_work own = CMWQ_WORK_INITIALIZER(count);

		EQUAL(cmwq_queue_work(queue, &own), -ECHILD);
		EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &own), 1);
		CHECK(cmwq_work_flush(&own) >= 0);
		_exit(LOAD(ran) == 1 ? 0 : 1);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	ADD(ran, 1);
}

static void destroys(struct cmwq_work *work)
{
	(void)work;
	EQUAL(cmwq_queue_destroy(queue), 0);
	ADD(ran, 1);
}

static void frees_itself(struct cmwq_work *work)
{
	free(work);
	ADD(ran, 1);
}

static struct cmwq_work in_handler = CMWQ_WORK_INITIALIZER(count);
static void handler(int signal)
{
	(void)signal;
	cmwq_work_pending(&in_handler);
}

static void *hammers(void *item)
{
	long n = 0;
	int turn;

	for (turn = 0; turn < 2000; turn++)
		n += cmwq_queue_work(queue, (struct cmwq_work *)item) == 1;
	return (void *)n;
}

static void *is_small(void *unused)
{
	struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);
	struct cmwq_queue *own = NULL;

	(void)unused;
	EQUAL(cmwq_queue_create("small", NULL, &own), 0);
	EQUAL(cmwq_queue_work(own, &work), 1);
	CHECK(cmwq_work_flush(&work) >= 0);
	EQUAL(cmwq_queue_destroy(own), 0);
	return NULL;
}

static int run_one(void (*func)(struct cmwq_work *))
{
	struct cmwq_work *work = (struct cmwq_work *)malloc(sizeof(*work));

	CHECK(work != NULL);
	cmwq_work_init(work, func);
	EQUAL(cmwq_queue_work(queue, work), 1);
	AWAIT(LOAD(ran) == 1);
	return 0;
}

int main(int argc, char **argv)
{
	const char *what = argc > 1 ? argv[1] : "";

	EQUAL(cmwq_queue_create("tested", NULL, &queue), 0);
	if (!strcmp(what, "exit"))
		return run_one(exits);
	if (!strcmp(what, "pthread_exit"))
		return run_one(ends_its_thread);
	if (!strcmp(what, "pthread_cancel"))
		return run_one(cancels_its_thread);
	if (!strcmp(what, "setjmp"))
		return run_one(jumps_inside);
	if (!strcmp(what, "child-returns"))
		return run_one(child_returns);
	if (!strcmp(what, "child-works"))
		return run_one(child_works);
	if (!strcmp(what, "destroys"))
		return run_one(destroys);
	if (!strcmp(what, "frees"))
		return run_one(frees_itself);
	if (!strcmp(what, "hammer")) {
		struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);
		pthread_t threads[4];
		long queued = 0;
		void *n;
		int at;

		for (at = 0; at < 4; at++)
			CHECK(!pthread_create(&threads[at], NULL, hammers, &work));
		for (at = 0; at < 4; at++) {
			CHECK(!pthread_join(threads[at], &n));
			queued += (long)n;
		}
		CHECK(cmwq_work_flush(&work) >= 0);
		EQUAL(LOAD(ran), (int)queued);
		return 0;
	}
	if (!strcmp(what, "small-stack")) {
		pthread_attr_t small;
		pthread_t thread;

		CHECK(!pthread_attr_init(&small) && !pthread_attr_setstacksize(&small, 64 << 10));
		CHECK(!pthread_create(&thread, &small, is_small, NULL));
		CHECK(!pthread_join(thread, NULL));
		EQUAL(LOAD(ran), 1);
		return 0;
	}
	if (!strcmp(what, "misaligned")) {
		char place[2 * sizeof(struct cmwq_work)] __attribute__((aligned(8)));
		struct cmwq_work *work = (struct cmwq_work *)(void *)(place + 1);

		memset(place, 0, sizeof(place));
		EQUAL(cmwq_queue_work(queue, work), -EINVAL);
		cmwq_work_init(work, count);
		return 0;
	}
	if (!strcmp(what, "handler")) {
		struct itimerval often = { { 0, 300 }, { 0, 300 } };
		struct cmwq_work work = CMWQ_WORK_INITIALIZER(count);
		int turn;

		CHECK(signal(SIGALRM, handler) != SIG_ERR);
		CHECK(!setitimer(ITIMER_REAL, &often, NULL));
		for (turn = 0; turn < 20000000; turn++)
			cmwq_work_pending(&work);
		return 77;
	}
	return 1;
}
