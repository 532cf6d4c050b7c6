/* cli/progress.c - one line on a terminal that says how far a long job has come. */
#include "cli/progress.h"

#include <stdio.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/quantity.h"
#include "cli/text.h"
#include "core/clock.h"

#define BAR_COLUMNS 30
#define INTERVAL_NS (NS_PER_S / 10)
#define PATIENCE_NS (NS_PER_S / 2) /* short jobs show nothing */

struct progress progress_start(const struct cli *cli, const char *what)
{
	int64_t now = clock_mono_ns();

	return (struct progress){.shown = isatty(STDERR_FILENO) && !cli->quiet,
				 .what = what,
				 .began_ns = now,
				 .next_ns = now + PATIENCE_NS,
				 .columns = cli->columns};
}

/* Is it time to draw?  Seconds since the begin, or 0. */
static double due(struct progress *p)
{
	int64_t now;

	if (!p->shown)
		return 0;
	now = clock_mono_ns();
	if (now < p->next_ns)
		return 0;
	p->next_ns = now + INTERVAL_NS;
	return (double)(now - p->began_ns) / 1e9;
}

static void draw(struct progress *p, uint64_t done, uint64_t total, const char *detail)
{
	_cleanup_(buffer_done)
	struct buffer line = {0};

	buffer_text(&line, "\r\x1b[K");
	text_put(&line, slice_cstr(p->what), 30);
	if (total) {
		size_t filled = (size_t)(MIN(done, total) * BAR_COLUMNS / total);

		buffer_text(&line, " [");
		text_repeat(&line, "#", filled);
		text_repeat(&line, "-", BAR_COLUMNS - filled);
		buffer_printf(&line, "] %3d%%", (int)(MIN(done, total) * 100 / total));
	}
	buffer_printf(&line, " %s", detail);
	(void)!write(STDERR_FILENO, buffer_cstr(&line), line.n);
	p->drawn = true;
}

void progress_update(struct progress *p, uint64_t done, uint64_t total)
{
	char size[QUANTITY_TEXT_BYTES], rate[QUANTITY_TEXT_BYTES],
		detail[2 * QUANTITY_TEXT_BYTES + 8];
	double seconds = due(p);

	if (seconds <= 0)
		return;
	size_format(done, size);
	size_format((uint64_t)((double)done / seconds), rate);
	snprintf(detail, sizeof(detail), "%s, %s/s", size, rate);
	draw(p, done, total, detail);
}

void progress_rows(struct progress *p, uint64_t rows, uint64_t done, uint64_t total)
{
	double seconds = due(p);
	char detail[80];

	if (seconds <= 0)
		return;
	snprintf(detail, sizeof(detail), "%.4g million, %.3g million/s", (double)rows / 1e6,
		 (double)rows / 1e6 / seconds);
	draw(p, done, total, detail);
}

void progress_end(struct progress *p)
{
	if (p->shown && p->drawn)
		(void)!write(STDERR_FILENO, "\r\x1b[K", 4);
	p->shown = false;
}
