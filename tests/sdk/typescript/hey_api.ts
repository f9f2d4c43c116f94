// Uses every resource of a service through the client that @hey-api/openapi-ts generates, in strict TypeScript.
import assert from 'node:assert/strict';

import * as holdfast from './hey-api';
import type { Problem } from './hey-api';
import { client } from './hey-api/client.gen';
import { beyondDouble, dotKeys, everyByte, hardKeys, integerIn, runSteps } from './steps';

const [baseUrl = '', auth = ''] = process.argv.slice(2);
client.setConfig({ baseUrl, auth });

async function bytesOf(value: Blob | undefined): Promise<Uint8Array> {
    assert.ok(value instanceof Blob, 'a value is typed and given as bytes');
    return new Uint8Array(await value.arrayBuffer());
}

// The client would parse a body by its content type: a value is bytes whatever it says.
async function read(bucket: string, key: string) {
    return holdfast.getEntry({ path: { bucket, key }, parseAs: 'blob' });
}

async function write(bucket: string, key: string, text: string) {
    return holdfast.putEntry({ path: { bucket, key }, body: new Blob([text]) });
}

function status(result: { response?: Response }, wanted: number): void {
    assert.equal(result.response?.status, wanted);
}

// A refusal as the typed error that it is.
function problem(result: { error?: Problem; response?: Response }, kind: Problem['kind'], wanted: number): Problem {
    status(result, wanted);
    assert.ok(result.error);
    assert.equal(result.error.kind, kind);
    return result.error;
}

async function buckets() {
    const bucket = 'hey-json';
    const made = await holdfast.putBucket({ path: { bucket }, body: { type: 'json', ttl: '30d' } });
    status(made, 201);
    assert.equal(made.data?.idle, null);
    assert.equal((await holdfast.getBucket({ path: { bucket } })).data?.ttl, '30d');
    const listed = await holdfast.listBuckets({ query: { prefix: 'hey-', limit: 1 } });
    assert.equal(listed.data?.buckets[0]?.name, bucket);
    assert.equal(listed.data?.cursor, null);
    problem(await write(bucket, 'k', 'no JSON'), 'type_mismatch', 422);
    status(await holdfast.deleteBucket({ path: { bucket } }), 204);
    problem(await holdfast.getBucket({ path: { bucket } }), 'not_found', 404);
}

async function bytes() {
    const path = { bucket: 'hey-bytes', key: 'all' };
    status(await holdfast.putEntry({ path, body: new Blob([everyByte]) }), 201);
    assert.deepEqual(await bytesOf((await read(path.bucket, path.key)).data), everyByte);
    const json = '{ "spaces" : "kept" }';
    await holdfast.putEntry({ path, body: new Blob([json]), headers: { 'Content-Type': 'application/json' } as never });
    const got = await read(path.bucket, path.key);
    assert.equal(got.response?.headers.get('Content-Type'), 'application/json');
    assert.equal(Buffer.from(await bytesOf(got.data)).toString(), json);
    const old = await holdfast.exchangeEntry({ path, body: new Blob([everyByte]), parseAs: 'blob' });
    assert.equal(Buffer.from(await bytesOf(old.data as Blob)).toString(), json);
    assert.ok(old.response?.headers.get('Holdfast-Previous-Version'));
    const taken = await holdfast.takeEntry({ path, parseAs: 'blob' });
    assert.deepEqual(await bytesOf(taken.data), everyByte);
    problem(await holdfast.takeEntry({ path }), 'not_found', 404);
}

async function keys() {
    const bucket = 'hey-keys';
    for (const key of hardKeys) {
        status(await write(bucket, key, key), 201);
    }
    for (const key of hardKeys) {
        assert.equal(Buffer.from(await bytesOf((await read(bucket, key)).data)).toString(), key);
    }
    const listed = await holdfast.listEntries({ path: { bucket } });
    assert.deepEqual(listed.data?.entries.map((entry) => entry.key).sort(), [...hardKeys].sort());
    const raw = await fetch(`${baseUrl}/v1/buckets/${bucket}/entries/a%252Fb`, { headers: { Authorization: `Bearer ${auth}` } });
    assert.equal(await raw.text(), 'a%2Fb');
}

