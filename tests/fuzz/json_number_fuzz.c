// Numbers of JSON against the C library's: the same double, the same integer, and what is written is read
// back.
#include "fuzz.h"

#include "base/arena.h"
#include "base/json_number.h"
#include "base/json_text.h"
#include "base/text.h"

#include <errno.h>
#include <math.h>

static void check_number(struct arena *arena, struct bytes number)
{
    const char *text = (const char *)arena_copy(arena, number).data;
    double n = json_number_as_double(number), expected = strtod(text, NULL);
    must(n == expected && !signbit(n) == !signbit(expected));
    must(isfinite(n) == json_is_finite_number(number));
    must(json_number_is_plain_integer(number) == (strpbrk(text, ".eE") == NULL));
    int64_t integer = 0;
    if (json_number_is_plain_integer(number)) {
        errno = 0;
        long long slow = strtoll(text, NULL, 10);
        must(json_number_int64(number, &integer) == (errno == 0) && (errno || integer == slow));
    }
}

static void check_double(double n)
{
    struct buffer out = {0};
    if (!isfinite(n))
        return;
    json_number_add_double(&out, n);
    must(json_is_finite_number(buffer_view(&out)) && json_number_as_double(buffer_view(&out)) == n);
    buffer_free(&out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct arena arena = {0};
    struct bytes text = bytes_make(data, size);
    double n;
    bool number = size && (data[0] == '-' || (data[0] >= '0' && data[0] <= '9')) && data[size - 1] > ' ';
    if (number && json_check(text, 0) == JSON_VALID)
        check_number(&arena, text);
    else
        must(!json_is_finite_number(text));
    if (size >= sizeof n) {
        memcpy(&n, data, sizeof n);
        check_double(n);
    }
    arena_free(&arena);
    return 0;
}
