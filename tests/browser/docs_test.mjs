// The reference page, against the document that it is made of.
import assert from 'node:assert/strict';
import {ask, expectAccessible, expectFits, json, picture, service, withPage} from './browser.mjs';

const methods = ['get', 'head', 'put', 'post', 'patch', 'delete'];

async function operations() {
    const api = await (await ask('GET', '/openapi.json')).json();
    return Object.entries(api.paths).flatMap(([path, item]) =>
        methods.filter(method => item[method]).map(method => ({id: item[method].operationId, path, method: method.toUpperCase()})));
}

const ready = page => page.locator('main:not([aria-busy])').waitFor();

export async function docs_list_every_operation() {
    const expected = await operations();
    await withPage('/docs', async page => {
        await ready(page);
        const shown = await page.locator('.operation').evaluateAll(all => all.map(one => ({
            id: one.id, path: one.querySelector('.path').textContent, method: one.querySelector('.method').textContent,
            curl: one.querySelector('.curl code').textContent,
        })));
        const order = (a, b) => (a.id < b.id ? -1 : 1);
        assert.deepEqual(shown.map(({id, path, method}) => ({id, path, method})).sort(order), expected.sort(order));
        for (const {id, curl} of shown)
            assert.match(curl, new RegExp(`^curl .*'${service}/`), id);
        const listed = await page.locator('#index [data-for]').evaluateAll(all => all.map(one => one.dataset.for));
        assert.deepEqual(listed.sort(), expected.map(({id}) => id).sort());
        await picture(page, 'docs-light');
    });
}

export async function docs_make_a_call() {
    await withPage('/docs#putEntry', async page => {
        await ready(page);
        const put = page.locator('#putEntry');
        await put.locator('.try > summary').click();
        await put.getByLabel('bucket', {exact: true}).fill('from-docs');
        await put.getByLabel('key', {exact: true}).fill('a/b ü\'');
        await put.getByLabel('Text').fill('it\'s said');
        assert.ok((await put.locator('.curl code').textContent()).includes(`/v1/buckets/from-docs/entries/a%2Fb%20%C3%BC%27'`));
        await put.getByRole('button', {name: 'Send PUT'}).click();
        await put.locator('.reply .badge', {hasText: '201'}).waitFor();
        assert.equal(await (await ask('GET', '/v1/buckets/from-docs/entries/a%2Fb%20%C3%BC%27')).text(), 'it\'s said');
        await put.getByRole('button', {name: /^Copy the curl line/}).click();
        const copied = await page.evaluate(() => navigator.clipboard.readText());
        assert.equal(copied, await put.locator('.curl code').textContent());

        // What it shows keeps every digit, and is text.
        await ask('PUT', '/v1/buckets/from-docs/entries/big', '{"n":12345678901234567890,"x":"<img src=x onerror=alert(1)>"}', json);
        const get = page.locator('#getEntry');
        await get.locator('.try > summary').click();
        await get.getByLabel('bucket', {exact: true}).fill('from-docs');
        await get.getByLabel('key', {exact: true}).fill('big');
        await get.getByRole('button', {name: 'Send GET'}).click();
        await get.locator('.answer', {hasText: '12345678901234567890'}).waitFor();
        assert.equal(await get.locator('.answer img').count(), 0);
    });
}

export async function docs_search() {
    await withPage('/docs', async page => {
        await ready(page);
        await page.keyboard.press('/');
        await page.keyboard.type('lease renew');
        const shown = () => page.locator('.operation:visible').evaluateAll(all => all.map(one => one.id));
        const found = await shown();
        assert.ok(found.includes('renewLease') && found.length < 10, found.join());
        await page.keyboard.type(' nothingofthekind');
        assert.deepEqual(await shown(), []);
        assert.ok(await page.locator('#nothing').isVisible());
        assert.ok(await page.locator('h1').isVisible());
        await page.keyboard.press('Escape');
        assert.equal((await shown()).length, (await operations()).length);
    });
}

export async function docs_fit_and_are_accessible() {
    await withPage('/docs', async page => {
        await ready(page);
        await expectFits(page);
        await picture(page, 'docs-narrow');
        await page.getByRole('button', {name: 'Contents'}).click();
        await page.locator('#index').getByRole('link', {name: /Acquire/}).first().click();
        assert.equal(await page.locator('#index').isVisible(), false);
    }, {width: 360, height: 740});
    // The checker looks at each element against each other, so it is given few operations: some of every method.
    const few = await (await ask('GET', '/openapi.json')).json();
    few.paths = Object.fromEntries(Object.entries(few.paths).filter(([path]) => /entries\/\{key\}$|forks\/\{fork\}/.test(path)));
    await withPage('/livez', async page => {
        await page.route('**/openapi.json', route => route.fulfill({json: few}));
        await page.goto(`${service}/docs#promoteFork`);
        await ready(page);
        await page.locator('#promoteFork .try > summary').click();
        await page.locator('#promoteFork .response > summary').first().click();
        await expectFits(page);
        await expectAccessible(page);
        await picture(page, 'docs-dark');
    }, {width: 1600, height: 1000, colorScheme: 'dark'});
}

export async function docs_tell_when_the_document_is_away() {
    await withPage('/livez', async page => {
        await page.route('**/openapi.json', route => route.fulfill({status: 404, body: 'gone'}));
        await page.goto(`${service}/docs`);
        await page.getByRole('alert').getByText('The service answered 404.').waitFor();
        await page.unroute('**/openapi.json');
        await page.getByRole('button', {name: 'Try again'}).click();
        await page.locator('#getEntry').waitFor();
    });
}
