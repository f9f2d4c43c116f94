// The checker of transactions is held to histories whose verdict is known by hand: those that no order of
// whole calls explains must be refused.
#include "model/suites.h"
#include "model/transaction_rule.h"

#include <stdlib.h>

enum { BUDGET = 100 * 1000, FORGED_CALLS = 7 };

// Key 0 and 2 are in one bucket, key 1 in the other; positions and versions are small numbers.
#define DONE(from, to, at, ...)                                                                              \
    .outcome = TRANSACTION_DONE, .invoked = from, .returned = to, .position = at, .steps = {__VA_ARGS__}
#define READ(from, to, ...) DONE(from, to, 0, __VA_ARGS__)
#define REFUSED(from, to, ...)                                                                               \
    .outcome = TRANSACTION_REFUSED, .invoked = from, .returned = to, .steps = {__VA_ARGS__}
#define LOST(from, ...)      .outcome = TRANSACTION_UNKNOWN, .invoked = from, .steps = {__VA_ARGS__}
#define PUT_OF(id)           ((uint64_t)(id) << TRANSACTION_PATCH_BITS)
#define PUTS(k, v)           WRITE_PUT, k, v, PUT_OF(v), false
#define PUTS_VALUE(k, v, id) WRITE_PUT, k, v, PUT_OF(id), false
#define ADDS(k, v, by)       WRITE_ADD, k, v, by, false
#define PATCHES(k, v, id)    WRITE_PATCH, k, v, id, false
#define REMOVES(k)           WRITE_REMOVE, k, 0, 0, false
#define SEES(k, v)           LOOK_VERSION, k, v, PUT_OF(v), true
#define SEES_VALUE(k, v, is) LOOK_VERSION, k, v, is, true
#define SEES_VERSION(k, v)   LOOK_VERSION, k, v, 0, false
#define ABSENT(k)            LOOK_ABSENT, k, 0, 0, false
#define LIVE(k)              LOOK_LIVE, k, 0, 0, false
#define OTHER(k, v)          LOOK_OTHER, k, v, 0, false

struct forged {
    const char *name;
    enum linear_verdict verdict;
    struct transaction_call calls[FORGED_CALLS];
};

static const struct forged true_histories[] = {
    {"one after the other",
     LINEAR_YES,
     {{READ(1, 2, {ABSENT(0)}, {ABSENT(1)})},
      {DONE(3, 4, 11, {ABSENT(0)}, {PUTS(0, 10)}, {PUTS(1, 11)})},
      {READ(5, 6, {SEES(0, 10)}, {SEES(1, 11)})},
      {DONE(7, 8, 13, {SEES_VERSION(0, 10)}, {LIVE(0)}, {REMOVES(0)})},
      {REFUSED(9, 10, {OTHER(0, 10)}, {ABSENT(0)})},
      {READ(11, 12, {ABSENT(0)}, {SEES(1, 11)})}}},
    {"a view beside a transaction sees all of it or nothing",
     LINEAR_YES,
     {{DONE(1, 20, 11, {PUTS(0, 10)}, {PUTS(1, 11)})},
      {READ(2, 3, {ABSENT(0)}, {ABSENT(1)})},
      {READ(4, 5, {SEES(0, 10)}, {SEES(1, 11)})}}},
    {"a bucket's higher position may come first in another bucket's eyes",
     LINEAR_YES,
     {{DONE(1, 20, 10, {PUTS(0, 10)})},
      {DONE(2, 3, 11, {PUTS(1, 11)})},
      {READ(4, 5, {ABSENT(0)}, {SEES(1, 11)})},
      {READ(6, 7, {SEES(0, 10)}, {SEES(1, 11)})}}},
    {"absent for a moment",
     LINEAR_YES,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 30, 11, {LIVE(0)}, {REMOVES(0)})},
      {DONE(4, 31, 12, {PUTS(0, 12)})},
      {READ(5, 6, {SEES(0, 10)})},
      {READ(7, 8, {ABSENT(0)})},
      {REFUSED(9, 10, {OTHER(0, 0)}, {SEES_VERSION(0, 12)})}}},
    {"sums and patches",
     LINEAR_YES,
     {{DONE(1, 2, 11, {ADDS(0, 10, 5)}, {ADDS(0, 11, 2)})},
      {READ(3, 4, {SEES_VALUE(0, 11, 7)})},
      {DONE(5, 6, 12, {PUTS_VALUE(2, 12, 3)})},
      {DONE(7, 8, 13, {PATCHES(2, 13, 9)})},
      {READ(9, 10, {SEES_VALUE(2, 13, PUT_OF(3) + 9)})},
      {DONE(11, 12, 14, {PATCHES(1, 14, 8)})},
      {READ(13, 14, {SEES_VALUE(1, 14, 8)})}}},
    {"unknown and never done",
     LINEAR_YES,
     {{LOST(1, {PUTS_VALUE(0, 0, 7)})}, {READ(2, 3, {ABSENT(0)})}, {READ(4, 5, {ABSENT(0)})}}},
    {"unknown and done late",
     LINEAR_YES,
     {{LOST(1, {PUTS_VALUE(0, 0, 10)}, {PUTS_VALUE(1, 0, 7)})},
      {READ(2, 3, {ABSENT(0)})},
      {DONE(4, 5, 9, {PUTS(0, 9)})},
      {READ(6, 7, {SEES(0, 10)}, {SEES_VERSION(1, 11)})}}},
    {"unknown and overwritten before anybody saw it",
     LINEAR_YES,
     {{LOST(1, {PUTS_VALUE(0, 0, 7)})},
      {DONE(2, 3, 12, {LIVE(0)}, {PUTS(0, 12)})},
      {READ(4, 5, {SEES(0, 12)})}}},
    {"a removal of unknown outcome",
     LINEAR_YES,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {LOST(3, {LIVE(0)}, {REMOVES(0)})},
      {READ(4, 5, {SEES(0, 10)})},
      {READ(6, 7, {ABSENT(0)})}}},
};

