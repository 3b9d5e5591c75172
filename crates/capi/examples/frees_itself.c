/*
 * Requests that nobody waits for: each embeds its item, and frees itself when it is done. The
 * library does not touch an item after its function was called.
 *
 *     cc frees_itself.c $(pkg-config --cflags --libs cmwq)
 */
#include <cmwq.h>

#include <stdio.h>
#include <stdlib.h>

struct request {
	int number;
	struct cmwq_work work;
};

static unsigned long sum;

static void serve(struct cmwq_work *work)
{
	struct request *request = cmwq_container_of(work, struct request, work);

	__atomic_add_fetch(&sum, (unsigned long)request->number, __ATOMIC_SEQ_CST);
	free(request);
}

int main(void)
{
	int n;

	for (n = 1; n <= 1000; n++) {
		struct request *request = (struct request *)malloc(sizeof(*request));

		if (!request)
			return 2;
		request->number = n;
		cmwq_work_init(&request->work, serve);
		if (cmwq_queue_work(CMWQ_SYSTEM, &request->work) < 0) {
			free(request);
			return 1;
		}
	}
	cmwq_queue_flush(CMWQ_SYSTEM);
	printf("%lu\n", sum);
	return sum == 500500 ? 0 : 1;
}
