// The console, while everybody may do everything.
import assert from 'node:assert/strict';
import {ask, expectAccessible, expectFits, json, picture, tabTo, withPage} from './browser.mjs';

const hostile = '<img src=x onerror="alert(1)"><script>alert(2)</script>"\'`${alert(3)}';

const entry = (bucket, key) => `/v1/buckets/${bucket}/entries/${key}`;
const at = (bucket, key) => `/ui#/entry?bucket=${bucket}&key=${encodeURIComponent(key)}`;

async function stored(bucket, key) {
    return (await ask('GET', entry(bucket, key))).text();
}

export async function ui_lists_buckets_and_entries() {
    await ask('PUT', '/v1/buckets/listed', '{"type":"json","ttl":"30d"}', json);
    for (let i = 0; i < 3; i += 1)
        await ask('PUT', entry('listed', `e${i}`), `{"n":${i}}`, json);
    await ask('PUT', '/v1/quotas/plan', '{"windows":{"session":"10/5h","weekly":"300/7d"}}', json);
    await withPage('/ui', async page => {
        const row = page.getByRole('row', {name: /^listed/});
        await row.getByRole('cell', {name: '3', exact: true}).waitFor();
        await row.getByText('30d after creation').waitFor();
        await page.getByRole('row', {name: /^plan/}).getByText('session 10/5h').waitFor();
        await page.locator('#state', {hasText: 'ready'}).waitFor();
        await picture(page, 'ui-buckets');
        await page.getByRole('link', {name: 'listed', exact: true}).click();
        await page.getByRole('heading', {level: 1, name: 'listed'}).waitFor();
        await page.getByRole('link', {name: 'e1', exact: true}).click();
        await page.getByLabel('Value', {exact: true}).waitFor();
        assert.equal(await page.getByLabel('Value', {exact: true}).inputValue(), '{"n":1}');
        const tag = (await ask('HEAD', entry('listed', 'e1'))).headers.get('ETag');
        assert.equal(`"${await page.locator('#version').textContent()}"`, tag);
        assert.ok((await page.getByText(/in 29 d/).count()) > 0);
    });
}

export async function ui_pages_through_entries() {
    for (let i = 0; i < 120; i += 1)
        await ask('PUT', entry('long', `k${String(i).padStart(3, '0')}`), 'v');
    await withPage('/ui#/bucket?bucket=long', async page => {
        await page.getByRole('link', {name: 'k099'}).waitFor();
        assert.equal(await page.getByRole('link', {name: 'k100'}).count(), 0);
        await page.getByRole('button', {name: 'More entries'}).click();
        await page.getByRole('link', {name: 'k119'}).waitFor();
        assert.equal(await page.getByRole('button', {name: 'More entries'}).count(), 0);
        await page.getByLabel('Key begins with').fill('k11');
        await page.getByRole('button', {name: 'Show'}).click();
        await page.getByRole('link', {name: 'k119'}).waitFor();
        assert.equal(await page.locator('.list tbody tr').count(), 10);
        await page.getByLabel('Key begins with').fill('none');
        await page.keyboard.press('Enter');
        await page.getByText('No key of this branch fits.').waitFor();
    });
}

// What is not edited stays as it is: metadata, content type, expiry, line ends.
export async function ui_edits_an_entry() {
    await ask('PUT', `${entry('edited', 'letter')}?ttl=2h`, 'Dear Ann\r\nhello', {'Content-Type': 'text/plain; charset=utf-8', 'Holdfast-Meta-By': 'ann'});
    const before = await ask('GET', entry('edited', 'letter'));
    await withPage(at('edited', 'letter'), async page => {
        const value = page.getByLabel('Value', {exact: true});
        await value.fill('Dear Bob\nhello');
        await page.getByRole('button', {name: 'Save'}).click();
        await page.locator('#version', {hasNotText: before.headers.get('ETag').replaceAll('"', '')}).waitFor();
        assert.equal(await stored('edited', 'letter'), 'Dear Bob\r\nhello');
        const after = await ask('GET', entry('edited', 'letter'));
        for (const name of ['Content-Type', 'Holdfast-Meta-By', 'Holdfast-Expires-At'])
            assert.equal(after.headers.get(name), before.headers.get(name), name);
        await page.getByLabel('never').check();
        await page.getByRole('button', {name: 'Save'}).click();
        await page.locator('.facts').getByText('never').waitFor();
        assert.equal((await ask('GET', entry('edited', 'letter'))).headers.get('Holdfast-Expires-At'), null);
    });
}