static const struct forged false_histories[] = {
    {"half a transaction",
     LINEAR_NO,
     {{DONE(1, 20, 11, {PUTS(0, 10)}, {PUTS(1, 11)})}, {READ(2, 3, {SEES(0, 10)}, {ABSENT(1)})}}},
    {"half a transaction in one bucket",
     LINEAR_NO,
     {{DONE(1, 20, 11, {PUTS(0, 10)}, {PUTS(2, 11)})}, {READ(2, 3, {SEES(2, 11)}, {ABSENT(0)})}}},
    {"the first of two writes of one transaction",
     LINEAR_NO,
     {{DONE(1, 20, 11, {PUTS(0, 10)}, {PUTS(0, 11)})}, {READ(2, 3, {SEES(0, 10)})}}},
    {"half of a transaction of unknown outcome",
     LINEAR_NO,
     {{LOST(1, {PUTS_VALUE(0, 0, 10)}, {PUTS_VALUE(1, 0, 7)})}, {READ(2, 3, {SEES(0, 10)}, {ABSENT(1)})}}},
    {"a lost write", LINEAR_NO, {{DONE(1, 2, 10, {PUTS(0, 10)})}, {READ(3, 4, {ABSENT(0)})}}},
    {"a lost removal",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 4, 11, {LIVE(0)}, {REMOVES(0)})},
      {READ(5, 6, {SEES(0, 10)})}}},
    {"a stale check that passed",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 4, 11, {PUTS(0, 11)})},
      {DONE(5, 6, 12, {SEES_VERSION(0, 10)}, {PUTS(1, 12)})}}},
    {"two checks of one state, both won",
     LINEAR_NO,
     {{DONE(1, 10, 10, {ABSENT(0)}, {ABSENT(1)}, {PUTS(0, 10)})},
      {DONE(2, 9, 11, {ABSENT(0)}, {ABSENT(1)}, {PUTS(1, 11)})}}},
    {"a check of the state that its own operations leave",
     LINEAR_NO,
     {{DONE(1, 2, 10, {SEES_VERSION(0, 10)}, {PUTS(0, 10)})}}},
    {"two orders that contradict",
     LINEAR_NO,
     {{DONE(1, 20, 10, {PUTS(0, 10)})},
      {DONE(2, 21, 11, {PUTS(1, 11)})},
      {READ(3, 22, {SEES(0, 10)}, {ABSENT(1)})},
      {READ(4, 23, {ABSENT(0)}, {SEES(1, 11)})}}},
    {"back in time",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 20, 11, {PUTS(0, 11)})},
      {READ(4, 5, {SEES(0, 11)})},
      {READ(6, 7, {SEES(0, 10)})}}},
    {"a view of the future", LINEAR_NO, {{READ(1, 2, {SEES(0, 10)})}, {DONE(3, 4, 10, {PUTS(0, 10)})}}},
    {"positions against time", LINEAR_NO, {{DONE(1, 2, 11, {PUTS(0, 11)})}, {DONE(3, 4, 10, {PUTS(2, 10)})}}},
    {"a refusal without a reason",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})}, {REFUSED(3, 4, {OTHER(0, 10)}, {SEES_VERSION(0, 10)})}}},
    {"a refusal that shows what is gone",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 4, 11, {PUTS(0, 11)})},
      {REFUSED(5, 6, {OTHER(0, 7)}, {SEES_VERSION(0, 10)})}}},
    {"what a refused transaction wrote",
     LINEAR_NO,
     {{REFUSED(1, 2, {PUTS_VALUE(0, 0, 10)}, {ABSENT(1)})}, {READ(3, 4, {SEES(0, 10)})}}},
    {"a repeated add that was done twice",
     LINEAR_NO,
     {{DONE(1, 4, 10, {ADDS(0, 10, 5)}, {SEES_VALUE(0, 10, 5)})}, {READ(5, 6, {SEES_VALUE(0, 11, 10)})}}},
    {"a repeated put that was done twice",
     LINEAR_NO,
     {{DONE(1, 4, 10, {PUTS_VALUE(0, 10, 3)})}, {READ(5, 6, {SEES_VALUE(0, 11, PUT_OF(3))})}}},
    {"an unknown put that was done twice",
     LINEAR_NO,
     {{LOST(1, {PUTS_VALUE(0, 0, 3)})},
      {READ(2, 3, {SEES_VALUE(0, 10, PUT_OF(3))})},
      {READ(4, 5, {SEES_VALUE(0, 11, PUT_OF(3))})}}},
    {"a lost add",
     LINEAR_NO,
     {{DONE(1, 10, 10, {ADDS(0, 10, 5)}, {SEES_VALUE(0, 10, 5)})},
      {DONE(2, 11, 11, {ADDS(0, 11, 2)}, {SEES_VALUE(0, 11, 2)})}}},
    {"a patch that forgot what it patched",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS_VALUE(2, 10, 3)})},
      {DONE(3, 4, 11, {PATCHES(2, 11, 9)})},
      {READ(5, 6, {SEES_VALUE(2, 11, 9)})}}},
    {"one version for two writes",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})}, {DONE(3, 4, 11, {PUTS(1, 10)})}}},
    {"one position for two writers",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 9)})}, {DONE(3, 4, 10, {PUTS(0, 10)})}}},
    {"two takes of one entry",
     LINEAR_NO,
     {{DONE(1, 2, 10, {PUTS(0, 10)})},
      {DONE(3, 9, 11, {SEES(0, 10)}, {LIVE(0)}, {REMOVES(0)})},
      {DONE(4, 8, 12, {SEES(0, 10)}, {LIVE(0)}, {REMOVES(0)})}}},
};

