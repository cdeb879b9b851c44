/* SPDX-License-Identifier: MIT */
/*
 * replay FOLDER [SECONDS]: gives every file of the folder to the target of a fuzzer, which may take so long for each,
 * and prints its name before, on standard error; at the end how many they were.
 */
#include <dirent.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int replay(const char *folder, const char *name, unsigned seconds)
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
	fprintf(stderr, "%s\n", name);
	alarm(seconds);
	LLVMFuzzerTestOneInput(data, n);
	return 1;
}

int main(int argc, char **argv)
{
	DIR *d = argc == 2 || argc == 3 ? opendir(argv[1]) : NULL;
	struct dirent *e;
	unsigned n = 0;

	if (!d)
		return 2;
	while ((e = readdir(d)))
		if (e->d_name[0] != '.')
			n += (unsigned)replay(argv[1], e->d_name, argc == 3 ? (unsigned)atoi(argv[2]) : 2);
	closedir(d);
	printf("%u\n", n);
	return 0;
}