async function dots() {
    const bucket = 'hey-dots';
    await write(bucket, 'kept', 'v');
    for (const key of dotKeys) {
        assert.ok((await holdfast.deleteEntry({ path: { bucket, key } })).error);
        assert.ok((await write(bucket, key, 'v')).error);
    }
    const operations = dotKeys.map((key) => ({ op: 'put', bucket, key, text: key }) as const);
    status(await holdfast.runTransaction({ body: { operations } }), 200);
    const batch = await holdfast.batchGetEntries({ path: { bucket }, body: { keys: ['kept', ...dotKeys] } });
    assert.deepEqual(batch.data?.entries.map((entry) => entry?.key), ['kept', ...dotKeys]);
    const view = await holdfast.readView({ body: { reads: [{ bucket, key: '..' }] } });
    assert.equal(view.data?.entries[0]?.text, '..');
}

async function branches() {
    const path = { bucket: 'hey-branches', key: 'k' };
    status(await holdfast.putEntry({ path, query: { under: ['tenant/7', 'é'] }, body: new Blob(['v']) }), 201);
    status(await holdfast.getEntry({ path }), 404);
    const batch = await holdfast.batchGetEntries({ path, body: { keys: ['k'], under: ['tenant/7', 'é'] } });
    assert.deepEqual(batch.data?.entries[0]?.under, ['tenant/7', 'é']);
    const cleared = await holdfast.clearEntries({ path, query: { under: ['tenant/7'] } });
    assert.equal(cleared.data?.removed, 1);
}

async function versions() {
    const path = { bucket: 'hey-versions', key: 'k' };
    const first = await write(path.bucket, path.key, 'one');
    const tag = first.response?.headers.get('ETag') ?? '';
    assert.match(tag, /^"[^"]+"$/);
    assert.ok(first.response?.headers.get('Holdfast-Position'));
    status(await holdfast.putEntry({ path, headers: { 'If-Match': tag }, body: new Blob(['two']) }), 204);
    const lost = await holdfast.putEntry({ path, headers: { 'If-Match': tag }, body: new Blob(['three']) });
    const now = (await holdfast.headEntry({ path })).response?.headers.get('ETag');
    assert.equal(`"${problem(lost, 'version_conflict', 412).current_version}"`, now);
    const thrown = holdfast.putEntry({ path, headers: { 'If-None-Match': '*' }, body: new Blob(['x']), throwOnError: true });
    await assert.rejects(thrown, (error: Problem) => error.kind === 'version_conflict' && error.status === 412);
}

async function changes() {
    const path = { bucket: 'hey-changes', key: 'k' };
    await holdfast.putBucket({ path, body: { type: 'json' } });
    await write(path.bucket, path.key, '{"a":1,"b":2}');
    const patched = await holdfast.patchEntry({ path, body: { b: null }, headers: { Prefer: 'return=representation' }, parseAs: 'json' });
    assert.deepEqual(patched.data, { a: 1 });
    const swapped = await holdfast.compareAndSetEntry({ path, body: { expected: { a: 1 }, value: { a: 2 } } });
    assert.equal(swapped.data?.swapped, true);
    const upsert = { insert: {}, update: { increment: { a: 3 } } };
    status(await holdfast.upsertEntry({ path, body: upsert }), 200);
    status(await holdfast.putEntryExpiry({ path, body: { ttl: '1h' } }), 204);
    status(await holdfast.deleteEntryExpiry({ path }), 204);
    const copied = await holdfast.copyEntry({ path, body: { to_key: 'copy' } });
    assert.ok(copied.data?.version);
    status(await holdfast.moveEntry({ path: { ...path, key: 'copy' }, body: { to_key: 'moved' } }), 200);
    const listed = await holdfast.listEntries({ path, query: { values: true } });
    assert.deepEqual(listed.data?.entries.map((entry) => entry.value), [{ a: 5 }, { a: 5 }]);
    const sum = await holdfast.addToEntry({ path: { bucket: 'hey-sums', key: 'k' }, body: { by: 2.5 } });
    assert.equal(sum.data?.value, 2.5);
}

