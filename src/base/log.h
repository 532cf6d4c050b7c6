/* base/log.h - one line on standard error for the person who runs the server.  Only edges log. */
#ifndef CAUSET_BASE_LOG_H
#define CAUSET_BASE_LOG_H

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARN, LOG_LEVEL_INFO, LOG_LEVEL_DEBUG };

/* Lines above this level are not written.  Default: info.  Any thread. */
void log_set_level(enum log_level level);

/* "2026-01-02T03:04:05.678Z info text", or "<6>text" where systemd's journal reads standard error
 * (JOURNAL_STREAM is set).  One write(2) per line; any thread. */
void log_line(enum log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_error(...) log_line(LOG_LEVEL_ERROR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_LEVEL_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_LEVEL_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_LEVEL_DEBUG, __VA_ARGS__)

#endif
