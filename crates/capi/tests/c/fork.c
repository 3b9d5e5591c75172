/* A child process has its own system queues, and refuses what its parent has made. */
#include <cmwq.h>

#include <errno.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check.h"

static int ran;

static void count(struct cmwq_work *work)
{
	(void)work;
	ADD(ran, 1);
}

static struct cmwq_work item = CMWQ_WORK_INITIALIZER(count);

int main(void)
{
	struct cmwq_queue *queue = NULL;
	int status;
	pid_t child;

	EQUAL(cmwq_queue_create("parent", NULL, &queue), 0);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	EQUAL(cmwq_queue_flush(queue), 0);
	EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &item), 1);
	EQUAL(cmwq_queue_flush(CMWQ_SYSTEM), 0);
	child = fork();
	CHECK(child >= 0);
	if (child == 0) {
		struct cmwq_work own = CMWQ_WORK_INITIALIZER(count);
		struct cmwq_queue *queue_of_child = NULL;

		EQUAL(cmwq_queue_work(queue, &own), -ECHILD);
		EQUAL(cmwq_queue_flush(queue), -ECHILD);
		EQUAL(cmwq_queue_destroy(queue), 0);
		EQUAL(cmwq_queue_work(CMWQ_SYSTEM, &own), 1);
		EQUAL(cmwq_queue_flush(CMWQ_SYSTEM), 0);
		EQUAL(cmwq_queue_create("child", NULL, &queue_of_child), 0);
		EQUAL(cmwq_queue_work(queue_of_child, &own), 1);
		EQUAL(cmwq_queue_destroy(queue_of_child), 0);
		EQUAL(LOAD(ran), 4);
		_exit(0);
	}
	CHECK(waitpid(child, &status, 0) == child);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	EQUAL(cmwq_queue_work(queue, &item), 1);
	EQUAL(cmwq_queue_destroy(queue), 0);
	EQUAL(LOAD(ran), 3);
	return 0;
}
