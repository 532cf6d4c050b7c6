#include "t.h"

#include "batch_equal.h"

/* The same content, with other codes and other places when `shifted`. */
static struct batch *sample(bool shifted)
{
	struct batch *b = batch_new(0);
	struct event *e;
	struct attr a;
	uint32_t list;

	assert_non_null(b);
	if (shifted) {
		batch_string(b, SLICE("something else"));
		batch_resource(b);
		batch_scope(b);
		batch_attr_int(b, SLICE("nobody's"), 1);
	}
	uint32_t resource = batch_resource(b), scope = batch_scope(b);

	b->resources[resource].attrs = (struct attr_range){(uint32_t)b->attr_n, 1};
	batch_attr_string(b, SLICE("service.name"), SLICE("shop"));
	b->scopes[scope].name = batch_string(b, SLICE("library"));
	list = batch_nested(b, 2);
	b->nested[list] = batch_int(b, 7);
	b->nested[list + 1] =
		(struct attr){.type = VALUE_STRING, .string = batch_string(b, SLICE("seven"))};
	e = batch_event(b);
	e->resource = resource;
	e->scope = scope;
	e->trace_id.b[15] = 1;
	e->id1 = 2;
	e->name = batch_string(b, SLICE("op"));
	e->attrs = (struct attr_range){(uint32_t)b->attr_n, 1};
	a = batch_list(b, VALUE_ARRAY, (struct value_range){list, 2});
	a.key = batch_string(b, SLICE("list"));
	batch_attr(b, a);
	batch_extra(b, 0)->status_message = batch_string(b, SLICE("ok"));
	return b;
}

static void codes_and_places_do_not_matter(void **state)
{
	_cleanup_(batch_unrefp)
	struct batch *a = sample(false), *b = sample(true);

	assert_true(batch_check(a));
	assert_true(batch_check(b));
	assert_batch_equal(a, b);
}

static void every_difference_is_seen(void **state)
{
	for (int change = 0;; change++) {
		_cleanup_(batch_unrefp)
		struct batch *a = sample(false), *b = sample(true);
		struct batch_difference why = {""};
		struct event *e = &b->events[0];

		switch (change) {
		case 0:
			e->trace_id.b[0] = 1;
			break;
		case 1:
			e->id2 = 9;
			break;
		case 2:
			e->name = batch_string(b, SLICE("other"));
			break;
		case 3:
			b->nested[0].word = 8;
			break;
		case 4:
			b->nested[0].type = VALUE_DOUBLE;
			break;
		case 5:
			b->wides[b->attrs[e->attrs.first].word - ATTR_WIDE] = 1ULL << 32;
			break;
		case 6:
			b->resources[e->resource].schema_url = e->name;
			break;
		case 7:
			b->scopes[e->scope].version = e->name;
			break;
		case 8:
			b->extras[e->extra].dropped_links = 1;
			break;
		case 9:
			e->attrs.count = 0;
			break;
		case 10:
			*batch_event(b) = *e;
			break;
		case 11:
			b->attrs[b->resources[e->resource].attrs.first].string = e->name;
			break;
		case 12:
			batch_place(b, 0, (struct event_place){.unit = 1});
			break;
		case 13:
			batch_place(b, 0, (struct event_place){.seq = 1});
			break;
		default:
			return;
		}
		assert_false(batch_equal(a, b, &why));
		assert_true(strlen(why.text) > 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(codes_and_places_do_not_matter),
		cmocka_unit_test(every_difference_is_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
