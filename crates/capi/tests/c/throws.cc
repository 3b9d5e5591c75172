// An item that throws ends the process with a message: nothing unwinds through the library.
#include <cmwq.h>

static void throws(void *)
{
	throw 1;
}

int main()
{
	cmwq_submit(CMWQ_SYSTEM, throws, nullptr);
	cmwq_queue_flush(CMWQ_SYSTEM);
	return 0;
}
