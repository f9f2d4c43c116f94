// One row a type.
#include "handlers/value_type.h"

#include "base/json_text.h"
#include "base/text.h"

static bool accepts_all(struct bytes value)
{
    (void)value;
    return true;
}

static bool accepts_json(struct bytes value)
{
    return json_check(value, JSON_STORED_DEPTH) == JSON_VALID;
}

static bool accepts_int(struct bytes value)
{
    int64_t n;
    return text_int64(value, &n);
}

static bool accepts_bool(struct bytes value)
{
    return bytes_is(value, "true") || bytes_is(value, "false");
}

static bool accepts_none(struct bytes value)
{
    return value.size == 0;
}

static const struct {
    const char *name;
    bool (*accepts)(struct bytes value);
    const char *wants;
} rows[TYPE_COUNT] = {
    [TYPE_ANY] = {"any", accepts_all, "any bytes"},
    [TYPE_JSON] = {"json", accepts_json, "one valid JSON text of at most 512 nested levels"},
    [TYPE_TEXT] = {"text", text_is_utf8, "UTF-8"},
    [TYPE_BYTES] = {"bytes", accepts_all, "any bytes"},
    [TYPE_INT] = {"int", accepts_int, "a decimal 64-bit integer in canonical form"},
    [TYPE_FLOAT] = {"float", json_is_finite_number, "a JSON number that a double holds"},
    [TYPE_BOOL] = {"bool", accepts_bool, "true or false"},
    [TYPE_NONE] = {"none", accepts_none, "an empty body"},
};

const char *value_type_name(enum value_type type)
{
    return rows[type].name;
}

bool value_type_parse(struct bytes name, enum value_type *type)
{
    for (int i = 0; i < TYPE_COUNT; i++)
        if (bytes_is(name, rows[i].name)) {
            *type = (enum value_type)i;
            return true;
        }
    return false;
}

bool value_type_accepts(enum value_type type, struct bytes value)
{
    return rows[type].accepts(value);
}

const char *value_type_wants(enum value_type type)
{
    return rows[type].wants;
}
