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

static int opened;

void gate(struct cmwq_work *work);
void gate(struct cmwq_work *work)
{
	(void)work;
	AWAIT(LOAD(opened));
}

/* The item is pending until the gate is opened, however slow the machine is. */
static void pend_behind_gate(struct cmwq_work *work)
{
	static struct cmwq_work first = CMWQ_WORK_INITIALIZER(gate);
	static struct cmwq_queue *line;
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;

	options.kind = CMWQ_ORDERED;
	EQUAL(cmwq_queue_create("line", &options, &line), 0);
	EQUAL(cmwq_queue_work(line, &first), 1);
	EQUAL(cmwq_queue_work(line, work), 1);
}

static void open_gate(void)
{
	STORE(opened, 1);
	sleep_ms(60000);
}

/* The item is gone when this returns; the second call puts something else in its place. */
static __attribute__((noinline)) void on_stack(int is_item, int byte)
{
	volatile char place[4096];
	struct cmwq_work *work = (struct cmwq_work *)(void *)(((uintptr_t)place + 63) & ~(uintptr_t)63);
	size_t n;

	if (is_item) {
		cmwq_work_init(work, works);
		pend_behind_gate(work);
		return;
	}
	for (n = 0; n < sizeof(place); n++)
		place[n] = (char)byte;
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
		pend_behind_gate(work);
		memset(work, 0x5a, sizeof(*work));
		open_gate();
	}
	if (!strcmp(what, "freed")) {
		pend_behind_gate(work);
		free(work);
		open_gate();
	}
	if (!strcmp(what, "reused")) {
		/* The memory is another item now, which nobody has initialised by the library. */
		struct cmwq_work another = CMWQ_WORK_INITIALIZER(other);

		cmwq_queue_delayed_work(queue, work, HOUR);
		memcpy(work, &another, sizeof(another));
		cmwq_queue_work(queue, work);
	}
	if (!strcmp(what, "stack-gone")) {
		on_stack(1, 0);
		on_stack(0, 0x5a);
		open_gate();
	}
	if (!strcmp(what, "garbage"))
		cmwq_queue_work(queue, (struct cmwq_work *)(uintptr_t)0x123456788);
	if (!strcmp(what, "destroyed-twice")) {
		cmwq_queue_destroy(queue);
		cmwq_queue_destroy(queue);
	}
	if (!strcmp(what, "copied")) {
		/* A copy is another item, which the first one does not feel. */
		static struct cmwq_work copy;

		cmwq_queue_delayed_work(queue, work, HOUR);
		memcpy(&copy, work, sizeof(copy));
		EQUAL(cmwq_work_cancel(&copy), 0);
		EQUAL(cmwq_queue_work(queue, &copy), 1);
		CHECK(cmwq_work_flush(&copy) >= 0);
		EQUAL(cmwq_work_cancel_sync(work), 1);
	}
	if (!strcmp(what, "unmapped")) {
		struct cmwq_work *page = (struct cmwq_work *)mmap(
			NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		cmwq_work_init(page, works);
		pend_behind_gate(page);
		munmap(page, 4096);
		open_gate();
	}
	return 0;
}