export async function ui_shows_a_conflict_and_overwrites_nothing() {
    await ask('PUT', entry('contested', 'k'), '"first"', json);
    await withPage(at('contested', 'k'), async page => {
        const value = page.getByLabel('Value', {exact: true});
        await value.fill('"mine"');
        await ask('PUT', entry('contested', 'k'), '"theirs"', json);
        await page.getByRole('button', {name: 'Save'}).click();
        const conflict = page.getByRole('alert', {name: 'Conflict'});
        await conflict.waitFor();
        assert.equal(await conflict.locator('#theirs').textContent(), '"theirs"');
        assert.equal(await value.inputValue(), '"mine"');
        assert.equal(await stored('contested', 'k'), '"theirs"');
        await expectAccessible(page);
        await picture(page, 'ui-conflict');

        // Going on with one's own means: on top of what was shown, and still of nothing newer.
        await conflict.getByRole('button', {name: 'Go on with mine'}).click();
        await ask('PUT', entry('contested', 'k'), '"newer"', json);
        await page.getByRole('button', {name: 'Save'}).click();
        await conflict.locator('#theirs', {hasText: 'newer'}).waitFor();
        assert.equal(await stored('contested', 'k'), '"newer"');
        await conflict.getByRole('button', {name: 'Go on with mine'}).click();
        await page.getByRole('button', {name: 'Save'}).click();
        await page.getByText('Saved').waitFor({state: 'attached'});
        assert.equal(await stored('contested', 'k'), '"mine"');
    });
}

export async function ui_deletes_only_what_was_seen() {
    await ask('PUT', entry('deleted', 'k'), '1', json);
    await withPage(at('deleted', 'k'), async page => {
        await ask('PUT', entry('deleted', 'k'), '2', json);
        await page.getByRole('button', {name: 'Delete…'}).click();
        await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
        const conflict = page.getByRole('alert', {name: 'Conflict'});
        await conflict.getByRole('button', {name: 'Take what is stored'}).click();
        await page.waitForFunction(() => document.querySelector('textarea')?.value === '2');
        await page.getByRole('button', {name: 'Delete…'}).click();
        await page.getByRole('dialog').getByRole('button', {name: 'Delete'}).click();
        await page.getByText('This branch has no entries.').waitFor();
    });
    await ask('GET', entry('deleted', 'k'), undefined, {}, [404]);
}

export async function ui_creates_only_what_is_absent() {
    await ask('PUT', entry('created', 'there'), 'old', {'Content-Type': 'text/plain'});
    await withPage('/ui#/entry?bucket=created&create=yes', async page => {
        const key = page.getByLabel('Key', {exact: true});
        await key.fill('there');
        await page.getByLabel('Value', {exact: true}).fill('new');
        await page.getByLabel('Content type').fill('text/plain');
        await page.getByRole('button', {name: 'Create'}).click();
        await page.getByRole('alert', {name: 'Conflict'}).waitFor();
        assert.equal(await stored('created', 'there'), 'old');
    });
    await withPage('/ui#/entry?bucket=created&create=yes', async page => {
        await page.getByLabel('Key', {exact: true}).fill('%00%FF/');
        await page.getByLabel('percent-encoded bytes').check();
        await page.getByLabel('Branch').fill('ann\nb+c');
        await page.getByLabel('Value', {exact: true}).fill('[1]');
        await page.getByRole('button', {name: 'Create'}).click();
        await page.locator('#version').waitFor();
    });
    assert.equal(await stored('created', '%00%FF%2F?under=ann&under=b%2Bc'), '[1]');
}

