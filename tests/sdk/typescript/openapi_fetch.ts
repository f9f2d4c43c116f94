// Uses every resource of a service through openapi-fetch and the types that openapi-typescript makes, in strict TypeScript.
import assert from 'node:assert/strict';

import createClient from 'openapi-fetch';

import type { components, paths } from './openapi-fetch/schema';
import { beyondDouble, dotKeys, everyByte, hardKeys, integerIn, runSteps } from './steps';

type Problem = components['schemas']['Problem'];
type Result = { error?: Problem; response: Response };

const [baseUrl = '', token = ''] = process.argv.slice(2);
const client = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${token}` } });
const ENTRY = '/v1/buckets/{bucket}/entries/{key}';
const bytes = { parseAs: 'arrayBuffer' } as const;

// A value goes out as it is: the client would write a Blob as JSON.
const asItIs = { bodySerializer: (body: Blob | undefined) => body };

async function read(bucket: string, key: string) {
    const result = await client.GET(ENTRY, { params: { path: { bucket, key } }, ...bytes });
    return Buffer.from(result.data ?? new ArrayBuffer(0));
}

async function write(bucket: string, key: string, value: BlobPart, header: { 'If-Match'?: string } = {}) {
    const params = { path: { bucket, key }, header };
    return client.PUT(ENTRY, { params, body: new Blob([value]), ...asItIs });
}

function problem({ error, response }: Result, kind: Problem['kind'], status: number): Problem {
    assert.equal(response.status, status);
    assert.equal(error?.kind, kind);
    return error as Problem;
}

async function buckets() {
    const params = { path: { bucket: 'of-json' } };
    const made = await client.PUT('/v1/buckets/{bucket}', { params, body: { type: 'json', idle: '30m' } });
    assert.equal(made.response.status, 201);
    assert.equal(made.data?.ttl, null);
    const listed = await client.GET('/v1/buckets', { params: { query: { prefix: 'of-' } } });
    assert.deepEqual(listed.data?.buckets.map((bucket) => bucket.kind), ['bucket']);
    problem(await write('of-json', 'k', 'no JSON'), 'type_mismatch', 422);
    assert.equal((await client.DELETE('/v1/buckets/{bucket}', { params })).response.status, 204);
    problem(await client.GET('/v1/buckets/{bucket}', { params }), 'not_found', 404);
}

async function values() {
    assert.equal((await write('of-bytes', 'all', everyByte)).response.status, 201);
    assert.deepEqual(await read('of-bytes', 'all'), Buffer.from(everyByte));
    const params = { path: { bucket: 'of-bytes', key: 'all' } };
    const taken = await client.POST(`${ENTRY}/take`, { params, ...bytes });
    assert.deepEqual(Buffer.from(taken.data ?? new ArrayBuffer(0)), Buffer.from(everyByte));
    problem(await client.POST(`${ENTRY}/take`, { params, ...bytes }), 'not_found', 404);
}

async function keys() {
    for (const key of hardKeys) {
        assert.equal((await write('of-keys', key, key)).response.status, 201);
    }
    for (const key of hardKeys) {
        assert.equal((await read('of-keys', key)).toString(), key);
    }
    const params = { path: { bucket: 'of-keys' } };
    const listed = await client.GET('/v1/buckets/{bucket}/entries', { params });
    assert.deepEqual(listed.data?.entries.map((entry) => entry.key).sort(), [...hardKeys].sort());
}

async function dots() {
    const bucket = 'of-dots';
    await write(bucket, 'kept', 'v');
    for (const key of dotKeys) {
        assert.ok((await client.DELETE(ENTRY, { params: { path: { bucket, key } } })).error);
    }
    const operations = dotKeys.map((key) => ({ op: 'put', bucket, key, text: key }) as const);
    await client.POST('/v1/transactions', { body: { operations } });
    const view = await client.POST('/v1/views', { body: { reads: ['kept', ...dotKeys].map((key) => ({ bucket, key })) } });
    assert.deepEqual(view.data?.entries.map((entry) => entry?.text ?? entry?.key), ['kept', ...dotKeys]);
}

async function versions() {
    const path = { bucket: 'of-versions', key: 'k' };
    const tag = (await write(path.bucket, path.key, 'one')).response.headers.get('ETag') ?? '';
    assert.equal((await write(path.bucket, path.key, 'two', { 'If-Match': tag })).response.status, 204);
    const lost = await write(path.bucket, path.key, 'three', { 'If-Match': tag });
    const version = problem(lost, 'version_conflict', 412).current_version;
    assert.equal(lost.response.headers.get('ETag'), `"${version}"`);
    const header = { 'If-None-Match': `"${version}"`, Prefer: 'wait=20' };
    const waiting = client.GET(ENTRY, { params: { path, header }, ...bytes });
    await write(path.bucket, path.key, 'four');
    assert.equal(Buffer.from((await waiting).data ?? new ArrayBuffer(0)).toString(), 'four');
}

async function leases() {
    const params = { path: { bucket: 'of-leases', key: 'nightly/1' } };
    const LEASE = '/v1/buckets/{bucket}/leases/{key}';
    const granted = await client.POST(LEASE, { params, body: { holder: 'a', ttl: '1m' } });
    problem(await client.POST(LEASE, { params, body: { holder: 'b', ttl: '1m' } }), 'lease_held', 409);
    const query = { holder: 'a', token: granted.data?.token ?? '' };
    const released = await client.DELETE(LEASE, { params: { ...params, query } });
    assert.equal(released.data?.released, true);
}

async function limits() {
    const params = { path: { name: 'of-counter', key: 'a/b' } };
    const bodySerializer = () => `{"by":${beyondDouble}}`;
    await client.POST('/v1/counters/{name}/{key}/add', { params, body: {}, bodySerializer });
    const counted = await client.GET('/v1/counters/{name}/{key}', { params, parseAs: 'text' });
    assert.equal(integerIn(counted.data ?? '', 'value'), beyondDouble);
    const limit = { path: { name: 'of-limit', key: 'ann' } };
    await client.PUT('/v1/rate-limits/{name}', { params: limit, body: { rate: '1/h' } });
    assert.equal((await client.POST('/v1/rate-limits/{name}/{key}/allow', { params: limit })).data?.ok, true);
    const enforced = { ...limit, query: { enforce: true } };
    problem(await client.POST('/v1/rate-limits/{name}/{key}/allow', { params: enforced }), 'too_many', 429);
    const gate = { params: { path: { name: 'of-gate', key: 'ann' } }, body: { max: 3, window: '1m' } };
    assert.equal((await client.POST('/v1/rate-gates/{name}/{key}/check', gate)).data?.left, 2);
    const quota = { path: { name: 'of-quota', key: 'ann' } };
    await client.PUT('/v1/quotas/{name}', { params: quota, body: { windows: { weekly: '300/7d' } } });
    const used = await client.POST('/v1/quotas/{name}/{key}/allow', { params: quota, body: { n: 5 } });
    assert.equal(used.data?.windows['weekly']?.left, 295);
}

async function once() {
    const params = { path: { name: 'of-once', key: 'charge/81' } };
    const begun = await client.POST('/v1/once/{name}/{key}', { params });
    assert.equal(begun.response.status, 201);
    const query = { token: (begun.data as components['schemas']['Run']).token };
    const answer = { params: { ...params, query }, body: new Blob([everyByte]), ...asItIs };
    assert.equal((await client.PUT('/v1/once/{name}/{key}/answer', answer)).response.status, 204);
    const kept = await client.GET('/v1/once/{name}/{key}', { params, ...bytes });
    assert.deepEqual(Buffer.from(kept.data ?? new ArrayBuffer(0)), Buffer.from(everyByte));
}

async function forksAndSessions() {
    const fork = 'of-fork';
    const path = { bucket: 'of-forked', key: 'k' };
    await client.PUT('/v1/forks/{fork}', { params: { path: { fork } }, body: { kind: 'severed' } });
    const header = { 'Holdfast-Session': 'chat/of' };
    await client.PUT(ENTRY, { params: { path, query: { fork }, header }, body: new Blob(['fork']), ...asItIs });
    assert.equal((await client.POST('/v1/forks/{fork}/promote', { params: { path: { fork } } })).data?.rows, 1);
    const session = { params: { path: { stream: 'chat', session: 'of' } } };
    const writes = await client.GET('/v1/sessions/{stream}/{session}/writes', session);
    assert.equal(writes.data?.writes[0]?.key, 'k');
}

async function tokens() {
    const made = await client.POST('/v1/tokens', { body: { name: 'of-reader', grants: ['read:of-forked'] } });
    const reader = createClient<paths>({ baseUrl, headers: { Authorization: `Bearer ${made.data?.token}` } });
    const params = { path: { bucket: 'of-forked', key: 'k' } };
    assert.equal((await reader.GET(ENTRY, { params, ...bytes })).response.status, 200);
    problem(await reader.DELETE(ENTRY, { params }), 'forbidden', 403);
    const revoked = await client.DELETE('/v1/tokens/{name}', { params: { path: { name: 'of-reader' } } });
    assert.equal(revoked.response.status, 204);
}

void runSteps(
    Object.entries({ buckets, values, keys, dots, versions, leases, limits, once, forksAndSessions, tokens }),
);