async function waiting() {
    const path = { bucket: 'hey-waits', key: 'k' };
    const tag = (await write(path.bucket, path.key, 'old')).response?.headers.get('ETag') ?? '';
    const headers = { 'If-None-Match': tag };
    status(await holdfast.getEntry({ path, headers, parseAs: 'blob' }), 304);
    const waiting = holdfast.getEntry({ path, headers: { ...headers, Prefer: 'wait=20' }, parseAs: 'blob' });
    await write(path.bucket, path.key, 'new');
    const news = await waiting;
    status(news, 200);
    assert.equal(Buffer.from(await bytesOf(news.data)).toString(), 'new');
    const position = news.response?.headers.get('ETag')?.slice(1, -1);
    status(await holdfast.getEntry({ path, query: { at_least: position }, parseAs: 'blob' }), 200);
}

async function leases() {
    const path = { bucket: 'hey-leases', key: 'nightly/1' };
    const granted = await holdfast.acquireLease({ path, body: { holder: 'a', ttl: '1m' } });
    status(granted, 201);
    const token = granted.data?.token ?? '';
    assert.ok(BigInt(token) > 2n ** 53n);
    const held = await holdfast.acquireLease({ path, body: { holder: 'b', ttl: '1m' } });
    assert.ok(problem(held, 'lease_held', 409).expires_at);
    assert.ok(Number(held.response?.headers.get('Retry-After')) > 0);
    assert.equal((await holdfast.getLease({ path })).data?.holder, 'a');
    status(await holdfast.renewLease({ path, body: { holder: 'a', token, ttl: '1m' } }), 200);
    const fence = { fence_bucket: path.bucket, fence_key: path.key, fence_token: token };
    const entry = { bucket: 'hey-leases', key: 'job' };
    const unconditional = await holdfast.putEntry({ path: entry, query: fence, body: new Blob(['1']) });
    problem(unconditional, 'precondition_required', 428);
    const headers = { 'If-None-Match': '*' };
    status(await holdfast.putEntry({ path: entry, query: fence, headers, body: new Blob(['1']) }), 201);
    const released = await holdfast.releaseLease({ path, query: { holder: 'a', token } });
    assert.equal(released.data?.released, true);
    problem(await holdfast.renewLease({ path, body: { holder: 'a', token, ttl: '1m' } }), 'lease_lost', 409);
}

// JSON has the digits of a 64-bit integer, which JavaScript's numbers do not hold: they are read from the text.
async function counters() {
    const path = { name: 'hey-counter', key: 'a/b' };
    status(await holdfast.putCounter({ path, body: { ttl: '15m' } }), 201);
    assert.equal((await holdfast.getCounter({ path })).data?.ttl, '15m');
    assert.equal((await holdfast.addToCounter({ path })).data?.value, 1);
    const bodySerializer = () => `{"value":${beyondDouble}}`;
    status(await holdfast.liftCounter({ path, body: { value: 0 }, bodySerializer }), 200);
    const text = (await holdfast.getCounterValue({ path, parseAs: 'text' })).data as unknown as string;
    assert.equal(integerIn(text, 'value'), beyondDouble);
    status(await holdfast.resetCounterValue({ path }), 204);
    assert.equal((await holdfast.getCounterValue({ path })).data?.value, 0);
    status(await holdfast.deleteCounter({ path }), 204);
}

async function limits() {
    const path = { name: 'hey-limit', key: 'ann' };
    await holdfast.putRateLimit({ path, body: { rate: '1/h', burst: 2 } });
    assert.equal((await holdfast.allowRateLimitKey({ path, body: { n: 2 } })).data?.ok, true);
    const refused = await holdfast.allowRateLimitKey({ path });
    assert.equal(refused.data?.ok, false);
    assert.ok(refused.response?.headers.get('RateLimit'));
    problem(await holdfast.allowRateLimitKey({ path, query: { enforce: true } }), 'too_many', 429);
    assert.equal((await holdfast.getRateLimitKey({ path })).data?.left, 0);
    status(await holdfast.resetRateLimitKey({ path }), 204);
    assert.equal((await holdfast.getRateLimitKey({ path })).data?.left, 2);
    assert.equal((await holdfast.getRateLimit({ path })).data?.burst, 2);
    status(await holdfast.deleteRateLimit({ path }), 204);
    problem(await holdfast.allowRateLimitKey({ path }), 'not_found', 404);
}

