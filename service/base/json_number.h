// Reads and writes the numbers of JSON the same way whatever the process's locale is.
#pragma once

#include "base/buffer.h"

// Whether `number`, a JSON number, has neither fraction nor exponent.
bool json_number_is_plain_integer(struct bytes number);

// The value of `number`, a JSON number without fraction and exponent. False when it is past 64 bits.
bool json_number_int64(struct bytes number, int64_t *n);

// The double nearest to `number`, a JSON number; infinite when it is too large for one, zero when too small.
double json_number_as_double(struct bytes number);

// Adds `n`, which is finite, to `buffer` as RFC 8785 (that is ECMAScript) writes it: the fewest digits that
// read back as the same double; an exponent only from 1e21 on and below 1e-6; -0 is 0.
void json_number_add_double(struct buffer *buffer, double n);
