/* base/rng.c - random numbers: from the kernel for secrets and seeds, fast ones for the rest. */
#include "base/rng.h"

#include <pthread.h>
#include <stdlib.h>
#include <sys/random.h>

void rng_secret(void *out, size_t n)
{
	char *p = out;

	while (n > 0) {
		ssize_t got = getrandom(p, n, 0);

		if (got < 0)
			continue; /* EINTR; nothing else can happen on a booted kernel */
		p += got;
		n -= (size_t)got;
	}
}

static uint64_t process_seed;
static pthread_once_t process_seed_once = PTHREAD_ONCE_INIT;

static void choose_seed(void)
{
	rng_secret(&process_seed, sizeof(process_seed));
}

uint64_t rng_process_seed(void)
{
	pthread_once(&process_seed_once, choose_seed);
	return process_seed;
}
