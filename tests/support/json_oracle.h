// What JSON values do by the books, slowly and on jansson's values, to hold the work on text against.
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <string.h>

// RFC 7396 section 2, word by word. Takes `target`, which may be NULL; the result is to be given back.
static inline json_t *merge_by_the_rfc(json_t *target, json_t *patch)
{
    if (!json_is_object(patch)) {
        json_decref(target);
        return json_incref(patch);
    }
    if (!json_is_object(target)) {
        json_decref(target);
        target = json_object();
    }
    const char *name;
    json_t *value;
    json_object_foreach(patch, name, value)
    {
        if (json_is_null(value))
            json_object_del(target, name);
        else
            json_object_set_new(target, name,
                                merge_by_the_rfc(json_incref(json_object_get(target, name)), value));
    }
    return target;
}

static inline bool slowly_equal(json_t *a, json_t *b);

static inline bool slowly_equal_objects(json_t *a, json_t *b)
{
    const char *name;
    json_t *value;
    if (json_object_size(a) != json_object_size(b))
        return false;
    json_object_foreach(a, name, value)
    {
        if (!slowly_equal(value, json_object_get(b, name)))
            return false;
    }
    return true;
}

static inline bool slowly_equal_arrays(json_t *a, json_t *b)
{
    if (json_array_size(a) != json_array_size(b))
        return false;
    for (size_t i = 0; i < json_array_size(a); i++)
        if (!slowly_equal(json_array_get(a, i), json_array_get(b, i)))
            return false;
    return true;
}

// Whether a double is exactly an integer; one of 2^63 or more is none that jansson has.
static inline bool is_integer_of(double real, json_int_t integer)
{
    return real >= -0x1p63 && real < 0x1p63 && (json_int_t)real == integer && (double)integer - real == 0;
}

// Exact for integers, and for the doubles that other numbers were read as. `b` may be NULL, which equals
// nothing.
static inline bool slowly_equal(json_t *a, json_t *b)
{
    if (!b)
        return false;
    if (json_is_integer(a) && json_is_integer(b))
        return json_integer_value(a) == json_integer_value(b);
    if (json_is_integer(a) && json_is_real(b))
        return is_integer_of(json_real_value(b), json_integer_value(a));
    if (json_is_real(a) && json_is_integer(b))
        return is_integer_of(json_real_value(a), json_integer_value(b));
    if (json_is_number(a) && json_is_number(b))
        return json_number_value(a) <= json_number_value(b) && json_number_value(a) >= json_number_value(b);
    if (json_typeof(a) != json_typeof(b))
        return false;
    if (json_is_object(a))
        return slowly_equal_objects(a, b);
    if (json_is_array(a))
        return slowly_equal_arrays(a, b);
    return !json_is_string(a) ||
           (json_string_length(a) == json_string_length(b) &&
            memcmp(json_string_value(a), json_string_value(b), json_string_length(a)) == 0);
}
