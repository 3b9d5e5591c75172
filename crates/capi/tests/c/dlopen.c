/*
 * Loads the library, uses it and closes it while its threads live: it stays. Then a plugin: its
 * items have to end before it goes.
 */
#include <dlfcn.h>
#include <stddef.h>
#include <stdint.h>

#include "check.h"

typedef int submit_fn(void *queue, void (*func)(void *), void *arg);
typedef int flush_fn(void *queue);

static void count(void *arg)
{
	ADD(*(int *)arg, 1);
}

int main(int argc, char **argv)
{
	int round, counted = 0;
	void *system = (void *)(uintptr_t)1;

	CHECK(argc == 2);
	for (round = 1; round <= 3; round++) {
		void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
		submit_fn *submit;
		flush_fn *flush;

		if (!library)
			fprintf(stderr, "%s\n", dlerror());
		CHECK(library != NULL);
		*(void **)&submit = dlsym(library, "cmwq_submit");
		*(void **)&flush = dlsym(library, "cmwq_queue_flush");
		CHECK(submit && flush);
		EQUAL(submit(system, count, &counted), 0);
		EQUAL(flush(system), 0);
		EQUAL(LOAD(counted), round);
		EQUAL(submit(system, count, &counted), 0);
		dlclose(library);
		/* What was queued runs all the same. */
		AWAIT(LOAD(counted) == round + 1);
		counted = round;
	}
	return 0;
}
