// Walks two texts side by side; only objects are looked up, in an index made beforehand, so that every value
// is read once.
#include "base/json_equal.h"

#include "base/json_index.h"
#include "base/json_scan.h"

// Where reading stands in one of the texts, both of which are known to be JSON.
struct side {
    const struct json_index *index;
    struct json_scan scan;
    uint32_t object; // the first one that is not before this place
};

static bool equal_values(struct side *a, struct side *b);

static bool equal_characters(struct bytes a, struct bytes b)
{
    struct json_scan left = json_scan_begin(a);
    struct json_scan right = json_scan_begin(b);
    while (!json_scan_at_end(&left) && !json_scan_at_end(&right))
        if (json_scan_character(&left) != json_scan_character(&right))
            return false;
    return json_scan_at_end(&left) && json_scan_at_end(&right);
}

static bool has_escape(struct bytes string)
{
    return memchr(string.data, '\\', string.size) != NULL;
}

// Two strings with their quotes.
static bool equal_strings(struct bytes a, struct bytes b)
{
    if (!has_escape(a) && !has_escape(b))
        return bytes_equal(a, b);
    return equal_characters(bytes_make(a.data + 1, a.size - 2), bytes_make(b.data + 1, b.size - 2));
}

// A number as the digits between `first` and `last`, a point among them perhaps, without zeros at either end:
// 0.DIGITS × 10^magnitude.
struct decimal {
    bool negative;
    const uint8_t *first;
    const uint8_t *last;
    int64_t magnitude;
};

enum { EXPONENT_DIGITS = 18 }; // an int64_t holds them, and the length of any text beside them

// What follows the `e`. False when it has more digits than can be counted with.
static bool read_exponent(const uint8_t *at, const uint8_t *end, int64_t *exponent)
{
    bool negative = *at == '-';
    if (*at == '-' || *at == '+')
        at++;
    while (at < end && *at == '0')
        at++;
    if (end - at > EXPONENT_DIGITS)
        return false;
    int64_t n = 0;
    for (; at < end; at++)
        n = n * 10 + (*at - '0');
    *exponent = negative ? -n : n;
    return true;
}

static bool is_zero(const struct decimal *decimal)
{
    return decimal->first == decimal->last;
}

static bool is_mark_of_exponent(uint8_t c)
{
    return c == 'e' || c == 'E';
}

static bool read_decimal(struct bytes number, struct decimal *decimal)
{
    const uint8_t *end = number.data + number.size;
    const uint8_t *first = number.data + (*number.data == '-');
    const uint8_t *mark = first;
    while (mark < end && !is_mark_of_exponent(*mark))
        mark++;
    const uint8_t *point = memchr(first, '.', (size_t)(mark - first));
    const uint8_t *last = mark;
    if (!point)
        point = mark;
    while (first < last && (*first == '0' || *first == '.'))
        first++;
    while (last > first && (last[-1] == '0' || last[-1] == '.'))
        last--;
    *decimal = (struct decimal){*number.data == '-', first, last, point - first + (first > point)};
    int64_t exponent = 0;
    if (mark < end && !is_zero(decimal) && !read_exponent(mark + 1, end, &exponent))
        return false;
    decimal->magnitude += exponent;
    return true;
}

static const uint8_t *pass_point(const uint8_t *at, const uint8_t *last)
{
    return at < last && *at == '.' ? at + 1 : at;
}

static bool equal_digits(const struct decimal *a, const struct decimal *b)
{
    const uint8_t *left = a->first;
    const uint8_t *right = b->first;
    while (left < a->last && right < b->last) {
        if (*left++ != *right++)
            return false;
        left = pass_point(left, a->last);
        right = pass_point(right, b->last);
    }
    return left == a->last && right == b->last;
}

