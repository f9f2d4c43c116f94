// Runs every test that a file here exports in one browser, the reference's beside the console's, and counts.
import * as docs from './docs_test.mjs';
import * as ui from './ui_test.mjs';
import * as token from './token_test.mjs';
import {close} from './browser.mjs';

const LONGEST = 240000;

const wanted = process.argv.slice(2); // names of tests; none for all

let passed = 0;
let failed = 0;

function late() {
    return new Promise((_, reject) => {
        setTimeout(() => reject(new Error(`it took over ${LONGEST / 1000} s`)), LONGEST).unref();
    });
}

async function run(file) {
    for (const [name, test] of Object.entries(file)) {
        if (wanted.length && !wanted.includes(name))
            continue;
        try {
            await Promise.race([test(), late()]);
            passed += 1;
        } catch (error) {
            failed += 1;
            console.log(`FAILED ${name}\n    ${error.stack.replaceAll('\n', '\n    ')}`);
        }
    }
}

await Promise.all([docs, ui].map(run));
await run(token); // last: the first token shuts the door for everybody without one
await close();
console.log(`${passed} passed, ${failed} failed`);
process.exit(failed ? 1 : 0);
