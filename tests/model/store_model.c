// The rules of API.md sections 2 and 3 for one caller at a time, written as directly as they are told there.
#include "model/store_model.h"

#include <stdio.h>
#include <stdlib.h>

enum { DEFAULT_MAX_VALUE = 8 * 1024 * 1024 };

bool allowed_has(struct allowed allowed, int status)
{
    for (size_t i = 0; i < allowed.count; i++) {
        if (allowed.statuses[i] == status) {
            return true;
        }
    }
    return false;
}

struct held_entry *model_live(struct store_model *model, size_t bucket, size_t address)
{
    struct held_entry *entry = &model->entries[bucket][address];
    bool live = entry->present && (!entry->expires || entry->expires_at > model->now);
    return live ? entry : NULL;
}

bool model_condition(struct store_model *model, size_t bucket, size_t address, enum held_condition condition,
                     const char *version)
{
    const struct held_entry *live = model_live(model, bucket, address);
    switch (condition) {
    case HELD_ALWAYS:
        return true;
    case HELD_IF_VERSION:
        return live != NULL && strcmp(live->version, version) == 0;
    case HELD_IF_LIVE:
        return live != NULL;
    case HELD_IF_ABSENT:
        return live == NULL;
    case HELD_NEVER:
        return false;
    }
    return false;
}

static void add(struct allowed *allowed, int status)
{
    allowed->statuses[allowed->count++] = status;
}

struct allowed model_allows_put(struct store_model *model, const struct model_put *put)
{
    const struct held_bucket *bucket = &model->buckets[put->bucket];
    struct allowed allowed = {0};
    if (!model_condition(model, put->bucket, put->address, put->condition, put->version)) {
        add(&allowed, 412);
    }
    bool typed = bucket->declared && strcmp(bucket->type, "any") != 0;
    if (typed && !put->fits) {
        add(&allowed, 422);
    }
    int64_t most = bucket->declared ? bucket->max_value_bytes : DEFAULT_MAX_VALUE;
    if ((int64_t)put->value.size > most) {
        add(&allowed, 413);
    }
    if (allowed.count == 0) {
        add(&allowed, model_live(model, put->bucket, put->address) != NULL ? 204 : 201);
    }
    return allowed;
}

struct allowed model_allows_delete(struct store_model *model, size_t bucket, size_t address,
                                   enum held_condition condition, const char *version)
{
    struct allowed allowed = {0};
    if (!model_condition(model, bucket, address, condition, version)) {
        add(&allowed, 412);
    } else {
        add(&allowed, model_live(model, bucket, address) != NULL ? 204 : 404);
    }
    return allowed;
}

static void forget(struct held_entry *entry)
{
    free((void *)(uintptr_t)entry->value.data);
    *entry = (struct held_entry){0};
}

void model_put(struct store_model *model, const struct model_put *put, const char *version)
{
    struct held_bucket *bucket = &model->buckets[put->bucket];
    if (!bucket->declared) {
        model_declare(model, put->bucket, "any", 0, DEFAULT_MAX_VALUE);
    }
    const struct held_entry *live = model_live(model, put->bucket, put->address);
    struct held_entry next = {
        .present = true, .value = put->value, .content_type = put->content_type, .note = put->note};
    snprintf(next.version, sizeof next.version, "%s", version);
    switch (put->wish) {
    case EXPIRY_TTL:
        next.expires = true;
        next.expires_at = model->now + put->expiry;
        break;
    case EXPIRY_UNTIL:
        next.expires = true;
        next.expires_at = put->expiry;
        break;
    case EXPIRY_PERSIST:
        break;
    case EXPIRY_UNSAID:
        next.expires = live != NULL ? live->expires : bucket->ttl > 0;
        next.expires_at = live != NULL ? live->expires_at : model->now + bucket->ttl;
        break;
    }
    struct held_entry *entry = &model->entries[put->bucket][put->address];
    forget(entry);
    *entry = next;
}

void model_delete(struct store_model *model, size_t bucket, size_t address)
{
    forget(&model->entries[bucket][address]);
}

void model_declare(struct store_model *model, size_t bucket, const char *type, int64_t ttl,
                   int64_t max_value_bytes)
{
    struct held_bucket *held = &model->buckets[bucket];
    held->created_at = held->declared ? held->created_at : model->now;
    held->declared = true;
    held->type = type;
    held->ttl = ttl;
    held->max_value_bytes = max_value_bytes;
}

void model_drop(struct store_model *model, size_t bucket)
{
    for (size_t i = 0; i < UNIVERSE_ADDRESSES; i++) {
        forget(&model->entries[bucket][i]);
    }
    model->buckets[bucket] = (struct held_bucket){0};
}

bool model_has_live_entries(struct store_model *model, size_t bucket)
{
    for (size_t i = 0; i < UNIVERSE_ADDRESSES; i++) {
        if (model_live(model, bucket, i) != NULL) {
            return true;
        }
    }
    return false;
}

void model_free(struct store_model *model)
{
    for (size_t i = 0; i < UNIVERSE_BUCKETS; i++) {
        model_drop(model, i);
    }
}
