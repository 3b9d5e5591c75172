/*
 * Prints a checksum (FNV-1a) and the name of each file. Reading waits for the disk, so other files
 * are read meanwhile; computing keeps the CPUs busy and no more.
 *
 *     cc checksum.c $(pkg-config --cflags --libs cmwq) -o checksum
 *     find /usr/include -type f | xargs ./checksum
 */
#include <cmwq.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct file {
	const char *name;
	uint64_t sum;
	int error;
	struct cmwq_work work;
};

static void checksum(struct cmwq_work *work)
{
	struct file *file = cmwq_container_of(work, struct file, work);
	unsigned char block[65536];
	size_t n, i;
	FILE *in = fopen(file->name, "rb");

	if (!in) {
		file->error = errno;
		return;
	}
	file->sum = UINT64_C(0xcbf29ce484222325);
	while ((n = fread(block, 1, sizeof(block), in)) > 0)
		for (i = 0; i < n; i++)
			file->sum = (file->sum ^ block[i]) * UINT64_C(0x100000001b3);
	if (ferror(in))
		file->error = EIO;
	fclose(in);
}

int main(int argc, char **argv)
{
	struct file *files = (struct file *)calloc((size_t)argc, sizeof(*files));
	struct cmwq_queue *queue = NULL;
	int n, failed = 0;

	if (!files || cmwq_queue_create("checksum", NULL, &queue) < 0)
		return 2;
	for (n = 1; n < argc; n++) {
		files[n].name = argv[n];
		cmwq_work_init(&files[n].work, checksum);
		cmwq_queue_work(queue, &files[n].work);
	}
	/* Waits for all items. */
	cmwq_queue_destroy(queue);
	for (n = 1; n < argc; n++) {
		if (files[n].error) {
			fprintf(stderr, "%s: %s\n", files[n].name, strerror(files[n].error));
			failed = 1;
		} else {
			printf("%016llx  %s\n", (unsigned long long)files[n].sum, files[n].name);
		}
	}
	free(files);
	return failed;
}