export async function ui_runs_nothing_that_is_data() {
    const key = encodeURIComponent(hostile);
    await ask('PUT', `${entry('hostile', key)}?under=${key}`, hostile, {'Content-Type': 'text/html', 'Holdfast-Meta-x': hostile});
    await ask('PUT', `/v1/buckets/${encodeURIComponent('<b onmouseover=alert(4)>')}`, '{}', json);
    await ask('POST', `/v1/buckets/hostile/leases/k`, JSON.stringify({holder: hostile, ttl: '1h'}), json);
    await withPage('/ui', async page => {
        await page.getByRole('link', {name: '<b onmouseover=alert(4)>'}).hover();
        await page.goto(`${page.url().split('#')[0]}#/bucket?bucket=hostile&under=${encodeURIComponent(key)}`);
        await page.locator('.list a').first().click();
        await page.locator('#version').waitFor();
        assert.equal(await page.getByLabel('Value', {exact: true}).inputValue(), hostile);
        assert.equal(await page.getByLabel('Value of metadata').inputValue(), hostile);
        await page.getByLabel('Content type').fill(`text/plain; x="${'y'.repeat(300)}"`);
        await page.getByRole('button', {name: 'Save'}).click();
        await page.getByRole('alert').waitFor(); // a problem in the service's words
        await page.goto(`${page.url().split('#')[0]}#/leases`);
        await page.getByLabel('Bucket').fill('hostile');
        await page.getByLabel('Key', {exact: true}).fill('k');
        await page.getByRole('button', {name: 'Watch'}).click();
        await page.getByText(hostile).waitFor();
        assert.equal(await page.locator('main img, main script, main b').count(), 0);
        // The policy itself holds, should a line of the page ever slip.
        const slipped = await page.evaluate(() => {
            try {
                document.querySelector('main').innerHTML = '<img src=x onerror=alert(5)>';
                return true;
            } catch {
                return false;
            }
        });
        assert.equal(slipped, false);
        await page.evaluate(() => {
            window.broken = window.broken.filter(text => !text.startsWith('require-trusted-types-for'));
        });
    }, {refused: /TrustedHTML/});
}

export async function ui_keeps_bytes_that_are_no_text() {
    const bytes = Uint8Array.from([0x89, 0x50, 0, 0xff, 0x0d, 0x0a]);
    await ask('PUT', entry('binary', 'b'), bytes, {'Content-Type': 'image/png'});
    await ask('PUT', entry('binary', 'mixed'), 'a\r\nb\nc', {'Content-Type': 'text/plain'});
    for (const key of ['b', 'mixed']) {
        const before = new Uint8Array(await (await ask('GET', entry('binary', key))).arrayBuffer());
        const tag = (await ask('HEAD', entry('binary', key))).headers.get('ETag').replaceAll('"', '');
        await withPage(at('binary', key), async page => {
            await page.getByLabel('A file instead').waitFor();
            await page.getByRole('button', {name: 'Save'}).click();
            await page.locator('#version', {hasNotText: tag}).waitFor();
        });
        assert.deepEqual(new Uint8Array(await (await ask('GET', entry('binary', key))).arrayBuffer()), before);
    }
}

