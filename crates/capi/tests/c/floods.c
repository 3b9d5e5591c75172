/* Misuse in a loop: standard error is told ten times, and of another call all the same. */
#include <cmwq.h>

#include "check.h"

static void works(struct cmwq_work *work)
{
	(void)work;
}

int main(void)
{
	struct cmwq_queue *queue;
	struct cmwq_work work;
	int n;

	CHECK(!cmwq_queue_create("floods", NULL, &queue));
	cmwq_work_init(&work, works);
	for (n = 0; n < 10000; n++)
		CHECK(cmwq_queue_work(NULL, &work) < 0);
	CHECK(cmwq_work_flush(NULL) < 0);
	CHECK(cmwq_queue_work(queue, &work) == 1);
	CHECK(cmwq_work_flush(&work) >= 0);
	CHECK(cmwq_queue_destroy(queue) >= 0);
	return 0;
}
