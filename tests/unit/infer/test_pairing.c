#include "t.h"

#include "base/rng.h"
#include "infer/names.h"
#include "infer/pairing.h"

enum { A, B, C };

static struct message message(int64_t t, uint8_t op, uint8_t sight, uint32_t from, uint32_t to,
			      uint64_t id)
{
	return (struct message){.time_ns = t,
				.op = op,
				.sight = sight,
				.sender = from,
				.receiver = to,
				.id = id,
				.name = NAMES_NONE};
}

static void pair(const struct message *messages, size_t n, struct calls *calls,
		 struct pairing_tally *tally)
{
	struct pairing *p;

	assert_int_equal(pairing_new(calls, &p), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(pairing_put(p, &messages[i], 1), 0);
	assert_int_equal(pairing_finish(p), 0);
	*tally = *pairing_tally(p);
	pairing_free(p);
}

static void calls_without_ids_are_answered_first_come_first_served(void **state)
{
	const struct message m[] = {
		message(1, MESSAGE_CALL, MESSAGE_SEEN, A, B, 0),
		message(2, MESSAGE_CALL, MESSAGE_SEEN, A, B, 0),
		message(3, MESSAGE_RET, MESSAGE_SEEN, B, A, 0),
		message(4, MESSAGE_CALL, MESSAGE_SEEN, A, B, 0),
		message(5, MESSAGE_RET, MESSAGE_SEEN, B, A, 0),
		message(6, MESSAGE_RET, MESSAGE_SEEN, B, A, 0),
		message(7, MESSAGE_RET, MESSAGE_SEEN, B, A, 0),
		message(8, MESSAGE_MSG, MESSAGE_SEEN, B, A, 0),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(calls.n, 3);
	assert_int_equal(calls.at[0].end_ns, 3);
	assert_int_equal(calls.at[1].end_ns, 5);
	assert_int_equal(calls.at[2].end_ns, 6);
	assert_int_equal(tally.lonely_returns, 1);
	assert_int_equal(tally.free_form, 1);
	calls_done(&calls);
}

static void both_ends_keep_their_own_times(void **state)
{
	/* The receiver's clock is behind: its sightings come first. */
	const struct message orders[][4] = {
		{message(10, MESSAGE_CALL, MESSAGE_SENT, A, B, 7),
		 message(12, MESSAGE_CALL, MESSAGE_RECV, A, B, 7),
		 message(20, MESSAGE_RET, MESSAGE_SENT, B, A, 7),
		 message(25, MESSAGE_RET, MESSAGE_RECV, B, A, 7)},
		{message(12, MESSAGE_CALL, MESSAGE_RECV, A, B, 7),
		 message(10, MESSAGE_CALL, MESSAGE_SENT, A, B, 7),
		 message(25, MESSAGE_RET, MESSAGE_RECV, B, A, 7),
		 message(20, MESSAGE_RET, MESSAGE_SENT, B, A, 7)},
	};

	for (size_t i = 0; i < ARRAY_SIZE(orders); i++) {
		struct pairing_tally tally;
		struct calls calls = {0};

		pair(orders[i], 4, &calls, &tally);
		assert_int_equal(calls.n, 1);
		assert_int_equal(calls.at[0].start_ns, 10);
		assert_int_equal(call_recv_ns(&calls, 0), 12);
		assert_int_equal(call_reply_ns(&calls, 0), 20);
		assert_int_equal(calls.at[0].end_ns, 25);
		assert_int_equal(tally.lonely_returns + tally.unfinished, 0);
		calls_done(&calls);
	}
}

static void one_end_is_enough(void **state)
{
	const struct message m[] = {
		message(1, MESSAGE_CALL, MESSAGE_SENT, A, B, 1),
		message(2, MESSAGE_RET, MESSAGE_SENT, B, A, 1),
		message(3, MESSAGE_CALL, MESSAGE_SENT, A, B, 1),
		message(9, MESSAGE_RET, MESSAGE_SENT, B, A, 1),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(calls.n, 2);
	assert_int_equal(calls.at[0].end_ns, 2);
	assert_int_equal(call_reply_ns(&calls, 0), 2);
	assert_int_equal(calls.at[1].end_ns, 9);
	calls_done(&calls);
}

static void a_return_seen_before_its_call_at_the_other_end_is_of_the_same_call(void **state)
{
	/* B's clock is 100 behind, so that its sightings come after A's in the merged order. */
	const struct message m[] = {
		message(1, MESSAGE_CALL, MESSAGE_SENT, A, B, 7),
		message(2, MESSAGE_CALL, MESSAGE_RECV, A, B, 7),
		message(3, MESSAGE_RET, MESSAGE_SENT, B, A, 7),
		message(4, MESSAGE_RET, MESSAGE_RECV, B, A, 7),
		message(10, MESSAGE_CALL, MESSAGE_SENT, A, B, 8),
		message(20, MESSAGE_RET, MESSAGE_RECV, B, A, 8),
		message(112, MESSAGE_CALL, MESSAGE_RECV, A, B, 8),
		message(115, MESSAGE_RET, MESSAGE_SENT, B, A, 8),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(calls.n, 2);
	assert_int_equal(calls.at[1].start_ns, 10);
	assert_int_equal(calls.at[1].end_ns, 20);
	assert_int_equal(call_recv_ns(&calls, 1), 112);
	assert_int_equal(call_reply_ns(&calls, 1), 115);
	assert_int_equal(tally.lonely_returns, 0);
	calls_done(&calls);
}

static void a_lost_return_leaves_its_call_unfinished(void **state)
{
	const struct message m[] = {
		message(1, MESSAGE_CALL, MESSAGE_SEEN, A, B, 1),
		message(2, MESSAGE_CALL, MESSAGE_SEEN, A, B, 2),
		message(3, MESSAGE_RET, MESSAGE_SEEN, B, A, 2),
		message(4, MESSAGE_RET, MESSAGE_SEEN, B, A, 3),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(calls.n, 2);
	assert_false(call_finished(&calls.at[0]));
	assert_true(call_finished(&calls.at[1]));
	assert_int_equal(tally.unfinished, 1);
	assert_int_equal(tally.lonely_returns, 1);
	calls_done(&calls);
}

static void calls_come_out_in_order_of_start(void **state)
{
	const struct message m[] = {
		message(5, MESSAGE_CALL, MESSAGE_SEEN, A, B, 1),
		message(-2, MESSAGE_CALL, MESSAGE_SEEN, A, C, 2),
		message(3, MESSAGE_CALL, MESSAGE_SEEN, A, B, 3),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(tally.unordered, 2);
	assert_int_equal(calls.at[0].start_ns, -2);
	assert_int_equal(calls.at[1].start_ns, 3);
	assert_int_equal(calls.at[2].start_ns, 5);
	calls_done(&calls);
}

/* Many keys, taken away in any order: the table stays right.  Compared with a plain array. */
static void a_crowd_is_paired_right(void **state)
{
	enum { IDS = 5000, STEPS = 200000 };
	static int64_t open[IDS]; /* time of the call, or 0 */
	static uint32_t index[IDS];
	struct calls calls = {0};
	struct rng rng = {3};
	struct pairing *p;
	uint32_t made = 0;

	assert_int_equal(pairing_new(&calls, &p), 0);
	for (int64_t t = 1; t <= STEPS; t++) {
		uint64_t id = 1 + rng_below(&rng, IDS - 1);
		uint8_t op = open[id] ? MESSAGE_RET : MESSAGE_CALL;
		struct message m = open[id] ? message(t, op, MESSAGE_SEEN, B, A, id)
					    : message(t, op, MESSAGE_SEEN, A, B, id);

		assert_int_equal(pairing_put(p, &m, 1), 0);
		if (open[id]) {
			assert_int_equal(calls.at[index[id]].start_ns, open[id]);
			assert_int_equal(calls.at[index[id]].end_ns, t);
			open[id] = 0;
		} else {
			open[id] = t;
			index[id] = made++;
		}
	}
	assert_int_equal(calls.n, made);
	pairing_free(p);
	calls_done(&calls);
}

static void a_forwarded_request_is_answered_by_somebody_else(void **state)
{
	const struct message m[] = {
		message(1, MESSAGE_CALL, MESSAGE_SEEN, A, B, 7),
		message(2, MESSAGE_CALL, MESSAGE_SEEN, A, B, 8),
		message(3, MESSAGE_CALL, MESSAGE_SEEN, B, C, 7),
		message(5, MESSAGE_RET, MESSAGE_SEEN, C, A, 7),
		message(6, MESSAGE_RET, MESSAGE_SEEN, B, A, 8),
	};
	struct pairing_tally tally;
	struct calls calls = {0};

	pair(m, ARRAY_SIZE(m), &calls, &tally);
	assert_int_equal(tally.forwarded, 1);
	assert_int_equal(tally.lonely_returns, 0);
	assert_int_equal(calls.at[0].end_ns, 5);
	assert_int_equal(calls.at[1].end_ns, 6);
	assert_int_equal(calls.at[2].end_ns, 5);
	calls_done(&calls);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_without_ids_are_answered_first_come_first_served),
		cmocka_unit_test(both_ends_keep_their_own_times),
		cmocka_unit_test(one_end_is_enough),
		cmocka_unit_test(
			a_return_seen_before_its_call_at_the_other_end_is_of_the_same_call),
		cmocka_unit_test(a_lost_return_leaves_its_call_unfinished),
		cmocka_unit_test(calls_come_out_in_order_of_start),
		cmocka_unit_test(a_crowd_is_paired_right),
		cmocka_unit_test(a_forwarded_request_is_answered_by_somebody_else),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