async function gates() {
    const gate = { name: 'hey-gate', key: 'ann' };
    assert.equal((await holdfast.checkRateGate({ path: gate, body: { max: 3, window: '1m' } })).data?.left, 2);
    assert.equal((await holdfast.getRateGateKey({ path: gate, query: { max: 3, window: '1m' } })).data?.current, 1);
    status(await holdfast.resetRateGateKey({ path: gate }), 204);
    assert.equal((await holdfast.getRateGateKey({ path: gate, query: { max: 3, window: '1m' } })).data?.current, 0);
    status(await holdfast.deleteRateGate({ path: gate }), 204);
}

async function quotas() {
    const quota = { name: 'hey-quota', key: 'ann' };
    await holdfast.putQuota({ path: quota, body: { windows: { session: '100/5h', weekly: '300/7d' } } });
    const used = await holdfast.allowQuotaKey({ path: quota, body: { n: 5 } });
    assert.equal(used.data?.windows['weekly']?.left, 295);
    assert.equal((await holdfast.refundQuotaKey({ path: quota, body: { n: 4 } })).data?.left, 99);
    assert.equal((await holdfast.getQuotaKey({ path: quota })).data?.windows['session']?.used, 1);
    status(await holdfast.resetQuotaKey({ path: quota }), 204);
    assert.equal((await holdfast.getQuotaKey({ path: quota })).data?.windows['session']?.used, 0);
    assert.equal((await holdfast.getQuota({ path: quota })).data?.windows['weekly'], '300/7d');
    status(await holdfast.deleteQuota({ path: quota }), 204);
}

async function once() {
    const path = { name: 'hey-once', key: 'charge/81' };
    await holdfast.putOnce({ path, body: { ttl: '1d', run_ttl: '1m' } });
    const begun = await holdfast.beginOnce({ path });
    status(begun, 201);
    assert.ok(begun.data && 'token' in begun.data);
    status(await holdfast.beginOnce({ path }), 202);
    const query = { token: begun.data.token };
    status(await holdfast.renewOnceRun({ path, query }), 200);
    status(await holdfast.answerOnce({ path, query, body: new Blob([everyByte]), bodySerializer: null }), 204);
    const kept = await holdfast.beginOnce({ path, parseAs: 'blob' });
    assert.equal(kept.response?.headers.get('Holdfast-Once'), 'kept');
    assert.deepEqual(await bytesOf(kept.data as Blob), everyByte);
    assert.deepEqual(await bytesOf((await holdfast.getOnceAnswer({ path, parseAs: 'blob' })).data), everyByte);
    status(await holdfast.deleteOnceAnswer({ path }), 204);
    const again = await holdfast.beginOnce({ path });
    assert.ok(again.data && 'token' in again.data);
    status(await holdfast.failOnceRun({ path, query: { token: again.data.token } }), 204);
    problem(await holdfast.answerOnce({ path, query, body: new Blob(['late']) }), 'lease_lost', 409);
    assert.equal((await holdfast.getOnce({ path })).data?.run_ttl, '1m');
    status(await holdfast.deleteOnce({ path }), 204);
}

async function transactions() {
    const bucket = 'hey-accounts';
    await holdfast.addToEntry({ path: { bucket, key: 'ann' }, body: { by: 100 } });
    const reads = [{ bucket, key: 'ann' }, { bucket, key: 'bob' }];
    const seen = await holdfast.readView({ body: { reads } });
    assert.equal(seen.data?.entries[1], null);
    const checks = [{ bucket, key: 'ann', version: seen.data?.entries[0]?.version }, { bucket, key: 'bob', absent: true }];
    const body: holdfast.Transaction = {
        checks,
        operations: [{ op: 'add', bucket, key: 'ann', by: -10 }, { op: 'add', bucket, key: 'bob', by: 10 }],
    };
    assert.equal((await holdfast.runTransaction({ body })).data?.results.length, 2);
    const lost = problem(await holdfast.runTransaction({ body }), 'version_conflict', 412);
    assert.deepEqual([lost.in, lost.index], ['checks', 0]);
}

async function idempotency() {
    const path = { bucket: 'hey-idempotent', key: 'k' };
    const headers = { 'Idempotency-Key': 'hey-api-1' };
    const first = await holdfast.addToEntry({ path, headers });
    const again = await holdfast.addToEntry({ path, headers });
    assert.equal(again.response?.headers.get('Holdfast-Replayed'), 'true');
    assert.deepEqual(again.data, first.data);
    problem(await holdfast.addToEntry({ path, headers, body: { by: 2 } }), 'idempotency_mismatch', 422);
}