static bool equal_numbers(struct bytes a, struct bytes b)
{
    struct decimal left, right;
    if (bytes_equal(a, b))
        return true;
    if (!read_decimal(a, &left) || !read_decimal(b, &right))
        return false;
    if (is_zero(&left) || is_zero(&right))
        return is_zero(&left) && is_zero(&right);
    return left.negative == right.negative && left.magnitude == right.magnitude &&
           equal_digits(&left, &right);
}

static struct bytes read_scalar(struct side *side)
{
    const uint8_t *start = side->scan.at;
    json_scan_scalar(&side->scan);
    return bytes_make(start, (size_t)(side->scan.at - start));
}

static bool equal_scalars(struct side *a, struct side *b)
{
    struct bytes left = read_scalar(a);
    struct bytes right = read_scalar(b);
    if (left.data[0] == '"')
        return right.data[0] == '"' && equal_strings(left, right);
    bool number = left.data[0] == '-' || (left.data[0] >= '0' && left.data[0] <= '9');
    if (!number)
        return bytes_equal(left, right);
    return (right.data[0] == '-' || (right.data[0] >= '0' && right.data[0] <= '9')) &&
           equal_numbers(left, right);
}

static bool accept_after_space(struct side *side, char c)
{
    json_scan_space(&side->scan);
    return json_scan_accept(&side->scan, c);
}

// What follows the opening brackets.
static bool equal_arrays(struct side *a, struct side *b)
{
    bool empty = accept_after_space(a, ']');
    if (accept_after_space(b, ']') != empty)
        return false;
    if (empty)
        return true;
    bool more;
    do {
        if (!equal_values(a, b))
            return false;
        more = accept_after_space(a, ',');
        if (accept_after_space(b, ',') != more)
            return false;
    } while (more);
    json_scan_accept(&a->scan, ']');
    json_scan_accept(&b->scan, ']');
    return true;
}

static struct side side_at(const struct json_index *index, const struct json_index_member *member)
{
    return (struct side){index, json_scan_begin(json_index_value(index, member)), member->object};
}

// Moves on behind the object that opens here.
static const struct json_index_object *pass_object(struct side *side)
{
    const struct json_index_object *object = json_index_object(side->index, side->object);
    side->scan.at = side->index->text.data + object->end;
    side->object = object->after;
    return object;
}

static bool equal_objects(struct side *a, struct side *b)
{
    const struct json_index_object *left = pass_object(a);
    const struct json_index_object *right = pass_object(b);
    if (left->count != right->count)
        return false;
    const struct json_index_member *members = json_index_members(a->index, left);
    for (uint32_t i = 0; i < left->count; i++) {
        const struct json_index_member *other = json_index_find(b->index, right, &members[i]);
        if (!other)
            return false;
        struct side inner_a = side_at(a->index, &members[i]);
        struct side inner_b = side_at(b->index, other);
        if (!equal_values(&inner_a, &inner_b))
            return false;
    }
    return true;
}

static bool equal_values(struct side *a, struct side *b)
{
    json_scan_space(&a->scan);
    json_scan_space(&b->scan);
    bool object = *a->scan.at == '{';
    bool array = *a->scan.at == '[';
    if ((*b->scan.at == '{') != object || (*b->scan.at == '[') != array)
        return false;
    if (object)
        return equal_objects(a, b);
    if (!array)
        return equal_scalars(a, b);
    a->scan.at++;
    b->scan.at++;
    return equal_arrays(a, b);
}

bool json_text_equal(struct bytes a, struct bytes b)
{
    if (bytes_equal(a, b))
        return true;
    struct json_index left = {0};
    struct json_index right = {0};
    bool equal = json_index_build(&left, a, JSON_INDEX_ALL_LAST) == JSON_INDEXED &&
                 json_index_build(&right, b, JSON_INDEX_ALL_LAST) == JSON_INDEXED;
    if (equal) {
        struct side side_a = {&left, json_scan_begin(left.text), 0};
        struct side side_b = {&right, json_scan_begin(right.text), 0};
        equal = equal_values(&side_a, &side_b);
    }
    json_index_free(&left);
    json_index_free(&right);
    return equal;
}
