/* cli/formats.c - names of formats on the command line. */
#include "cli/formats.h"

#include "base/cleanup.h"

int format_find(const struct cli *cli, const char *name, const struct codec **ret_codec)
{
	_cleanup_(buffer_done)
	struct buffer all = {0};
	const struct codec *list;
	size_t n;

	*ret_codec = name ? codec_find(slice_cstr(name)) : NULL;
	if (!name || *ret_codec)
		return EXIT_OK;
	list = codec_list(&n);
	for (size_t i = 0; i < n; i++)
		buffer_printf(&all, "\n  %-14s%s", list[i].name, list[i].title);
	return cli_usage(cli, "there is no format '%s'; these are:%s", name, buffer_cstr(&all));
}
