// Buckets: declaring, changing, reading, listing, dropping.
#pragma once

struct request;

void bucket_put(struct request *request);
void bucket_get(struct request *request);
void bucket_list(struct request *request);
void bucket_delete(struct request *request);