async function forks() {
    const fork = 'hey-fork';
    const path = { bucket: 'hey-forked', key: 'k' };
    await write(path.bucket, path.key, 'main');
    status(await holdfast.createFork({ path: { fork }, body: { kind: 'severed' } }), 201);
    await holdfast.putEntry({ path, query: { fork }, body: new Blob(['fork']) });
    assert.equal(Buffer.from(await bytesOf((await read(path.bucket, path.key)).data)).toString(), 'main');
    assert.equal((await holdfast.getFork({ path: { fork } })).data?.rows, 1);
    assert.ok((await holdfast.listForks()).data?.forks.some((one) => one.id === fork));
    assert.equal((await holdfast.promoteFork({ path: { fork }, query: { if_unchanged: true } })).data?.rows, 1);
    assert.equal(Buffer.from(await bytesOf((await read(path.bucket, path.key)).data)).toString(), 'fork');
    assert.equal((await holdfast.discardFork({ path: { fork } })).data?.discarded, false);
}

async function sessions() {
    const path = { bucket: 'hey-sessions', key: 'k' };
    const headers = { 'Holdfast-Session': 'chat/hey' };
    await holdfast.putEntry({ path, headers, body: new Blob(['v']) });
    const writes = await holdfast.listSessionWrites({ path: { stream: 'chat', session: 'hey' } });
    assert.equal(writes.data?.writes[0]?.operation, 'put');
    const listed = await holdfast.listEntries({ path, query: { source: true } });
    assert.deepEqual(listed.data?.entries[0]?.source?.session, { stream: 'chat', session: 'hey' });
}

async function tokens() {
    const name = 'hey reader';
    const made = await holdfast.createToken({ body: { name, grants: ['read:hey-forked'] } });
    status(made, 201);
    const path = { bucket: 'hey-forked', key: 'k' };
    const reader = { auth: made.data?.token ?? '' };
    status(await holdfast.getEntry({ ...reader, path, parseAs: 'blob' }), 200);
    problem(await holdfast.deleteEntry({ ...reader, path }), 'forbidden', 403);
    assert.equal((await holdfast.getToken({ path: { name } })).data?.prefix, null);
    assert.ok((await holdfast.listTokens()).data?.tokens.some((token) => token.name === name));
    status(await holdfast.revokeToken({ path: { name } }), 204);
    const unknown = await holdfast.getEntry({ auth: 'hf_none', path });
    assert.equal(unknown.response?.headers.get('WWW-Authenticate'), 'Bearer');
    problem(unknown, 'unauthorized', 401);
}

async function service() {
    assert.equal((await holdfast.getLiveness()).data?.status, 'ok');
    status(await holdfast.headLiveness(), 200);
    assert.equal((await holdfast.getReadiness()).data?.status, 'ready');
    status(await holdfast.headReadiness(), 200);
    const can = (await holdfast.getCapabilities()).data;
    assert.equal(can?.limits.key_bytes, 1024);
    const metrics = await holdfast.getMetrics({ parseAs: 'text' });
    assert.match(metrics.data as string, /^holdfast_/m);
}

async function pages() {
    assert.ok((await holdfast.getOpenapiJson()).data);
    const yaml = await holdfast.getOpenapiYaml({ parseAs: 'text' });
    assert.match(yaml.data as string, /^openapi: /);
    const html = [await holdfast.getDocs({ parseAs: 'text' }), await holdfast.getConsole({ parseAs: 'text' })];
    html.forEach((page) => assert.match(page.data as string, /^<!doctype html>/));
    status(await holdfast.getDocsFile({ path: { file: 'page.js' }, parseAs: 'text' }), 200);
    status(await holdfast.getConsoleFile({ path: { file: 'page.js' }, parseAs: 'text' }), 200);
}

void runSteps(
    Object.entries({
        buckets, bytes, keys, dots, branches, versions, changes, waiting, leases, counters, limits, gates, quotas, once,
        transactions, idempotency, forks, sessions, tokens, service, pages,
    }),
);
