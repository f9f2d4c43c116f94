// The state of a load: what is kept is read back, and nothing else is taken for one.
#include "unit.h"

#include "client/load_state.h"

#include <string.h>

static const char *take(struct load_state *state, const char *urls, const char *text)
{
    FILE *file = fmemopen((void *)(uintptr_t)text, strlen(text), "r");
    *state = (struct load_state){.urls = urls};
    const char *wrong = load_state_take(state, file);
    fclose(file);
    return wrong;
}

static void expect_back(const char *urls)
{
    char *text = NULL;
    size_t size = 0;
    struct load_state state = {.urls = urls}, back;
    struct load_reach reach;
    FILE *file = open_memstream(&text, &size);
    load_reach_begin(&reach);
    load_reach_add(&reach, "line\n", 5);
    ck_assert(load_state_put(&state, &reach, file));
    fclose(file);
    ck_assert_ptr_null(take(&back, urls, text));
    ck_assert(load_state_fits(&back, &reach));
    free(text);
}

START_TEST(load_state_is_read_as_it_was_kept)
{
    expect_back("http://127.0.0.1:7070");
    expect_back(" http://a, http://b "); // as the client takes it
}
END_TEST

#define HASH "00112233445566778899aabbccddeeff"

START_TEST(load_state_takes_nothing_else)
{
    struct load_state state;
    ck_assert_ptr_null(take(&state, "u", "12\n" HASH "\nu\n"));
    ck_assert_int_eq(state.offset, 12);
    static const char *const others[] = {
        "12\n" HASH "\n",      "-1\n" HASH "\nu\n",
        "x\n" HASH "\nu\n",    "12\n0123\nu\n",
        "12\n" HASH "00\nu\n", "12\n",
        "12\n" HASH "\nv\n",   "12\n" HASH "\nuu\n",
        "12\n" HASH " u\n",    "12\nXX112233445566778899aabbccddeeff\nu\n",
    };
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        ck_assert_msg(take(&state, "u", others[i]) != NULL, "taken: %s", others[i]);
        ck_assert_int_eq(state.offset, 0);
    }
}
END_TEST

Suite *load_state_suite(void)
{
    const TTest *const tests[] = {
        load_state_is_read_as_it_was_kept,
        load_state_takes_nothing_else,
        NULL,
    };
    return suite_of("load_state", tests);
}
