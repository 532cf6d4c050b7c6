/* cli/progress.c - one line on a terminal that says how far a long job has come. */
#include "cli/progress.h"

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

void progress_update(struct progress *p, uint64_t done, uint64_t total)
{
	_cleanup_(buffer_done)
	struct buffer line = {0};
	char size[QUANTITY_TEXT_BYTES], rate[QUANTITY_TEXT_BYTES];
	int64_t now;

	if (!p->shown)
		return;
	now = clock_mono_ns();
	if (now < p->next_ns)
		return;
	p->next_ns = now + INTERVAL_NS;
	size_format(done, size);
	size_format((uint64_t)((double)done * 1e9 / (double)(now - p->began_ns)), rate);
	buffer_text(&line, "\r\x1b[K");
	text_put(&line, slice_cstr(p->what), 30);
	if (total) {
		size_t filled = (size_t)(MIN(done, total) * BAR_COLUMNS / total);

		buffer_text(&line, " [");
		text_repeat(&line, "#", filled);
		text_repeat(&line, "-", BAR_COLUMNS - filled);
		buffer_printf(&line, "] %3d%%", (int)(MIN(done, total) * 100 / total));
	}
	buffer_printf(&line, " %s, %s/s", size, rate);
	(void)!write(STDERR_FILENO, buffer_cstr(&line), line.n);
}

void progress_end(struct progress *p)
{
	if (p->shown)
		(void)!write(STDERR_FILENO, "\r\x1b[K", 4);
	p->shown = false;
}
