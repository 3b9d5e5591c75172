/* One misuse, named by the first argument, which CMWQ_CHECKED=1 ends with a message. */
#include <cmwq.h>

#include <string.h>
#include <sys/mman.h>

#include "check.h"

#define HOUR (UINT64_C(3600) * 1000 * 1000 * 1000)

void works(struct cmwq_work *work);
void works(struct cmwq_work *work)
{
	(void)work;
}

void other(struct cmwq_work *work);
void other(struct cmwq_work *work)
{
	(void)work;
}

static int entered;

void stays(struct cmwq_work *work);
void stays(struct cmwq_work *work)
{
	(void)work;
	STORE(entered, 1);
	sleep_ms(60000);
}

int main(int argc, char **argv)
{
	struct cmwq_queue *queue = NULL;
	struct cmwq_work *work = (struct cmwq_work *)malloc(4096);
	struct cmwq_work zero;
	const char *what = argc > 1 ? argv[1] : "";

	EQUAL(cmwq_queue_create("tested", NULL, &queue), 0);
	CHECK(work != NULL);
	cmwq_work_init(work, works);
	memset(&zero, 0, sizeof(zero));
	if (!strcmp(what, "null-item"))
		cmwq_queue_work(queue, NULL);
	if (!strcmp(what, "null-queue"))
		cmwq_queue_work(NULL, work);
	if (!strcmp(what, "zero"))
		cmwq_queue_work(queue, &zero);
	if (!strcmp(what, "no-queue"))
		cmwq_queue_work((struct cmwq_queue *)(void *)argv, work);
	if (!strcmp(what, "destroyed-queue")) {
		cmwq_queue_destroy(queue);
		cmwq_queue_work(queue, work);
	}
	if (!strcmp(what, "destroyed-pending")) {
		cmwq_queue_delayed_work(queue, work, HOUR);
		cmwq_work_destroy(work);
	}
	if (!strcmp(what, "destroyed-running")) {
		cmwq_work_init(work, stays);
		cmwq_queue_work(queue, work);
		AWAIT(LOAD(entered));
		cmwq_work_destroy(work);
	}
	if (!strcmp(what, "initialised-pending")) {
		cmwq_queue_delayed_work(queue, work, HOUR);
		cmwq_work_init(work, works);
	}
	if (!strcmp(what, "overwritten")) {
		cmwq_queue_delayed_work(queue, work, 1000000);
		memset(work, 0x5a, sizeof(*work));
		sleep_ms(60000);
	}
	if (!strcmp(what, "freed")) {
		cmwq_queue_delayed_work(queue, work, 1000000);
		free(work);
		sleep_ms(60000);
	}
	if (!strcmp(what, "reused")) {
		/* The memory is another item now, which nobody has initialised by the library. */
		struct cmwq_work another = CMWQ_WORK_INITIALIZER(other);

		cmwq_queue_delayed_work(queue, work, HOUR);
		memcpy(work, &another, sizeof(another));
		cmwq_queue_work(queue, work);
	}
	if (!strcmp(what, "unmapped")) {
		struct cmwq_work *page = (struct cmwq_work *)mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		cmwq_work_init(page, works);
		cmwq_queue_delayed_work(queue, page, 50000000);
		munmap(page, 4096);
		sleep_ms(60000);
	}
	return 0;
}
