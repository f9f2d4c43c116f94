// What the tests share: the browser, a page that is watched while it is used, and the service without a browser.
import assert from 'node:assert/strict';
import {mkdirSync, readFileSync} from 'node:fs';
import {createRequire} from 'node:module';
import path from 'node:path';

const require = createRequire(path.join(process.env.BROWSER_TOOLS, 'package.json'));
const {chromium} = require('playwright-core');
const axe = readFileSync(require.resolve('axe-core/axe.min.js'), 'utf8');

export const service = process.env.HOLDFAST_URL;

const browser = await chromium.launch({
    executablePath: process.env.BROWSER,
    args: ['--no-sandbox', '--disable-gpu', '--disable-quic', '--no-first-run', '--disable-background-networking',
        '--disable-component-update', '--disable-sync'],
});

export const close = () => browser.close();

// A refusal that a test provokes is told on the console too; nothing else may be.
const isRefusal = text => /^Failed to load resource: the server responded with a status of 4(?:00|01|03|04|12|13) /.test(text);

// Opens an address of the service in a context of its own and has `use` use it. Afterwards fails when the page said an error,
// broke its policy, opened a dialog of a script, or asked anybody but the service. `refused` is what it may say all the same.
export async function withPage(address, use, {width = 1280, height = 900, colorScheme = 'light', refused = null} = {}) {
    const context = await browser.newContext({viewport: {width, height}, colorScheme, permissions: ['clipboard-read', 'clipboard-write']});
    const faults = [];
    try {
        const page = await context.newPage();
        page.setDefaultTimeout(60000);
        page.on('console', message => {
            if (['error', 'warning'].includes(message.type()) && !isRefusal(message.text()) && !refused?.test(message.text()))
                faults.push(`console: ${message.text()}`);
        });
        page.on('pageerror', error => faults.push(`error: ${error.message}`));
        page.on('dialog', dialog => {
            faults.push(`dialog: ${dialog.message()}`);
            dialog.dismiss();
        });
        page.on('request', request => {
            if (!request.url().startsWith(service) && !request.url().startsWith('blob:'))
                faults.push(`request to ${request.url()}`);
        });
        await page.addInitScript(() => {
            window.broken = [];
            document.addEventListener('securitypolicyviolation', event => window.broken.push(`${event.violatedDirective} ${event.blockedURI}`));
        });
        await page.goto(service + address);
        await use(page);
        faults.push(...(await page.evaluate(() => window.broken)).map(text => `policy: ${text}`));
    } finally {
        await context.close();
    }
    assert.deepEqual(faults, []);
}

// Keeps a picture beside the tiers' results.
export async function picture(page, name) {
    mkdirSync(process.env.BROWSER_RESULTS, {recursive: true});
    await page.screenshot({path: path.join(process.env.BROWSER_RESULTS, `${name}.png`)});
}

// Fails with the rules of WCAG A and AA that the page breaks, and where.
export async function expectAccessible(page) {
    if (!await page.evaluate(() => 'axe' in window))
        await page.evaluate(axe);
    const {violations} = await page.evaluate(() => window.axe.run(document, {
        runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'],
        resultTypes: ['violations'],
    }));
    assert.deepEqual(violations.map(({id, nodes}) => `${id}: ${nodes.slice(0, 3).map(node => node.target.join(' ')).join(', ')}`), []);
}

// Fails when the page is wider than the window.
export async function expectFits(page) {
    const [wide, window] = await page.evaluate(() => [document.documentElement.scrollWidth, document.documentElement.clientWidth]);
    assert.ok(wide <= window, `the page is ${wide} wide in a window of ${window}`);
}

// A call without the browser; `expected` are the statuses that are fine.
export async function ask(method, target, body, headers = {}, expected = [200, 201, 204]) {
    const reply = await fetch(service + target, {method, body, headers});
    assert.ok(expected.includes(reply.status), `${method} ${target}: ${reply.status} ${reply.ok ? '' : await reply.clone().text()}`);
    return reply;
}

export const json = {'Content-Type': 'application/json'};

// Presses Tab until the element has the focus.
export async function tabTo(page, locator, most = 60) {
    for (let i = 0; i < most; i += 1) {
        if (await locator.evaluate(element => element === document.activeElement))
            return;
        await page.keyboard.press('Tab');
    }
    assert.fail(`Tab does not lead to ${locator}`);
}
