// What throws ends the process with a message, wherever the library has called it: nothing unwinds
// through the library. Only what is called on the program's own stack may throw.
#include <cmwq.h>

#include <cstring>

static void throws(void *)
{
	throw 1;
}

static void throws_work(struct cmwq_work *)
{
	throw 1;
}

static void throws_units(unsigned long, unsigned long, void *)
{
	throw 1;
}

static int fails_units(unsigned long start, unsigned long, void *)
{
	return start >= 500 ? -1 : 0;
}

static void does_units(unsigned long, unsigned long, void *)
{
}

static int throws_asked(void *)
{
	throw 1;
}

static void throws_call(void *, uint64_t)
{
	throw 1;
}

static void throws_report(const struct cmwq_report *, void *)
{
	throw 1;
}

static int run_job(const char *what)
{
	struct cmwq_job job = {};

	job.struct_size = sizeof(job);
	job.size = 1000;
	job.func = does_units;
	if (!std::strcmp(what, "job"))
		job.func = throws_units;
	if (!std::strcmp(what, "undo")) {
		job.func = nullptr;
		job.try_func = fails_units;
		job.undo = throws_units;
	}
	if (!std::strcmp(what, "progress"))
		job.progress = throws_units;
	if (!std::strcmp(what, "cancelled"))
		job.cancelled = throws_asked;
	return cmwq_run_job(&job);
}

int main(int argc, char **argv)
{
	static struct cmwq_work work = CMWQ_WORK_INITIALIZER(throws_work);
	const char *what = argc > 1 ? argv[1] : "";

	if (!std::strcmp(what, "blocking")) {
		try {
			cmwq_blocking(throws, nullptr);
		} catch (int thrown) {
			return thrown == 1 ? 0 : 1;
		}
		return 1;
	}
	if (!std::strcmp(what, "submit"))
		cmwq_submit(CMWQ_SYSTEM, throws, nullptr);
	if (!std::strcmp(what, "item"))
		cmwq_queue_work(CMWQ_SYSTEM, &work);
	if (!std::strcmp(what, "each-cpu"))
		cmwq_on_each_cpu(CMWQ_SYSTEM_PERCPU, throws_work);
	if (!std::strcmp(what, "async")) {
		cmwq_async_schedule(nullptr, throws_call, nullptr);
		cmwq_async_synchronize_full(nullptr);
	}
	if (!std::strcmp(what, "hook")) {
		cmwq_set_report_hook(throws_report, nullptr);
		cmwq_queue_work(nullptr, nullptr);
	}
	run_job(what);
	cmwq_work_flush(&work);
	cmwq_queue_flush(CMWQ_SYSTEM);
	return 0;
}
