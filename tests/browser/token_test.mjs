// The console once a token is needed.
import assert from 'node:assert/strict';
import {execFileSync} from 'node:child_process';
import {ask, json, picture, withPage} from './browser.mjs';

function token(name, ...grants) {
    return execFileSync(process.env.HOLDFAST_BIN, ['token', 'create', '--data', process.env.HOLDFAST_DATA, '--name', name,
        ...grants.flatMap(grant => ['--grant', grant])], {encoding: 'utf8', stdio: 'pipe'}).trim();
}

// Until the service knows that there is a token now.
async function shut() {
    for (;;) {
        const reply = await fetch(`${process.env.HOLDFAST_URL}/v1/buckets`);
        if (reply.status === 401)
            return;
        await reply.arrayBuffer();
    }
}

export async function ui_asks_for_a_token_and_forgets_it() {
    const root = token('root', 'admin:*');
    const reader = token('reader', 'read:shown');
    await shut();
    const bearer = {...json, Authorization: `Bearer ${root}`};
    await ask('PUT', '/v1/buckets/shown/entries/k', '"v"', bearer);
    await withPage('/ui#/entry?bucket=shown&key=k', async page => {
        const dialog = page.getByRole('dialog', {name: 'Token'});
        await dialog.getByText('This service wants a token.').waitFor();
        await picture(page, 'ui-token');
        await dialog.getByLabel('Token').fill('hf_wrong');
        await dialog.getByRole('button', {name: 'Use token'}).click();
        await dialog.getByText('The service does not take this token.').waitFor();
        await dialog.getByLabel('Token').fill(reader);
        await page.keyboard.press('Enter');
        await page.getByLabel('Value', {exact: true}).fill('"mine"');
        await page.getByRole('button', {name: 'Save'}).click();
        await page.getByRole('alert').getByText('forbidden').waitFor();
        assert.equal(await (await ask('GET', '/v1/buckets/shown/entries/k', undefined, bearer)).text(), '"v"');

        // It lies nowhere but in memory.
        const kept = await page.evaluate(() => JSON.stringify([{...localStorage}, {...sessionStorage}, document.cookie, location.href,
            history.state, [...document.querySelectorAll('input')].map(input => input.value)]));
        assert.ok(!kept.includes('hf_'), kept);
        await page.reload();
        await dialog.getByRole('button', {name: 'Cancel'}).click();
        await page.getByText('This service wants a token.').waitFor();
    });
}

export async function docs_send_the_token_and_do_not_show_it() {
    const writer = token('writer', 'write:written');
    await withPage('/docs#getEntry', async page => {
        await page.locator('main:not([aria-busy])').waitFor();
        await page.getByLabel('Token for Try it').fill(writer);
        const put = page.locator('#putEntry');
        await put.locator('.try > summary').click();
        await put.getByLabel('bucket', {exact: true}).fill('written');
        await put.getByRole('button', {name: 'Send PUT'}).click();
        await put.locator('.reply .badge', {hasText: '201'}).waitFor();
        const curl = await put.locator('.curl code').textContent();
        assert.ok(curl.includes('-H "Authorization: Bearer $TOKEN"') && !curl.includes('hf_'), curl);
    });
}
