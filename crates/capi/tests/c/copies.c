/*
 * Several copies of the library in one process: the archive in the program, and shared libraries
 * that it loads. An item and a queue belong to the copy that has seen them first.
 */
#include <cmwq.h>

#include <dlfcn.h>
#include <errno.h>
#include <string.h>

#include "check.h"

struct copy {
	int (*create)(const char *, const struct cmwq_queue_options *, struct cmwq_queue **);
	int (*destroy)(struct cmwq_queue *);
	int (*queue)(struct cmwq_queue *, struct cmwq_work *);
	int (*delayed)(struct cmwq_queue *, struct cmwq_work *, uint64_t);
	int (*mod)(struct cmwq_queue *, struct cmwq_work *, uint64_t);
	int (*flush)(struct cmwq_work *);
	int (*flush_delayed)(struct cmwq_work *);
	struct cmwq_work *(*current)(void);
};

static struct copy copies[3];
static int at, ran;

static void count(struct cmwq_work *work)
{
	int n;

	/* Only the copy whose worker this is knows of the item. */
	for (n = 0; n < 3; n++)
		CHECK(copies[n].current() == (n == LOAD(at) ? work : NULL));
	ADD(ran, 1);
}

static void *find(void *library, const char *name)
{
	void *found = dlsym(library, name);

	CHECK(found != NULL);
	return found;
}

static void load(struct copy *copy, const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);

	CHECK(library != NULL);
	*(void **)&copy->create = find(library, "cmwq_queue_create");
	*(void **)&copy->destroy = find(library, "cmwq_queue_destroy");
	*(void **)&copy->queue = find(library, "cmwq_queue_work");
	*(void **)&copy->delayed = find(library, "cmwq_queue_delayed_work");
	*(void **)&copy->mod = find(library, "cmwq_mod_delayed_work");
	*(void **)&copy->flush = find(library, "cmwq_work_flush");
	*(void **)&copy->flush_delayed = find(library, "cmwq_delayed_work_flush");
	*(void **)&copy->current = find(library, "cmwq_current_work");
}

int main(int argc, char **argv)
{
	static struct cmwq_work works[3] = { CMWQ_WORK_INITIALIZER(count),
					     CMWQ_WORK_INITIALIZER(count),
					     CMWQ_WORK_INITIALIZER(count) };
	struct copy own = { cmwq_queue_create,	     cmwq_queue_destroy,    cmwq_queue_work,
			    cmwq_queue_delayed_work, cmwq_mod_delayed_work, cmwq_work_flush,
			    cmwq_delayed_work_flush, cmwq_current_work };
	struct cmwq_queue *queues[3];
	const char *checked = getenv("CMWQ_CHECKED");
	int turn;

	CHECK(argc == 3);
	copies[0] = own;
	load(&copies[1], argv[1]);
	load(&copies[2], argv[2]);
	CHECK(copies[1].queue != copies[2].queue && copies[1].queue != own.queue);
	for (turn = 0; turn < 3; turn++)
		EQUAL(copies[turn].create("of a copy", NULL, &queues[turn]), 0);
	for (turn = 0; turn < 3; turn++) {
		struct copy *copy = &copies[turn];

		STORE(at, turn);
		EQUAL(copy->queue(queues[turn], &works[turn]), 1);
		CHECK(copy->flush(&works[turn]) >= 0);
		/* These call another exported function, which is to be that of the same copy. */
		EQUAL(copy->delayed(queues[turn], &works[turn], UINT64_C(3600000000000)), 1);
		EQUAL(copy->mod(queues[turn], &works[turn], UINT64_C(3600000000001)), 1);
		EQUAL(copy->flush_delayed(&works[turn]), 1);
		EQUAL(LOAD(ran), 2 * (turn + 1));
		/* An item that another copy has seen. With checks, copies know nothing of each other. */
		if (turn > 0 && !(checked && *checked))
			EQUAL(copy->queue(queues[turn], &works[turn - 1]), -EINVAL);
	}
	for (turn = 0; turn < 3; turn++)
		EQUAL(copies[turn].destroy(queues[turn]), 0);
	return 0;
}
