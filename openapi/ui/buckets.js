// The declared names: buckets with how many entries they have, and the names of other kinds.
import {el, field, fill} from '../docs/dom.js';
import {entriesPath, getJson} from './api.js';
import {empty, go, pages, place, table, timeView} from './parts.js';

const COUNTED = 1000;

const kinds = {counter: 'counter', rate_limit: 'rate limit', rate_gate: 'gate', quota: 'quota', once: 'once'};

function termText(configuration) {
    if (configuration.ttl)
        return `${configuration.ttl} after creation`;
    return configuration.idle ? `${configuration.idle} without a read` : 'never';
}

function configurationText(item) {
    const parts = Object.entries(item.configuration).filter(([, value]) => value !== null)
        .map(([name, value]) => `${name.replaceAll('_', ' ')} ${typeof value === 'object'
            ? Object.entries(value).map(([window, rate]) => `${window} ${rate}`).join(', ') : value}`);
    return parts.join('; ') || 'defaults';
}

// How many entries lie at the top of the bucket: at most one page is asked for.
async function count(cell, bucket, fork, signal) {
    try {
        const page = await getJson(entriesPath(bucket), {query: {limit: COUNTED, values: 'false', fork}, signal});
        cell.textContent = page.cursor ? `${COUNTED.toLocaleString('en')}+` : page.entries.length.toLocaleString('en');
    } catch (error) {
        if (error.name !== 'AbortError')
            fill(cell, el('span', {class: 'quiet', title: error.message}, 'not shown'));
    }
}

// One after the other: a console asks no more of the service than a person.
async function countAll(cells, fork, signal) {
    for (const [cell, bucket] of cells.splice(0)) {
        if (signal.aborted)
            return;
        await count(cell, bucket, fork, signal);
    }
}

function bucketRow(item, fork, cells) {
    const cell = el('span', {class: 'number'}, '…');
    cells.push([cell, item.name]);
    return [
        el('a', {href: place('bucket', {bucket: item.name, fork})}, item.name),
        cell,
        el('span', {class: 'badge'}, item.configuration.type),
        termText(item.configuration),
        item.configuration.encrypted ? el('span', {class: 'badge good'}, 'sealed') : el('span', {class: 'quiet'}, 'no'),
        timeView(item.created_at),
    ];
}

function otherRow(item) {
    const limited = ['counter', 'rate_limit', 'quota'].includes(item.kind);
    return [limited ? el('a', {href: place('limits', {name: item.name})}, item.name) : item.name,
        el('span', {class: 'badge'}, kinds[item.kind] || item.kind), configurationText(item), timeView(item.created_at)];
}

function filterForm(values) {
    const prefix = el('input', {type: 'search', autocomplete: 'off', spellcheck: 'false', value: values.prefix});
    return el('form', {
        class: 'filter',
        role: 'search',
        on: {
            submit: event => {
                event.preventDefault();
                go('buckets', {prefix: prefix.value, fork: values.fork});
            },
        },
    }, field('Name begins with', prefix), el('button', {}, 'Show'));
}

export async function showBuckets(content, values, signal) {
    const buckets = table('Buckets', ['Name', 'Entries', 'Type', 'Expires', 'Encrypted', 'Declared'], []);
    const others = table('Other names', ['Name', 'Kind', 'Configuration', 'Declared'], []);
    const more = el('button', {type: 'button'}, 'More names');
    let shown = 0;
    const load = async cursor => {
        const page = await getJson('/v1/buckets', {query: {limit: 100, prefix: values.prefix, cursor}, signal});
        const cells = [];
        const own = page.buckets.filter(item => item.kind === 'bucket');
        shown += own.length;
        others.add(page.buckets.filter(item => item.kind !== 'bucket').map(otherRow));
        const rows = own.map(item => bucketRow(item, values.fork, cells));
        countAll(cells, values.fork, signal);
        return {rows, cursor: page.cursor};
    };
    await pages(buckets, load, more);
    const has = others.body.childElementCount > 0;
    fill(content,
        el('div', {class: 'head'}, el('h1', {}, 'Buckets'),
            el('a', {class: 'button main', href: place('entry', {create: 'yes', fork: values.fork})}, 'New entry')),
        values.fork && el('p', {class: 'note'}, 'Entries are shown through the fork ', el('strong', {}, values.fork), '. ',
            el('a', {href: place('buckets')}, 'Back to the main data')),
        filterForm(values),
        el('section', {class: 'card flush', 'aria-label': 'Buckets'}, shown ? buckets.view
            : empty(values.prefix ? 'No bucket’s name begins so.' : 'There is no bucket yet. The first entry written to one declares it.')),
        shown > 0 && el('p', {class: 'hint'}, 'Entries are those at the top of a bucket; what lies under owners is in their branches.'),
        has && el('section', {'aria-labelledby': 'others'}, el('h2', {id: 'others'}, 'Other names'),
            el('div', {class: 'card flush'}, others.view)),
        more);
}
