/* What malloc keeps goes back to the system when a thread says so. */
#include "t.h"

#include <fcntl.h>
#include <pthread.h>
#include <unistd.h>

#include "base/heap.h"

#define PIECE ((size_t)32 << 10)

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define HEAP_IS_OURS 0 /* they bring a malloc of their own */
#else
#define HEAP_IS_OURS 1
#endif

struct sizes {
	long used, freed, trimmed; /* resident bytes */
};

/* Without a FILE, which would lie at the end of the heap. */
static long resident(void)
{
	char text[128] = "";
	int fd = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_true(read(fd, text, sizeof(text) - 1) > 0);
	close(fd);
	return strtol(strchr(text, ' '), NULL, 10) * sysconf(_SC_PAGESIZE);
}

static void *use_and_trim(void *context)
{
	enum { N = 1500 }; /* a heap holds 64 MiB */
	struct sizes *s = context;
	char *pieces[N];

	for (size_t i = 0; i < N; i++) {
		pieces[i] = malloc(PIECE);
		assert_non_null(pieces[i]);
		memset(pieces[i], 1, PIECE);
	}
	s->used = resident();
	for (size_t i = 0; i < N; i++)
		free(pieces[i]);
	s->freed = resident();
	heap_trim_own();
	s->trimmed = resident();
	return NULL;
}

static void the_end_of_a_threads_heap_is_kept_until_the_thread_gives_it_back(void **state)
{
	const long most = 40 << 20;
	struct sizes s;
	pthread_t thread;

	heap_keep();
	assert_int_equal(pthread_create(&thread, NULL, use_and_trim, &s), 0);
	pthread_join(thread, NULL);
	if (!HEAP_IS_OURS)
		return;
	assert_true(s.used - s.freed < most);
	assert_true(s.freed - s.trimmed >= most);
}

static void trimming_is_harmless_when_there_is_nothing(void **state)
{
	heap_trim();
	heap_trim();
	heap_trim_own();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(trimming_is_harmless_when_there_is_nothing),
		cmocka_unit_test(the_end_of_a_threads_heap_is_kept_until_the_thread_gives_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
