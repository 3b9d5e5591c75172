/*
 * As crates/runtime/examples/empty_items.rs, in C: what `cargo xtask capi-cost` measures.
 *
 * Usage: empty_items ROUNDS inside|outside
 */
#include <cmwq.h>
#include <string.h>

#include "check.h"

#define ITEMS 1000

static struct cmwq_work items[ITEMS];
static struct cmwq_queue *queue;

static void nothing(struct cmwq_work *work)
{
	(void)work;
}

static void fill(struct cmwq_work *work)
{
	int n;

	(void)work;
	for (n = 0; n < ITEMS; n++)
		CHECK(cmwq_queue_work(queue, &items[n]) == 1);
}

int main(int argc, char **argv)
{
	struct cmwq_queue_options options = CMWQ_QUEUE_OPTIONS_INITIALIZER;
	struct cmwq_work filler = CMWQ_WORK_INITIALIZER(fill);
	struct timespec begun, ended;
	long rounds = argc == 3 ? strtol(argv[1], NULL, 10) : -1;
	int n, inside = argc == 3 && !strcmp(argv[2], "inside");

	CHECK(rounds >= 0);
	options.max_active = 1024;
	if (inside)
		options.attrs.cpus.bits[0] = 1;
	CHECK(cmwq_queue_create("empty", &options, &queue) == 0);
	for (n = 0; n < ITEMS; n++)
		cmwq_work_init(&items[n], nothing);
	clock_gettime(CLOCK_MONOTONIC, &begun);
	while (rounds-- > 0) {
		if (inside)
			CHECK(cmwq_queue_work(queue, &filler) == 1);
		else
			fill(NULL);
		CHECK(cmwq_queue_drain(queue) == 0);
	}
	clock_gettime(CLOCK_MONOTONIC, &ended);
	printf("%lld\n", (long long)(ended.tv_sec - begun.tv_sec) * 1000000000 +
				 (ended.tv_nsec - begun.tv_nsec));
	return 0;
}
