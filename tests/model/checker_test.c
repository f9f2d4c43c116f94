// The checkers are held to histories whose verdict is known by hand: those that are wrong must be refused.
#include "model/history.h"
#include "model/suites.h"
#include "support/random.h"

#include <stdlib.h>

static char *complaint;
static size_t complaint_size;

// Runs one check with its complaint collected; a refusal must come with a word of why.
static bool holds(bool (*check)(const struct history *, FILE *), const struct history *history)
{
    FILE *out = open_memstream(&complaint, &complaint_size);
    bool good = check(history, out);
    fclose(out);
    ck_assert_msg(good == (complaint_size == 0), "verdict %d with complaint: %s", good, complaint);
    free(complaint);
    return good;
}

// Adds calls of one key; each line is: client, invoked, returned, then the fields that matter.
#define CALL(history, key, who, from, to, ...)                                                               \
    history_add(history, key,                                                                                \
                &(struct entry_call){.client = who, .invoked = from, .returned = to, __VA_ARGS__})
#define PUT_NEW(v, p)       .kind = ENTRY_PUT, .answer = ANSWER_CREATED, .value = v, .version = v, .position = p
#define PUT_OVER(v, p)      .kind = ENTRY_PUT, .answer = ANSWER_DONE, .value = v, .version = v, .position = p
#define PUT_LOST(v)         .kind = ENTRY_PUT, .answer = ANSWER_UNKNOWN, .value = v
#define IF_MATCH(e)         .condition = CONDITION_IF_MATCH, .expected = e
#define IF_ABSENT           .condition = CONDITION_IF_ABSENT
#define PUT_CONFLICT(v, is) .kind = ENTRY_PUT, .answer = ANSWER_CONFLICT, .value = v, .version = is
#define GET_VALUE(v)        .kind = ENTRY_GET, .answer = ANSWER_VALUE, .value = v, .version = v
#define GET_ABSENT          .kind = ENTRY_GET, .answer = ANSWER_ABSENT
#define DELETE_DONE(p)      .kind = ENTRY_DELETE, .answer = ANSWER_DONE, .position = p
#define DELETE_ABSENT       .kind = ENTRY_DELETE, .answer = ANSWER_ABSENT
#define DELETE_LOST         .kind = ENTRY_DELETE, .answer = ANSWER_UNKNOWN

START_TEST(sequential_history_is_accepted)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, GET_ABSENT);
    CALL(&h, 0, 0, 3, 4, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 5, 6, GET_VALUE(1));
    CALL(&h, 0, 0, 7, 8, PUT_OVER(2, 11), IF_MATCH(1));
    CALL(&h, 0, 0, 9, 10, PUT_CONFLICT(3, 2), IF_MATCH(1));
    CALL(&h, 0, 0, 11, 12, PUT_CONFLICT(4, 2), IF_ABSENT);
    CALL(&h, 0, 0, 13, 14, DELETE_DONE(12), IF_MATCH(2));
    CALL(&h, 0, 0, 15, 16, DELETE_ABSENT);
    CALL(&h, 0, 0, 17, 18, PUT_CONFLICT(5, 0), IF_MATCH(2));
    CALL(&h, 0, 0, 19, 20, PUT_NEW(6, 13), IF_ABSENT);
    ck_assert(holds(history_is_linearizable, &h));
    ck_assert(holds(history_versions_are_unique, &h));
    ck_assert(holds(history_positions_follow_time, &h));
    ck_assert(holds(history_visible_in_order, &h));
    history_free(&h);
}
END_TEST

