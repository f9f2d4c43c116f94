// JSON requests whose members are stored or compared as they are written: no number is narrowed, no name with
// a NUL and no lone surrogate refused.
#pragma once

#include "handlers/address.h"

// Whether the body is one JSON object that has only members among `names` (a NULL ends them) and nowhere in
// it two members of one name. Else replies `invalid`, naming `body` or the member that is not known.
bool text_request(struct request *request, const char *const *names);

// The same for a member of such a request, which is named `parameter`.
bool text_object(struct request *request, struct bytes object, const char *parameter,
                 const char *const *names);

// The value of the body's member `name` in one of three forms: `name` itself as JSON (`*as_json`; a view of
// its text), `name`_text or `name`_base64 (decoded, in the arena). Unless it is there exactly once, replies
// `invalid` and gives false. `content_type` gets the type that values of that form have.
bool text_value(struct request *request, const char *name, struct bytes *value, bool *as_json,
                const char **content_type);
