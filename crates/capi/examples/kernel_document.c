/*
 * The example of the kernel's document "Workqueue", section "Example Execution Scenarios": w0 burns
 * 5 ms, sleeps 10 ms and burns 5 ms; w1 and w2 burn 5 ms and sleep 10 ms. All are queued on one CPU.
 * While one sleeps,
 * the next one begins.
 *
 *     cc kernel_document.c $(pkg-config --cflags --libs cmwq) \
 *         -I$(pkg-config --variable=includedir cmwq)/cmwq
 */
#define _GNU_SOURCE
#include <linux/workqueue.h>

#include <stdio.h>
#include <time.h>

struct scene {
	struct work_struct work;
	const char *name;
	int burns_again;
};

static int began, ended;

static double now_ms(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (double)time.tv_sec * 1e3 + (double)time.tv_nsec / 1e6;
}

static void burn(double ms)
{
	double end = now_ms(CLOCK_THREAD_CPUTIME_ID) + ms;

	while (now_ms(CLOCK_THREAD_CPUTIME_ID) < end)
		;
}

static void nap(void *arg)
{
	struct timespec ten_ms = { 0, 10000000 };

	(void)arg;
	nanosleep(&ten_ms, NULL);
}

static void play(struct work_struct *work)
{
	struct scene *scene = cmwq_container_of(work, struct scene, work);

	__atomic_add_fetch(&began, 1, __ATOMIC_SEQ_CST);
	printf("%s starts and burns CPU\n", scene->name);
	burn(5);
	printf("%s sleeps\n", scene->name);
	/* Said, it is noticed at once; unsaid, a little later. */
	cmwq_blocking(nap, NULL);
	printf("%s wakes up\n", scene->name);
	if (scene->burns_again) {
		burn(5);
		__atomic_store_n(&ended, 1, __ATOMIC_SEQ_CST);
	}
	printf("%s finishes\n", scene->name);
}

int main(void)
{
	static struct scene scenes[] = {
		{ .name = "w0", .burns_again = 1 }, { .name = "w1" }, { .name = "w2" }
	};
	struct workqueue_struct *wq = alloc_workqueue("q0", WQ_PERCPU, 0);
	size_t n;

	if (!wq)
		return 2;
	for (n = 0; n < 3; n++) {
		INIT_WORK(&scenes[n].work, play);
		queue_work_on(0, wq, &scenes[n].work);
	}
	destroy_workqueue(wq);
	return began == 3 && ended ? 0 : 1;
}
