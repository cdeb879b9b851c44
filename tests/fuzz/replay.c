/* SPDX-License-Identifier: MIT */
/* replay FOLDER: gives every file of the folder to the target of a fuzzer; prints how many. */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name)
{
	static uint8_t data[1 << 16];
	char path[4096];
	size_t n;
	FILE *f;

	snprintf(path, sizeof path, "%s/%s", folder, name);
	f = fopen(path, "re");
	if (!f)
		return 0;
	n = fread(data, 1, sizeof data, f);
	fclose(f);
	alarm(2);
	LLVMFuzzerTestOneInput(data, n);
	return 1;
}

int main(int argc, char **argv)
{
	DIR *d = argc == 2 ? opendir(argv[1]) : NULL;
	struct dirent *e;
	unsigned n = 0;

	if (!d)
		return 2;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n += (unsigned)replay(argv[1], e->d_name);
	closedir(d);
	printf("%u\n", n);
	return 0;
}
