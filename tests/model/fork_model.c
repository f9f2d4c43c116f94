// The rules of API.md section 10, written as directly as they are told there.
#include "model/fork_model.h"

#include <stdio.h>

static bool live_at(const struct fork_cell *cell, int64_t at)
{
    return cell->present && (!cell->expires || cell->expires_at > at);
}

static const struct fork_cell *main_seen(const struct fork_world *world, size_t bucket, size_t key)
{
    const struct fork_cell *cell = &world->main[bucket].cells[key];
    return live_at(cell, world->now) ? cell : NULL;
}

const struct fork_cell *world_seen(const struct fork_world *world, const struct model_fork *fork,
                                   size_t bucket, size_t key)
{
    if (!fork)
        return main_seen(world, bucket, key);
    if (fork->touched[bucket][key]) {
        const struct fork_cell *own = &fork->own[bucket].cells[key];
        return live_at(own, world->now) ? own : NULL;
    }
    if (!fork->severed)
        return main_seen(world, bucket, key);
    const struct fork_cell *base = &fork->base[bucket].cells[key];
    return live_at(base, fork->created_at) ? base : NULL;
}

bool world_declared(const struct fork_world *world, const struct model_fork *fork, size_t bucket)
{
    if (!fork)
        return world->main[bucket].declared;
    return fork->own[bucket].declared ||
           (fork->severed ? fork->base[bucket].declared : world->main[bucket].declared);
}

int64_t world_kept_expiry(const struct fork_world *world, const struct model_fork *fork,
                          const struct fork_cell *cell)
{
    return fork && cell->expires_at <= world->now ? world->now + (cell->expires_at - fork->created_at)
                                                  : cell->expires_at;
}

void world_tried(struct fork_world *world, struct model_fork *fork, size_t bucket)
{
    if (fork && world_declared(world, fork, bucket))
        fork->own[bucket].declared = true;
}

static void touch(struct fork_world *world, struct model_fork *fork, size_t bucket, size_t key)
{
    if (fork->touched[bucket][key])
        return;
    const struct fork_cell *seen = world_seen(world, fork, bucket, key);
    snprintf(fork->seen[bucket][key], FORK_VERSION, "%s", seen ? seen->version : "");
    fork->touched[bucket][key] = true;
}

static struct fork_bucket *written(struct fork_world *world, struct model_fork *fork, size_t bucket,
                                   size_t key)
{
    if (!fork)
        return &world->main[bucket];
    touch(world, fork, bucket, key);
    return &fork->own[bucket];
}

void world_put(struct fork_world *world, struct model_fork *fork, size_t bucket, size_t key,
               const struct fork_cell *cell)
{
    struct fork_bucket *in = written(world, fork, bucket, key);
    in->declared = true;
    in->cells[key] = *cell;
    in->cells[key].present = true;
}

void world_delete(struct fork_world *world, struct model_fork *fork, size_t bucket, size_t key)
{
    written(world, fork, bucket, key)->cells[key] = (struct fork_cell){0};
}

void world_drop(struct fork_world *world, size_t bucket)
{
    world->main[bucket] = (struct fork_bucket){0};
}

void world_fork(struct fork_world *world, struct model_fork *fork, bool severed)
{
    char id[sizeof fork->id];
    memcpy(id, fork->id, sizeof id);
    *fork = (struct model_fork){.open = true, .severed = severed, .created_at = world->now};
    memcpy(fork->id, id, sizeof id);
    memcpy(fork->base, world->main, sizeof fork->base);
}

size_t world_touched(const struct model_fork *fork)
{
    size_t count = 0;
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++)
        for (size_t key = 0; key < FORK_KEYS; key++)
            count += fork->touched[bucket][key];
    return count;
}

bool world_moved(const struct fork_world *world, const struct model_fork *fork)
{
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++) {
        for (size_t key = 0; key < FORK_KEYS; key++) {
            const struct fork_cell *seen = main_seen(world, bucket, key);
            if (fork->touched[bucket][key] && strcmp(fork->seen[bucket][key], seen ? seen->version : "") != 0)
                return true;
        }
    }
    return false;
}

void world_promote(struct fork_world *world, struct model_fork *fork)
{
    for (size_t bucket = 0; bucket < FORK_BUCKETS; bucket++) {
        for (size_t key = 0; key < FORK_KEYS; key++) {
            if (!fork->touched[bucket][key])
                continue;
            const struct fork_cell *own = world_seen(world, fork, bucket, key);
            if (own)
                world_put(world, NULL, bucket, key, own);
            else
                world_delete(world, NULL, bucket, key);
        }
    }
    fork->open = false;
}
