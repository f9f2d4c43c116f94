// What all unit tests share: views of literals, comparing views, copies of an exact size.
#pragma once

#include "base/arena.h"
#include "base/bytes.h"
#include "support/random.h"

#include <check.h>
#include <stdlib.h>

// Every suite of the tier, from the list that the build made of the files' names.
#define SUITE(name) Suite *name##_suite(void);
#include "suites.inc"
#undef SUITE

// A view of a string literal, NULs inside it included.
#define B(literal) bytes_make(literal, sizeof(literal) - 1)

#define assert_bytes_eq(actual, expected)                                                                    \
    do {                                                                                                     \
        struct bytes actual_ = (actual);                                                                     \
        struct bytes expected_ = (expected);                                                                 \
        ck_assert_uint_eq(actual_.size, expected_.size);                                                     \
        if (expected_.size)                                                                                  \
            ck_assert_mem_eq(actual_.data, expected_.data, expected_.size);                                  \
    } while (0)

// A suite with one case that holds the tests, which a NULL ends.
static inline Suite *suite_of(const char *name, const TTest *const *tests)
{
    Suite *suite = suite_create(name);
    TCase *tcase = tcase_create(name);
    tcase_set_timeout(tcase, 120); // sanitizers and valgrind are slow
    for (; *tests; tests++)
        tcase_add_test(tcase, *tests);
    suite_add_tcase(suite, tcase);
    return suite;
}

// A copy of `b` in memory of its exact size, so that a read past its end is seen by the sanitizers. To be
// freed.
static inline struct bytes exact_copy(struct bytes b)
{
    uint8_t *p = malloc(b.size ? b.size : 1);
    ck_assert_ptr_nonnull(p);
    if (b.size)
        memcpy(p, b.data, b.size);
    return bytes_make(p, b.size);
}

static inline void exact_free(struct bytes b)
{
    free((void *)(uintptr_t)b.data);
}
