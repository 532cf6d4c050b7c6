/* tests/fuzz/replay_main.c - runs a fuzz target over a folder of saved inputs, without libFuzzer.
 *
 * usage: replay_X FOLDER
 *
 * Every file is given whole, cut off at a few lengths, and with single bytes changed.  Each input
 * is a fresh allocation of its exact size, so that a sanitizer sees a read one byte past the end.
 * An empty folder fails: it would test nothing.
 */
#include "fuzz.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#define REPLAY_MAX_FILE (16u << 20)

/* Which input is running, for the crash report. */
static void give(const char *name, const char *how, const uint8_t *bytes, size_t n, size_t damaged)
{
	uint8_t *input = malloc(n ? n : 1);
	static const uint8_t nothing;

	if (!input) {
		fprintf(stderr, "replay: out of memory\n");
		exit(2);
	}
	if (n)
		memcpy(input, bytes, n);
	if (damaged < n)
		input[damaged] ^= (uint8_t)(0x80 >> (damaged % 8));
	printf("%s %s %zu\n", name, how, damaged < n ? damaged : n);
	fflush(stdout);
	if (n)
		LLVMFuzzerTestOneInput(input, n);
	else
		LLVMFuzzerTestOneInput(&nothing, 0);
	free(input);
}

static void replay(const char *name, const uint8_t *bytes, size_t n)
{
	const size_t cuts[] = {0, 1, 2, 3, 7, n / 4, n / 2, n - n / 4, n > 0 ? n - 1 : 0};
	size_t step = n / 61 + 1;

	give(name, "whole", bytes, n, SIZE_MAX);
	for (size_t i = 0; i < sizeof(cuts) / sizeof(cuts[0]); i++)
		if (cuts[i] < n)
			give(name, "cut at", bytes, cuts[i], SIZE_MAX);
	for (size_t at = 0; at < n; at += step)
		give(name, "changed at", bytes, n, at);
}

static uint8_t *read_whole(const char *path, size_t *ret_n)
{
	FILE *f = fopen(path, "rb");
	uint8_t *bytes = NULL;
	long n;

	if (!f)
		return NULL;
	if (fseek(f, 0, SEEK_END) == 0 && (n = ftell(f)) >= 0 && n <= (long)REPLAY_MAX_FILE &&
	    fseek(f, 0, SEEK_SET) == 0) {
		bytes = malloc((size_t)n + 1);
		*ret_n = (size_t)n;
		if (bytes && fread(bytes, 1, (size_t)n, f) != (size_t)n) {
			free(bytes);
			bytes = NULL;
		}
	}
	fclose(f);
	return bytes;
}

int main(int argc, char **argv)
{
	struct dirent **entries = NULL;
	int count, files = 0, failed = 0;

	if (argc != 2) {
		fprintf(stderr, "usage: %s FOLDER\n", argv[0]);
		return 2;
	}
	count = scandir(argv[1], &entries, NULL, alphasort);
	if (count < 0) {
		fprintf(stderr, "%s: %s\n", argv[1], strerror(errno));
		return 2;
	}
	for (int i = 0; i < count; i++) {
		char path[4096];
		uint8_t *bytes;
		size_t n = 0;

		if (entries[i]->d_name[0] != '.') {
			snprintf(path, sizeof(path), "%s/%s", argv[1], entries[i]->d_name);
			bytes = read_whole(path, &n);
			if (bytes)
				replay(entries[i]->d_name, bytes, n);
			else
				failed++, fprintf(stderr, "%s: cannot be read\n", path);
			free(bytes);
			files++;
		}
		free(entries[i]);
	}
	free(entries);
	if (files == 0)
		fprintf(stderr, "%s: no inputs\n", argv[1]);
	return files == 0 || failed;
}
