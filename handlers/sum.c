// Integers are added exactly; as soon as one of the two is none, both are doubles.
#include "handlers/sum.h"

#include "base/json_number.h"
#include "base/json_text.h"

#include <math.h>

enum { LONGEST_NUMBER = 400 }; // as in the database

static bool takes_numbers(enum value_type type)
{
    return type == TYPE_ANY || type == TYPE_JSON || type == TYPE_INT || type == TYPE_FLOAT;
}

enum write_status sum_make(enum value_type type, bool live, struct bytes value, const struct value *integer,
                           const struct value *real, struct buffer *out)
{
    int64_t whole = 0, sum;
    if (!takes_numbers(type) || (type == TYPE_INT && !integer->given))
        return WRITE_OTHER_TYPE;
    if (live && (value.size > LONGEST_NUMBER || !json_is_finite_number(value)))
        return WRITE_OTHER_TYPE;
    bool exact = !live || (json_number_is_plain_integer(value) && json_number_int64(value, &whole));
    if (type != TYPE_FLOAT && exact && integer->given) {
        if (__builtin_add_overflow(whole, integer->number, &sum))
            return WRITE_OVERFLOW;
        buffer_add_int64(out, sum);
        return WRITE_NEW;
    }
    double total = (live ? json_number_as_double(value) : 0) + real->real;
    if (!isfinite(total))
        return WRITE_OVERFLOW;
    json_number_add_double(out, total);
    return WRITE_NEW;
}
