/* base/log.c - one line on standard error for the person who runs the server. */
#include "base/log.h"

#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "core/clock.h"

#define LOG_LINE_MAX 2048

static _Atomic int most = LOG_LEVEL_INFO;

void log_set_level(enum log_level level)
{
	atomic_store_explicit(&most, (int)level, memory_order_relaxed);
}

static int prefix(char *out, size_t n, enum log_level level)
{
	static const char *const words[] = {"error", "warn", "info", "debug"};
	static const int journal[] = {3, 4, 6, 7}; /* syslog's numbers */
	int64_t now = clock_wall_ns();
	time_t seconds = (time_t)(now / NS_PER_S);
	char stamp[32];
	struct tm t;

	if (getenv("JOURNAL_STREAM"))
		return snprintf(out, n, "<%d>", journal[level]);
	gmtime_r(&seconds, &t);
	strftime(stamp, sizeof(stamp), "%Y-%m-%dT%H:%M:%S", &t);
	return snprintf(out, n, "%s.%03dZ %s ", stamp, (int)(now / NS_PER_MS % 1000), words[level]);
}

void log_line(enum log_level level, const char *format, ...)
{
	char line[LOG_LINE_MAX];
	va_list args;
	int n, head;

	if ((int)level > atomic_load_explicit(&most, memory_order_relaxed))
		return;
	head = prefix(line, sizeof(line), level);
	va_start(args, format);
	n = vsnprintf(line + head, sizeof(line) - (size_t)head - 1, format, args);
	va_end(args);
	if (n < 0)
		return;
	n += head;
	if ((size_t)n > sizeof(line) - 2)
		n = (int)sizeof(line) - 2;
	for (int i = head; i < n; i++)
		if ((unsigned char)line[i] < ' ')
			line[i] = ' '; /* bytes from outside cannot forge a second line */
	line[n++] = '\n';
	(void)!write(STDERR_FILENO, line, (size_t)n);
}
