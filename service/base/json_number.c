// The C library knows how to round; this keeps its answers free of the locale and gives them ECMAScript's
// form.
#include "base/json_number.h"

#include <errno.h>
#include <inttypes.h>
#include <locale.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    ENOUGH_DIGITS = 17,      // for any double
    SHORT_NUMBER = 64,       // bytes of a number that is read without memory of its own
    FIRST_WITH_EXPONENT = 21 // digits before the point
};

static locale_t c_locale;

static void make_c_locale(void)
{
    c_locale = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    if (!c_locale)
        abort();
}

static locale_t plain_locale(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_c_locale);
    return c_locale;
}

bool json_number_is_plain_integer(struct bytes number)
{
    for (size_t i = 0; i < number.size; i++)
        if (number.data[i] == '.' || number.data[i] == 'e' || number.data[i] == 'E')
            return false;
    return true;
}

bool json_number_int64(struct bytes number, int64_t *n)
{
    char text[SHORT_NUMBER];
    if (number.size >= sizeof text)
        return false; // there are no leading zeros
    memcpy(text, number.data, number.size);
    text[number.size] = 0;
    errno = 0;
    *n = strtoimax(text, NULL, 10);
    return errno == 0;
}

double json_number_as_double(struct bytes number)
{
    char text[SHORT_NUMBER];
    if (number.size < sizeof text) {
        memcpy(text, number.data, number.size);
        text[number.size] = 0;
        return strtod_l(text, NULL, plain_locale());
    }
    struct buffer copy = {0};
    buffer_add_bytes(&copy, number);
    buffer_add_char(&copy, 0);
    double n = strtod_l((const char *)copy.data, NULL, plain_locale());
    buffer_free(&copy);
    return n;
}

// A number as 0.DIGITS times ten to the power of `point`.
struct decimal {
    char digits[ENOUGH_DIGITS];
    int count;
    int point;
};

// Makes the digits of `text`, d.ddde-308, one more in the last place. False when that needs a place more.
static bool count_up(char *text)
{
    for (char *digit = strchr(text, 'e') - 1; digit >= text; digit--) {
        if (*digit == '.')
            continue;
        if (*digit != '9') {
            ++*digit;
            return true;
        }
        *digit = '0';
    }
    return false;
}

// `n`, positive, in `text` as d.ddde-308 with `count` digits. False when that many cannot be read back as
// `n`. A power of two lies nearer to the double below it than to the one above, so that the nearest decimal
// may be out of its reach and yet the next one up within.
static bool round_to(double n, int count, char *text, size_t size)
{
    snprintf(text, size, "%.*e", count - 1, n);
    if (strtod_l(text, NULL, plain_locale()) == n)
        return true;
    return count < ENOUGH_DIGITS && count_up(text) && strtod_l(text, NULL, plain_locale()) == n;
}

static struct decimal shortest_decimal(double n)
{
    char text[ENOUGH_DIGITS + 10];
    int count = 1;
    locale_t before = uselocale(plain_locale());
    while (!round_to(n, count, text, sizeof text) && count < ENOUGH_DIGITS)
        count++;
    uselocale(before);
    struct decimal decimal = {.count = count, .point = atoi(strchr(text, 'e') + 1) + 1};
    decimal.digits[0] = text[0];
    if (count > 1)
        memcpy(decimal.digits + 1, text + 2, (size_t)count - 1);
    return decimal;
}

static void add_zeros(struct buffer *buffer, int count)
{
    while (count-- > 0)
        buffer_add_char(buffer, '0');
}

static void add_with_exponent(struct buffer *buffer, const struct decimal *decimal)
{
    buffer_add_char(buffer, decimal->digits[0]);
    if (decimal->count > 1) {
        buffer_add_char(buffer, '.');
        buffer_add(buffer, decimal->digits + 1, (size_t)(decimal->count - 1));
    }
    buffer_printf(buffer, "e%+d", decimal->point - 1);
}

void json_number_add_double(struct buffer *buffer, double n)
{
    if (n == 0) {
        buffer_add_char(buffer, '0');
        return;
    }
    if (n < 0) {
        buffer_add_char(buffer, '-');
        n = -n;
    }
    struct decimal decimal = shortest_decimal(n);
    if (decimal.point > FIRST_WITH_EXPONENT || decimal.point < -5) {
        add_with_exponent(buffer, &decimal);
    } else if (decimal.point <= 0) {
        buffer_add_text(buffer, "0.");
        add_zeros(buffer, -decimal.point);
        buffer_add(buffer, decimal.digits, (size_t)decimal.count);
    } else if (decimal.point >= decimal.count) {
        buffer_add(buffer, decimal.digits, (size_t)decimal.count);
        add_zeros(buffer, decimal.point - decimal.count);
    } else {
        buffer_add(buffer, decimal.digits, (size_t)decimal.point);
        buffer_add_char(buffer, '.');
        buffer_add(buffer, decimal.digits + decimal.point, (size_t)(decimal.count - decimal.point));
    }
}