export async function ui_shows_leases_limits_forks_and_health() {
    await ask('PUT', '/v1/quotas/bars', '{"windows":{"session":"10/5h"}}', json);
    await ask('POST', '/v1/quotas/bars/ann/allow', '{"n":9}', json);
    await ask('PUT', '/v1/counters/hits', '{}', json);
    await ask('POST', '/v1/counters/hits/home/add', '{"by":9007199254740993}', json);
    await ask('PUT', '/v1/forks/try', '{"kind":"severed","buckets":["forked"]}', json);
    await ask('PUT', `${entry('forked', 'k')}?fork=try`, 'x');
    await ask('POST', '/v1/buckets/leased/leases/nightly', '{"holder":"worker-1","ttl":"1h"}', json);
    await withPage('/ui#/limits?name=bars', async page => {
        await page.getByLabel('Key', {exact: true}).fill('ann');
        await page.getByRole('button', {name: 'Look'}).click();
        const meter = page.getByRole('meter', {name: 'session'});
        await meter.waitFor();
        assert.equal(await meter.getAttribute('aria-valuenow'), '9');
        await picture(page, 'ui-limits');
        await page.getByLabel('Name').selectOption({label: 'hits (counter)'});
        await page.getByLabel('Key', {exact: true}).fill('home');
        await page.getByRole('button', {name: 'Look'}).click();
        await page.getByText('9007199254740993').waitFor();
        await page.getByRole('link', {name: 'Leases'}).click();
        await page.getByLabel('Bucket').fill('leased');
        await page.getByLabel('Key', {exact: true}).fill('nightly');
        await page.getByRole('button', {name: 'Watch'}).click();
        await page.getByText('worker-1').waitFor();
        await page.getByRole('link', {name: 'Health'}).click();
        await page.getByText('alive', {exact: true}).waitFor();
        await page.getByRole('link', {name: 'Forks'}).click();
        await page.getByRole('button', {name: 'Promote try'}).click();
        await page.getByRole('dialog').getByRole('button', {name: 'Promote'}).click();
        await page.getByText('No fork is open.').waitFor();
    });
    assert.equal(await stored('forked', 'k'), 'x');
}

// From the first Tab to a saved entry, without a mouse.
export async function ui_works_by_keyboard_alone() {
    await ask('PUT', entry('keyboard', 'k'), '"before"', json);
    await withPage('/ui', async page => {
        await page.getByRole('link', {name: 'keyboard', exact: true}).waitFor();
        for (const link of ['keyboard', 'k']) {
            const target = page.getByRole('link', {name: link, exact: true});
            await target.waitFor();
            await tabTo(page, target, 200);
            await page.keyboard.press('Enter');
        }
        const value = page.getByLabel('Value', {exact: true});
        await value.waitFor();
        await tabTo(page, value);
        await page.keyboard.press('Control+A');
        await page.keyboard.type('"after"');
        await tabTo(page, page.getByRole('button', {name: 'Save'}));
        await page.keyboard.press('Enter');
        await page.getByText('Saved').waitFor({state: 'attached'});
        assert.equal(await stored('keyboard', 'k'), '"after"');
        await tabTo(page, page.getByRole('button', {name: 'Delete…'}));
        await page.keyboard.press('Enter');
        const cancel = page.getByRole('dialog').getByRole('button', {name: 'Cancel'});
        assert.ok(await cancel.evaluate(button => button === document.activeElement));
        await page.keyboard.press('Escape');
        assert.equal(await page.getByRole('dialog').count(), 0);
    });
}

export async function ui_fits_and_is_accessible() {
    await ask('PUT', entry('looks', 'k'), '{"a":1}', {...json, 'Holdfast-Meta-a': 'b'});
    const places = ['buckets', 'bucket?bucket=looks', 'entry?bucket=looks&key=k', 'entry?create=yes', 'entry?bucket=looks&key=none',
        'leases', 'limits', 'forks', 'health'];
    for (const [width, colorScheme] of [[360, 'light'], [1600, 'dark']])
        await withPage('/ui', async page => {
            for (const place of places) {
                await page.evaluate(hash => {
                    location.hash = `#/${hash}`;
                }, place);
                await page.locator('.view > h1, .view > .head h1').first().waitFor();
                await page.locator('.view .loading').waitFor({state: 'detached'});
                await expectFits(page);
                await expectAccessible(page);
                await picture(page, `ui-${place.replace(/\W+/g, '-')}-${width}`);
            }
        }, {width, height: 900, colorScheme});
}