// A refusal by the checker must come with a word of why.
static void check_forged(const struct forged *forged)
{
    struct transaction_call calls[FORGED_CALLS];
    size_t count = 0, complaint_size;
    char *complaint;
    for (; count < FORGED_CALLS && forged->calls[count].invoked; count++) {
        struct transaction_call *call = &calls[count];
        *call = forged->calls[count];
        for (call->step_count = TRANSACTION_STEPS; call->step_count; call->step_count--) {
            const struct transaction_step *last = &call->steps[call->step_count - 1];
            if (last->kind != LOOK_VERSION || last->version)
                break;
        }
    }
    FILE *out = open_memstream(&complaint, &complaint_size);
    enum linear_verdict verdict = transactions_check(calls, count, BUDGET, out);
    fclose(out);
    ck_assert_msg(verdict == forged->verdict, "%s: %d, %s", forged->name, (int)verdict, complaint);
    ck_assert_msg((verdict == LINEAR_YES) == (complaint_size == 0), "%s: %s", forged->name, complaint);
    free(complaint);
}

START_TEST(transaction_checker_accepts_serializable_histories)
{
    for (size_t i = 0; i < sizeof true_histories / sizeof *true_histories; i++)
        check_forged(&true_histories[i]);
}
END_TEST

START_TEST(transaction_checker_refuses_what_no_order_explains)
{
    for (size_t i = 0; i < sizeof false_histories / sizeof *false_histories; i++)
        check_forged(&false_histories[i]);
}
END_TEST

Suite *transaction_checker_suite(void)
{
    Suite *suite = suite_create("transaction_checker");
    TCase *tcase = tcase_create("forged histories");
    tcase_add_test(tcase, transaction_checker_accepts_serializable_histories);
    tcase_add_test(tcase, transaction_checker_refuses_what_no_order_explains);
    suite_add_tcase(suite, tcase);
    return suite;
}
