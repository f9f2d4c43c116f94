// One bucket: the entries of a branch, page by page.
import {el, field, fill} from '../docs/dom.js';
import {entriesPath, getJson, namePath} from './api.js';
import {branchField, branchView, empty, go, keyOf, keyView, pages, place, sizeText, table, timeView} from './parts.js';

function facts(bucket) {
    const rows = [
        ['Type', bucket.type],
        ['Entries expire', bucket.ttl ? `${bucket.ttl} after creation` : bucket.idle ? `${bucket.idle} without a read` : 'never'],
        ['Values', bucket.encrypted ? 'sealed' : 'not sealed'],
        ['Largest value', sizeText(bucket.max_value_bytes)],
    ];
    return el('dl', {class: 'facts'}, rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

function filterForm(values) {
    const prefix = el('input', {type: 'search', autocomplete: 'off', spellcheck: 'false', value: values.prefix});
    const contains = el('input', {type: 'search', autocomplete: 'off', spellcheck: 'false', value: values.contains});
    const branch = branchField(values.under);
    return el('form', {
        class: 'filter',
        role: 'search',
        on: {
            submit: event => {
                event.preventDefault();
                go('bucket', {...values, create: null, key: null, prefix: prefix.value, contains: contains.value, under: branch.value()});
            },
        },
    }, field('Key begins with', prefix), field('Key contains', contains), branch.view, el('button', {}, 'Show'));
}

function entryRow(values, item) {
    const key = keyOf(item);
    return [
        el('a', {href: place('entry', {bucket: values.bucket, key, under: values.under, fork: values.fork})}, keyView(key)),
        item.corrupt ? el('span', {class: 'badge bad'}, 'corrupt') : el('span', {class: 'mono'}, item.content_type),
        sizeText(item.size),
        timeView(item.expires_at),
        el('span', {class: 'mono quiet'}, item.version),
    ];
}

export async function showBucket(content, values, signal) {
    const bucket = await getJson(namePath('buckets', values.bucket), {signal});
    const entries = table(`Entries of ${values.bucket}`, ['Key', 'Content type', 'Size', 'Expires', 'Version'], []);
    const more = el('button', {type: 'button'}, 'More entries');
    const load = async cursor => {
        const page = await getJson(entriesPath(values.bucket), {
            query: {limit: 100, values: 'false', prefix: values.prefix, contains: values.contains, fork: values.fork, cursor},
            under: values.under,
            signal,
        });
        return {rows: page.entries.map(item => entryRow(values, item)), cursor: page.cursor};
    };
    const count = await pages(entries, load, more);
    const narrowed = values.prefix || values.contains;
    fill(content,
        el('nav', {class: 'crumbs', 'aria-label': 'Where this is'}, el('a', {href: place('buckets', {fork: values.fork})}, 'Buckets'), ' / ',
            el('span', {'aria-current': 'page'}, values.bucket)),
        el('div', {class: 'head'}, el('h1', {}, values.bucket, ' ', branchView(values.under)),
            el('a', {class: 'button main', href: place('entry', {bucket: values.bucket, under: values.under, fork: values.fork, create: 'yes'})}, 'New entry')),
        values.fork && el('p', {class: 'note'}, 'Shown through the fork ', el('strong', {}, values.fork), '; what is written here is seen through it alone.'),
        facts(bucket),
        filterForm(values),
        el('section', {class: 'card flush', 'aria-label': 'Entries'}, count ? entries.view
            : empty(narrowed ? 'No key of this branch fits.' : 'This branch has no entries.')),
        more);
}
