/* base/cleanup.h - ownership made visible: the house's macros, all of them. */
#ifndef CAUSET_BASE_CLEANUP_H
#define CAUSET_BASE_CLEANUP_H

#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

/* Runs f(&variable) when the variable goes out of scope. */
#define _cleanup_(f) __attribute__((cleanup(f)))

/* Hands the pointer over: the variable becomes NULL, so its cleanup does nothing. */
#define TAKE_PTR(ptr)                                                                              \
	__extension__({                                                                            \
		__typeof__(ptr) *taken_from_ = &(ptr);                                             \
		__typeof__(ptr) taken_ = *taken_from_;                                             \
		*taken_from_ = NULL;                                                               \
		taken_;                                                                            \
	})

#define ARRAY_SIZE(array)               (sizeof(array) / sizeof((array)[0]))

#define container_of(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

/* <sys/param.h>, which libuv's header brings along, has its own, evaluating twice. */
#undef MIN
#undef MAX

#define MIN(a, b)                                                                                  \
	__extension__({                                                                            \
		__typeof__(a) min_a_ = (a);                                                        \
		__typeof__(b) min_b_ = (b);                                                        \
		min_a_ < min_b_ ? min_a_ : min_b_;                                                 \
	})

#define MAX(a, b)                                                                                  \
	__extension__({                                                                            \
		__typeof__(a) max_a_ = (a);                                                        \
		__typeof__(b) max_b_ = (b);                                                        \
		max_a_ > max_b_ ? max_a_ : max_b_;                                                 \
	})

static inline void freep(void *pointer_to_pointer)
{
	free(*(void **)pointer_to_pointer);
}

static inline void closep(int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

#endif
