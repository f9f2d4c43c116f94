// How the service is, asked again and again while this is looked at.
import {el, fill} from '../docs/dom.js';
import {getJson, statusOf} from './api.js';

const LOOK_EVERY = 2000;
const KEPT = 60;

async function timed(path) {
    const began = performance.now();
    const status = await statusOf(path);
    return {status, took: performance.now() - began};
}

function tile(label) {
    const value = el('dd', {}, '…');
    return {view: el('div', {class: 'card tile'}, el('dt', {}, label), value), value};
}

function verdict(status, good, bad) {
    return status === 200 ? el('span', {class: 'badge good'}, good)
        : el('span', {class: 'badge bad'}, status ? `${bad} (${status})` : 'not reachable');
}

// The last answers as bars, the newest at the right.
function history(answers) {
    const most = Math.max(20, ...answers.map(answer => answer.took));
    return answers.map(answer => {
        const one = el('span', {class: answer.status === 200 ? 'tick' : 'tick bad'});
        one.style.height = `${Math.max(6, 100 * answer.took / most)}%`;
        return one;
    });
}

async function version(tiles, signal) {
    try {
        tiles.version.value.textContent = (await getJson('/openapi.json', {signal})).info.version;
    } catch {
        tiles.version.value.textContent = 'unknown';
    }
}

async function lookWhileShown(tiles, ticks, signal) {
    const answers = [];
    while (!signal.aborted) {
        const [alive, ready] = await Promise.all([timed('/livez'), timed('/readyz')]);
        answers.push(ready);
        answers.splice(0, answers.length - KEPT);
        fill(tiles.alive.value, verdict(alive.status, 'alive', 'not alive'));
        fill(tiles.ready.value, verdict(ready.status, 'ready', 'not ready'));
        tiles.took.value.textContent = ready.status ? `${Math.round(ready.took)} ms` : 'none';
        fill(ticks, history(answers));
        ticks.setAttribute('aria-label', `The last ${answers.length} answers: ${answers.filter(one => one.status === 200).length} ready`);
        await new Promise(resume => setTimeout(resume, LOOK_EVERY));
    }
}

export async function showHealth(content, values, signal) {
    const tiles = {alive: tile('Process'), ready: tile('Database and service'), took: tile('Answer time'), version: tile('Version')};
    const ticks = el('div', {class: 'ticks', role: 'img', 'aria-label': 'The last answers'});
    fill(content, el('h1', {}, 'Health'), el('dl', {class: 'tiles'}, Object.values(tiles).map(one => one.view)),
        el('section', {class: 'card', 'aria-labelledby': 'answers'}, el('h2', {id: 'answers'}, 'Answers of /readyz'), ticks,
            el('p', {class: 'hint'}, 'One every two seconds while this is shown; the higher, the longer it took.')));
    version(tiles, signal);
    lookWhileShown(tiles, ticks, signal);
}
