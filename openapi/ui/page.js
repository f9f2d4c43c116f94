// The console: which view is shown, the token, and how the service is.
import {el, fill, field, tell} from '../docs/dom.js';
import {hasToken, onTokenWanted, setToken, statusOf} from './api.js';
import {showBuckets} from './buckets.js';
import {showBucket} from './bucket.js';
import {showEntry} from './entry.js';
import {showForks} from './forks.js';
import {showHealth} from './health.js';
import {showLeases} from './leases.js';
import {showLimits} from './limits.js';
import {loading, refusalView} from './parts.js';

const HEALTH_EVERY = 10000;

const views = {
    buckets: [showBuckets, 'Buckets', 'buckets'],
    bucket: [showBucket, 'Bucket', 'buckets'],
    entry: [showEntry, 'Entry', 'buckets'],
    leases: [showLeases, 'Leases', 'leases'],
    limits: [showLimits, 'Limits', 'limits'],
    forks: [showForks, 'Forks', 'forks'],
    health: [showHealth, 'Health', 'health'],
};

const main = document.querySelector('main');
const state = document.querySelector('#state');
const tokenButton = document.querySelector('#token');
let current = new AbortController();

function readPlace() {
    const [, name, query] = /^#\/([a-z]*)(?:\?(.*))?$/.exec(location.hash) || [null, 'buckets', ''];
    const parameters = new URLSearchParams(query || '');
    return {
        name: views[name] ? name : 'buckets',
        values: {
            bucket: parameters.get('bucket') || '',
            key: parameters.get('key') || '',
            under: parameters.getAll('under'),
            prefix: parameters.get('prefix') || '',
            contains: parameters.get('contains') || '',
            fork: parameters.get('fork') || '',
            name: parameters.get('name') || '',
            create: parameters.get('create') === 'yes',
        },
    };
}

function markSection(section) {
    for (const link of document.querySelectorAll('#sections a'))
        if (link.dataset.section === section)
            link.setAttribute('aria-current', 'page');
        else
            link.removeAttribute('aria-current');
}

async function show() {
    if (location.hash === '#main')
        return;
    const {name, values} = readPlace();
    const [view, title, section] = views[name];
    current.abort();
    current = new AbortController();
    const {signal} = current;
    markSection(section);
    document.title = `${title} · Holdfast`;
    const content = el('div', {class: 'view'}, loading('Asking the service…'));
    fill(main, content);
    try {
        await view(content, values, signal);
    } catch (error) {
        if (signal.aborted)
            return;
        fill(content, el('h1', {tabindex: '-1'}, title), refusalView(error, show));
    }
    if (signal.aborted)
        return;
    const heading = content.querySelector('h1');
    if (heading && !content.contains(document.activeElement)) {
        heading.tabIndex = -1;
        heading.focus({preventScroll: true});
    }
    scrollTo(0, 0);
}

// --- the token

let asking = null;

function showToken() {
    tokenButton.textContent = hasToken() ? 'Token: set' : 'Token: none';
}

// Asks for a token; gives null when the user has none.
function askForToken(why) {
    asking ??= new Promise(answer => {
        const input = el('input', {type: 'password', autocomplete: 'off', spellcheck: 'false', autofocus: true});
        let given = null;
        const dialog = el('dialog', {'aria-labelledby': 'token-title'}, el('form', {
            method: 'dialog',
            autocomplete: 'off',
            on: {
                submit: event => {
                    event.preventDefault();
                    given = input.value.trim();
                    dialog.close();
                },
            },
        }, el('h2', {id: 'token-title'}, 'Token'), el('p', {}, why),
        field('Token', input, 'Kept in this page’s memory alone: a reload or a closed tab forgets it.'),
        el('div', {class: 'actions'}, el('button', {type: 'button', on: {click: () => dialog.close()}}, 'Cancel'),
            el('button', {class: 'main'}, 'Use token'))));
        dialog.addEventListener('close', () => {
            dialog.remove();
            input.value = '';
            asking = null;
            answer(given);
        });
        document.body.append(dialog);
        dialog.showModal();
    });
    return asking;
}

onTokenWanted(async had => {
    const given = await askForToken(had ? 'The service does not take this token.' : 'This service wants a token.');
    if (given !== null)
        setToken(given);
    showToken();
    return given || null;
});

tokenButton.addEventListener('click', async () => {
    const given = await askForToken('It is sent with every call. Leave it empty to forget it.');
    if (given === null)
        return;
    setToken(given);
    showToken();
    tell(hasToken() ? 'Token set' : 'Token forgotten');
    show();
});

// --- health

const states = {200: ['good', 'ready'], 0: ['bad', 'not reachable']};

async function look() {
    if (document.hidden)
        return;
    const [tone, text] = states[await statusOf('/readyz')] || ['warn', 'not ready'];
    if (state.textContent !== text && state.textContent !== '…')
        tell(`The service is ${text}`);
    state.className = `badge ${tone}`;
    state.textContent = text;
}

addEventListener('hashchange', show);
document.querySelector('#skip').addEventListener('click', event => {
    event.preventDefault();
    main.focus();
});
setInterval(look, HEALTH_EVERY);
showToken();
look();
show();
