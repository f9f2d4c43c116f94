// An entry that was read, as JSON in the form that the service's lists have.
#pragma once

#include "client/connection.h"
#include "client/place.h"

// Writes one line with bucket, key, under, version, expires_at, content_type, metadata, size and the value of
// a GET that was answered 200.
void entry_show(struct buffer *json, const struct place *place, const struct reply *reply);

// Adds `"key":…` or `"key_base64":…`, and `,"under":[…]`.
void entry_show_place(struct buffer *json, const struct place *place);

// Adds one of `"value":…`, `"text":…` and `"base64":…`: what keeps every byte on one line.
void entry_show_value(struct buffer *json, struct bytes content_type, struct bytes value);
