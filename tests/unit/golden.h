/* tests/unit/golden.h - files of tests/golden. */
#ifndef CAUSET_TESTS_UNIT_GOLDEN_H
#define CAUSET_TESTS_UNIT_GOLDEN_H

#include <stdio.h>
#include <stdlib.h>

#include "base/buffer.h"

/* Appends the file tests/golden/<name>; false when it cannot be read. */
static inline bool golden_load(const char *name, struct buffer *out)
{
	const char *folder = getenv("GOLDEN");
	char path[4096], *to;
	size_t n = 1;
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", folder ? folder : "tests/golden", name);
	f = fopen(path, "rb");
	if (!f) {
		fprintf(stderr, "%s: cannot be opened\n", path);
		return false;
	}
	while (n > 0 && (to = buffer_reserve(out, 65536))) {
		n = fread(to, 1, 65536, f);
		out->n += n;
	}
	fclose(f);
	return !out->failed;
}

#endif