START_TEST(overlapping_calls_may_go_either_way)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 10, PUT_NEW(1, 10));
    CALL(&h, 0, 1, 2, 9, PUT_OVER(2, 11));
    CALL(&h, 0, 2, 3, 4, GET_ABSENT);
    CALL(&h, 0, 2, 5, 6, GET_VALUE(1));
    CALL(&h, 0, 2, 7, 8, GET_VALUE(2));
    ck_assert(holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(stale_read_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, PUT_OVER(2, 11));
    CALL(&h, 0, 1, 5, 6, GET_VALUE(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(read_going_back_in_time_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 20, PUT_OVER(2, 11));
    CALL(&h, 0, 1, 4, 5, GET_VALUE(2));
    CALL(&h, 0, 2, 6, 7, GET_VALUE(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(lost_write_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 1, 3, 4, GET_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(two_winners_of_one_create_are_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 10, PUT_NEW(1, 10), IF_ABSENT);
    CALL(&h, 0, 1, 2, 9, PUT_NEW(2, 11), IF_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(two_winners_of_one_compare_and_swap_are_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 10, PUT_OVER(2, 11), IF_MATCH(1));
    CALL(&h, 0, 1, 4, 9, PUT_OVER(3, 12), IF_MATCH(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(two_winners_of_one_delete_are_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 10, DELETE_DONE(11));
    CALL(&h, 0, 1, 4, 9, DELETE_DONE(12));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(conflict_without_a_reason_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, PUT_CONFLICT(2, 1), IF_MATCH(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);

    CALL(&h, 0, 0, 1, 2, PUT_CONFLICT(2, 0), IF_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(conflict_naming_a_past_version_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, PUT_OVER(2, 11));
    CALL(&h, 0, 1, 5, 6, PUT_CONFLICT(3, 1), IF_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(created_over_a_live_entry_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, PUT_NEW(2, 11));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(value_under_another_writes_version_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, .kind = ENTRY_GET, .answer = ANSWER_VALUE, .value = 1, .version = 9);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(unknown_write_may_have_happened_or_not)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, PUT_LOST(2));
    CALL(&h, 0, 1, 5, 6, GET_VALUE(1));
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 0, 1, 7, 8, GET_VALUE(2));
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 0, 1, 9, 10, PUT_OVER(3, 12), IF_MATCH(2));
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 0, 1, 11, 12, GET_VALUE(2));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(unknown_write_does_not_happen_twice)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_LOST(1));
    CALL(&h, 0, 1, 3, 4, GET_VALUE(1));
    CALL(&h, 0, 1, 5, 6, DELETE_DONE(11));
    CALL(&h, 0, 1, 7, 8, GET_VALUE(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(unknown_write_before_its_call_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 1, 1, 2, GET_VALUE(1));
    CALL(&h, 0, 0, 3, 4, PUT_LOST(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(unknown_version_is_settled_once)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_LOST(1));
    CALL(&h, 0, 1, 3, 4, PUT_CONFLICT(5, 71), IF_ABSENT);
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 0, 1, 5, 6, PUT_CONFLICT(6, 72), IF_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(unknown_delete_explains_an_absent_entry_once)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 4, DELETE_LOST);
    CALL(&h, 0, 1, 5, 6, GET_ABSENT);
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 0, 1, 7, 8, PUT_NEW(2, 12));
    CALL(&h, 0, 1, 9, 10, GET_ABSENT);
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(call_that_did_nothing_changes_nothing)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, .kind = ENTRY_PUT, .answer = ANSWER_NOTHING, .value = 1);
    CALL(&h, 0, 1, 3, 4, GET_VALUE(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(keys_are_judged_apart)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 1, 0, 3, 4, GET_ABSENT);
    ck_assert(holds(history_is_linearizable, &h));
    CALL(&h, 1, 0, 5, 6, GET_VALUE(1));
    ck_assert(!holds(history_is_linearizable, &h));
    history_free(&h);
}
END_TEST

START_TEST(version_used_twice_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 1, 0, 3, 4, .kind = ENTRY_PUT, .answer = ANSWER_CREATED, .value = 2, .version = 1,
         .position = 11);
    ck_assert(!holds(history_versions_are_unique, &h));
    history_free(&h);

    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 1, 0, 3, 4, PUT_NEW(2, 10));
    ck_assert(!holds(history_versions_are_unique, &h));
    history_free(&h);
}
END_TEST

START_TEST(position_below_an_earlier_writes_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 1, 1, 1, 4, PUT_NEW(2, 9));
    ck_assert(holds(history_positions_follow_time, &h));
    CALL(&h, 1, 1, 5, 6, PUT_OVER(3, 8));
    ck_assert(!holds(history_positions_follow_time, &h));
    history_free(&h);
}
END_TEST

START_TEST(lower_version_appearing_after_a_higher_one_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 0, 0, 3, 30, PUT_OVER(2, 11));
    CALL(&h, 1, 1, 3, 30, PUT_NEW(3, 12));
    CALL(&h, 1, 2, 4, 5, GET_VALUE(3));
    CALL(&h, 0, 2, 6, 7, GET_VALUE(1));
    CALL(&h, 0, 2, 8, 9, GET_VALUE(2));
    ck_assert(holds(history_is_linearizable, &h));
    ck_assert(!holds(history_visible_in_order, &h));
    history_free(&h);
}
END_TEST

START_TEST(missing_entry_after_a_higher_version_is_refused)
{
    struct history h = {0};
    CALL(&h, 0, 0, 3, 30, PUT_NEW(1, 11));
    CALL(&h, 1, 1, 3, 30, PUT_NEW(2, 12));
    CALL(&h, 1, 2, 4, 5, GET_VALUE(2));
    CALL(&h, 0, 2, 6, 7, GET_ABSENT);
    ck_assert(holds(history_is_linearizable, &h));
    ck_assert(!holds(history_visible_in_order, &h));

    CALL(&h, 0, 3, 3, 30, DELETE_DONE(14));
    ck_assert(holds(history_visible_in_order, &h));
    history_free(&h);
}
END_TEST

START_TEST(newer_state_than_the_one_seen_is_accepted)
{
    struct history h = {0};
    CALL(&h, 0, 0, 1, 2, PUT_NEW(1, 10));
    CALL(&h, 1, 1, 3, 4, PUT_NEW(2, 11));
    CALL(&h, 0, 0, 5, 6, PUT_OVER(3, 12));
    CALL(&h, 1, 2, 7, 8, GET_VALUE(2));
    CALL(&h, 0, 2, 9, 10, GET_VALUE(3));
    ck_assert(holds(history_visible_in_order, &h));
    history_free(&h);
}
END_TEST

enum { SIMULATED_CLIENTS = 12, SIMULATED_CALLS = 1500 };

// A history made by running random calls against a true entry, each taking effect somewhere within its own
// span.
static void simulate(struct history *history, uint64_t seed)
{
    struct random random = random_seeded(seed, 0);
    int64_t free_at[SIMULATED_CLIENTS] = {0};
    uint64_t value = 0;
    uint64_t next_value = 1;
    for (size_t i = 0; i < SIMULATED_CALLS; i++) {
        int64_t effect = (int64_t)i * 10 + 100;
        unsigned client = (unsigned)random_below(&random, SIMULATED_CLIENTS);
        if (free_at[client] >= effect) {
            continue;
        }
        int64_t earliest = effect - 1 - (int64_t)random_below(&random, 60);
        struct entry_call call = {
            .client = client,
            .invoked = earliest > free_at[client] ? earliest : free_at[client],
            .returned = effect + 1 + (int64_t)random_below(&random, 60),
        };
        free_at[client] = call.returned;
        bool lost = random_chance(&random, 1);
        switch (random_below(&random, 4)) {
        case 0:
            call.kind = ENTRY_DELETE;
            call.answer = lost ? ANSWER_UNKNOWN : value == 0 ? ANSWER_ABSENT : ANSWER_DONE;
            value = 0;
            break;
        case 1:
            call.kind = ENTRY_PUT;
            call.value = next_value++;
            call.answer = lost ? ANSWER_UNKNOWN : value == 0 ? ANSWER_CREATED : ANSWER_DONE;
            call.version = lost ? 0 : call.value;
            value = call.value;
            break;
        default:
            call.kind = ENTRY_GET;
            call.answer = value == 0 ? ANSWER_ABSENT : ANSWER_VALUE;
            call.value = call.version = value;
        }
        history_add(history, 0, &call);
    }
}

START_TEST(true_histories_are_accepted_and_each_forged_read_is_refused)
{
    for (uint64_t seed = 1; seed <= 20; seed++) {
        struct history h = {0};
        simulate(&h, seed);
        ck_assert_msg(holds(history_is_linearizable, &h), "seed %lu", (unsigned long)seed);

        size_t forged = 0;
        for (size_t i = h.count / 2; i < h.count && forged == 0; i++) {
            if (h.calls[i].answer == ANSWER_VALUE && h.calls[i].value > 30) {
                h.calls[i].value -= 20; // written long before, and replaced since
                h.calls[i].version -= 20;
                forged = i;
            }
        }
        ck_assert_uint_gt(forged, 0);
        ck_assert_msg(!holds(history_is_linearizable, &h), "seed %lu, call %zu", (unsigned long)seed, forged);
        history_free(&h);
    }
}
END_TEST

Suite *checker_suite(void)
{
    Suite *suite = suite_create("checker");
    TCase *tcase = tcase_create("histories");
    tcase_set_timeout(tcase, 60);
    tcase_add_test(tcase, sequential_history_is_accepted);
    tcase_add_test(tcase, overlapping_calls_may_go_either_way);
    tcase_add_test(tcase, stale_read_is_refused);
    tcase_add_test(tcase, read_going_back_in_time_is_refused);
    tcase_add_test(tcase, lost_write_is_refused);
    tcase_add_test(tcase, two_winners_of_one_create_are_refused);
    tcase_add_test(tcase, two_winners_of_one_compare_and_swap_are_refused);
    tcase_add_test(tcase, two_winners_of_one_delete_are_refused);
    tcase_add_test(tcase, conflict_without_a_reason_is_refused);
    tcase_add_test(tcase, conflict_naming_a_past_version_is_refused);
    tcase_add_test(tcase, created_over_a_live_entry_is_refused);
    tcase_add_test(tcase, value_under_another_writes_version_is_refused);
    tcase_add_test(tcase, unknown_write_may_have_happened_or_not);
    tcase_add_test(tcase, unknown_write_does_not_happen_twice);
    tcase_add_test(tcase, unknown_write_before_its_call_is_refused);
    tcase_add_test(tcase, unknown_version_is_settled_once);
    tcase_add_test(tcase, unknown_delete_explains_an_absent_entry_once);
    tcase_add_test(tcase, call_that_did_nothing_changes_nothing);
    tcase_add_test(tcase, keys_are_judged_apart);
    tcase_add_test(tcase, version_used_twice_is_refused);
    tcase_add_test(tcase, position_below_an_earlier_writes_is_refused);
    tcase_add_test(tcase, lower_version_appearing_after_a_higher_one_is_refused);
    tcase_add_test(tcase, missing_entry_after_a_higher_version_is_refused);
    tcase_add_test(tcase, newer_state_than_the_one_seen_is_accepted);
    tcase_add_test(tcase, true_histories_are_accepted_and_each_forged_read_is_refused);
    suite_add_tcase(suite, tcase);
    return suite;
}
