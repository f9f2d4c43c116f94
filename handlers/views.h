// Many entries of any buckets, as they are together at one moment.
#pragma once

struct request;

void view_read(struct request *request);
