/* A plugin that has the library in it (-DPLUGIN), and a host that closes it while it has threads. */
#include "check.h"

#ifdef PLUGIN
#include <cmwq.h>

int plugin_work(int *place);

static void count(void *place)
{
	ADD(*(int *)place, 1);
}

/* Leaves something behind that is queued. */
int plugin_work(int *place)
{
	int turn;

	for (turn = 0; turn < 100; turn++)
		EQUAL(cmwq_submit(CMWQ_SYSTEM_UNMANAGED, count, place), 0);
	return 100;
}
#else
#include <dlfcn.h>

int main(int argc, char **argv)
{
	int (*work)(int *place), counted = 0, queued;
	void *plugin, *again;

	CHECK(argc == 2);
	plugin = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
	if (!plugin)
		fprintf(stderr, "%s\n", dlerror());
	CHECK(plugin != NULL);
	*(void **)&work = dlsym(plugin, "plugin_work");
	CHECK(work != NULL);
	queued = work(&counted);
	EQUAL(dlclose(plugin), 0);
	AWAIT(LOAD(counted) == queued);
	/* Ticks and idle workers go on. */
	sleep_ms(200);
	again = dlopen(argv[1], RTLD_NOW | RTLD_NOLOAD);
	CHECK(again != NULL);
	EQUAL(work(&counted), queued);
	AWAIT(LOAD(counted) == 2 * queued);
	return 0;
}
#endif
