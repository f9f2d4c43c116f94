// The form is that of holdfast.declared_type() in migrations/functions/sealed.sql.
#include "handlers/declared_type.h"

#include "base/text.h"

// Takes what lies before the next colon off the text.
static bool take_part(struct bytes *text, struct bytes *part)
{
    const uint8_t *colon = text->size ? memchr(text->data, ':', text->size) : NULL;
    if (!colon)
        return false;
    *part = bytes_make(text->data, (size_t)(colon - text->data));
    *text = bytes_make(colon + 1, text->size - part->size - 1);
    return true;
}

static bool begins(struct bytes text, const char *opening, struct bytes *rest)
{
    size_t size = strlen(opening);
    if (text.size < size || memcmp(text.data, opening, size) != 0)
        return false;
    *rest = bytes_make(text.data + size, text.size - size);
    return true;
}

bool declared_type_parse(struct bytes name, struct declared_type *declared)
{
    struct bytes rest, most;
    *declared = (struct declared_type){0};
    if (name.size >= sizeof declared->name)
        return false;
    memcpy(declared->name, name.data, name.size);
    name = rest = bytes_make(declared->name, name.size);
    declared->sealing = begins(name, "sealing:", &rest);
    declared->encrypted = declared->sealing || begins(name, "sealed:", &rest);
    if (declared->sealing && !take_part(&rest, &declared->warrant))
        return false;
    if (declared->encrypted && (!take_part(&rest, &most) || !text_int64(most, &declared->most)))
        return false;
    return value_type_parse(rest, &declared->type);
}

struct bytes declared_value_type(struct bytes name)
{
    struct declared_type declared;
    if (!declared_type_parse(name, &declared) || declared.type == TYPE_ANY)
        return (struct bytes){0};
    return bytes_of(value_type_name(declared.type));
}
