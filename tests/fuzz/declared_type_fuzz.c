// Types as the database names them: what is read is written the same again, and values are taken as the type
// says.
#include "json_values.h"

#include "base/buffer.h"
#include "base/json_text.h"
#include "base/text.h"
#include "handlers/declared_type.h"

static void check_type(struct bytes name)
{
    struct declared_type declared;
    struct buffer again = {0};
    if (!declared_type_parse(name, &declared)) {
        must(!declared_value_type(name).data);
        return;
    }
    if (declared.sealing)
        buffer_printf(&again, "sealing:%.*s:", (int)declared.warrant.size,
                      (const char *)declared.warrant.data);
    else if (declared.encrypted)
        buffer_add_text(&again, "sealed:");
    if (declared.encrypted)
        buffer_printf(&again, "%lld:", (long long)declared.most);
    buffer_add_text(&again, value_type_name(declared.type));
    must(bytes_equal(buffer_view(&again), name) && bytes_is(name, declared.name));
    must(declared.type == TYPE_ANY ? !declared_value_type(name).data
                                   : bytes_is(declared_value_type(name), value_type_name(declared.type)));
    buffer_free(&again);
}

static void check_value(struct bytes value)
{
    bool json = value_type_accepts(TYPE_JSON, value), text = value_type_accepts(TYPE_TEXT, value);
    must(value_type_accepts(TYPE_ANY, value) && value_type_accepts(TYPE_BYTES, value));
    must(!json || text);
    must(!value_type_accepts(TYPE_INT, value) || value_type_accepts(TYPE_FLOAT, value));
    must(!value_type_accepts(TYPE_FLOAT, value) || json);
    must(!value_type_accepts(TYPE_BOOL, value) || json);
    must(value_type_accepts(TYPE_NONE, value) == (value.size == 0));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct bytes value = bytes_make(data, size);
    struct bytes name = take_text(&value);
    check_type(name);
    check_value(value);
    return 0;
}
