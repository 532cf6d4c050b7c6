/* tests/unit/catalog/catalog_folder.h - a folder of a test's own, with a catalogue in it. */
#ifndef CAUSET_TESTS_UNIT_CATALOG_CATALOG_FOLDER_H
#define CAUSET_TESTS_UNIT_CATALOG_CATALOG_FOLDER_H

#include "t.h"

#include <stdio.h>
#include <stdlib.h>

#include "catalog/catalog.h"

struct catalog_folder {
	char path[64];
	char file[96];
};

static inline int catalog_folder_setup(void **state)
{
	struct catalog_folder *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->path, "/tmp/causet-test-XXXXXX");
	assert_non_null(mkdtemp(f->path));
	snprintf(f->file, sizeof(f->file), "%s/" CATALOG_FILE, f->path);
	*state = f;
	return 0;
}

static inline int catalog_folder_teardown(void **state)
{
	static const char *const suffixes[] = {"", "-wal", "-shm", "-journal"};
	struct catalog_folder *f = *state;
	char path[128];

	for (size_t i = 0; i < ARRAY_SIZE(suffixes); i++) {
		snprintf(path, sizeof(path), "%s%s", f->file, suffixes[i]);
		remove(path);
	}
	remove(f->path);
	free(f);
	return 0;
}

static inline struct catalog *catalog_folder_open(struct catalog_folder *f)
{
	struct catalog *cat = NULL;
	struct error e = {0};

	if (catalog_open(f->path, &cat, &e) < 0)
		fail_msg("%s", e.text);
	return cat;
}

#define catalog_test(f)                                                                            \
	cmocka_unit_test_setup_teardown(f, catalog_folder_setup, catalog_folder_teardown)

#endif
