// One entry: looked at, changed only while it is still what was looked at, deleted.
import {copyButton, el, field, fill, tell} from '../docs/dom.js';
import {decode, hexDump, prettyJson} from '../docs/text.js';
import {call, entryPath, headerBytes, headerText} from './api.js';
import {showConflict} from './conflict.js';
import {metadataField} from './metadata.js';
import {branchField, branchView, confirmDialog, distance, go, keyField, keyText, keyView, place, refusalView, sizeText} from './parts.js';

const LONGEST_EDITED = 512 * 1024;
const META = 'holdfast-meta-';

// The entry as the service has it now; null when there is none.
export async function readEntry(values, signal) {
    try {
        const {headers, bytes} = await call('GET', entryPath(values.bucket, values.key),
            {query: {fork: values.fork}, under: values.under, signal});
        return {
            version: headers.get('ETag'),
            contentType: headerText(headers.get('Content-Type') || ''),
            expiresAt: headers.get('Holdfast-Expires-At'),
            metadata: [...headers].filter(([name]) => name.startsWith(META))
                .map(([name, value]) => [name.slice(META.length), headerText(value)]),
            bytes,
        };
    } catch (error) {
        if (error.status === 404 && error.problem?.kind === 'not_found')
            return null;
        throw error;
    }
}

// --- the value

// The line end that a text area must be given back; null when it would not give the text back.
function lineEnd(text) {
    if (!text.includes('\r'))
        return '\n';
    return text.replaceAll('\r\n', '').match(/[\r\n]/) ? null : '\r\n';
}

// Fields for the value. `bytes()` gives what is to be written; null when nothing can be.
function valueField(bytes) {
    const text = bytes.length <= LONGEST_EDITED ? decode(bytes) : null;
    const end = text === null ? null : lineEnd(text);
    return end === null ? fileField(bytes) : textField(text, end);
}

function textField(text, end) {
    const area = el('textarea', {rows: '10', spellcheck: 'false', value: text});
    return {
        view: field('Value', area),
        focus: area,
        bytes: async () => new TextEncoder().encode(area.value.replaceAll('\n', end)),
        format: () => {
            area.value = prettyJson(area.value);
        },
    };
}

function fileField(bytes) {
    const file = el('input', {type: 'file'});
    return {
        view: el('div', {class: 'field'}, el('span', {class: 'label'}, 'Value'),
            el('p', {class: 'hint'}, 'It is long or no text that a field would keep bit for bit; a file can take its place.'),
            el('pre', {tabindex: '0', 'aria-label': 'The value’s first bytes'}, hexDump(bytes)), field('A file instead', file)),
        focus: file,
        bytes: async () => (file.files[0] ? new Uint8Array(await file.files[0].arrayBuffer()) : bytes),
    };
}

// --- its term

function expiryField(entry) {
    const name = 'expiry';
    const term = el('input', {type: 'text', placeholder: '30m', 'aria-label': 'Term', autocomplete: 'off', pattern: '[0-9]+(ms|s|m|h|d)',
        title: 'a whole number and ms, s, m, h or d'});
    const choice = (value, text, more) => {
        const radio = el('input', {type: 'radio', name, value, checked: value === 'keep'});
        return el('div', {class: 'choice'}, el('label', {class: 'check'}, radio, ' ', text), more);
    };
    const view = el('fieldset', {class: 'field'}, el('legend', {class: 'label'}, 'Expiry'),
        choice('keep', entry ? 'as it is' : 'as the bucket says'), choice('ttl', 'ends after', term), choice('persist', 'never'));
    term.addEventListener('input', () => {
        view.querySelector('[value=ttl]').checked = true;
    });
    const query = () => {
        const chosen = view.querySelector(':checked').value;
        return chosen === 'ttl' ? {ttl: term.value.trim()} : chosen === 'persist' ? {persist: 'true'} : {};
    };
    return {view, query};
}

// --- writing

async function write(values, form, base) {
    const headers = base ? {'If-Match': base} : {'If-None-Match': '*'};
    headers['Content-Type'] = headerBytes(form.contentType.value.trim() || 'application/octet-stream');
    for (const [name, value] of form.metadata.value())
        headers[`Holdfast-Meta-${name}`] = headerBytes(value);
    await call('PUT', entryPath(values.bucket, values.key), {
        query: {fork: values.fork, ...form.expiry.query()},
        under: values.under,
        headers,
        body: await form.value.bytes(),
    });
}

function download(entry, key) {
    const url = URL.createObjectURL(new Blob([entry.bytes], {type: 'application/octet-stream'}));
    el('a', {href: url, download: keyText(key).replace(/[^\w.-]+/g, '_') || 'value'}).click();
    setTimeout(() => URL.revokeObjectURL(url), 1000);
}

function deleteDialog(values, entry, conflict) {
    confirmDialog('Delete this entry?', `${keyText(values.key)} in ${values.bucket} is deleted if it is still what you see.`, 'Delete', async () => {
        try {
            await call('DELETE', entryPath(values.bucket, values.key),
                {query: {fork: values.fork}, under: values.under, headers: {'If-Match': entry.version}});
        } catch (error) {
            if (error.status !== 412 && error.status !== 404)
                throw error;
            await conflict();
            return;
        }
        tell('Deleted');
        go('bucket', {bucket: values.bucket, under: values.under, fork: values.fork});
    });
}

function facts(entry) {
    const rows = [
        ['Version', [el('span', {class: 'mono', id: 'version'}, entry.version.replaceAll('"', '')), ' ',
            copyButton(() => entry.version, 'the ETag')]],
        ['Expires', entry.expiresAt ? el('time', {datetime: entry.expiresAt}, `${distance(entry.expiresAt)} (${entry.expiresAt})`) : 'never'],
        ['Size', `${sizeText(entry.bytes.length)}${entry.bytes.length < 1024 ? '' : ` (${entry.bytes.length} B)`}`],
    ];
    return el('dl', {class: 'facts'}, rows.map(([name, value]) => el('div', {}, el('dt', {}, name), el('dd', {}, value))));
}

// The form. `entry` is null for a new one; then `address` has the fields that say where it goes.
function entryForm(values, entry, address) {
    const form = {
        value: valueField(entry ? entry.bytes : new Uint8Array()),
        contentType: el('input', {type: 'text', spellcheck: 'false', autocomplete: 'off', value: entry ? entry.contentType : 'application/json'}),
        metadata: metadataField(entry ? entry.metadata : []),
        expiry: expiryField(entry),
    };
    const says = el('div');
    const save = el('button', {class: 'main'}, entry ? 'Save' : 'Create');
    let base = entry ? entry.version : null;

    const conflict = async () => {
        const theirs = await readEntry(values);
        showConflict(says, theirs, {
            take: () => go('entry', {...values, create: null}),
            keep: () => {
                base = theirs ? theirs.version : null;
                fill(says, el('p', {class: 'note warn'}, theirs ? 'Saving now replaces what you were just shown, and nothing newer.'
                    : 'Saving now writes it anew, if nobody else has.'));
                save.focus();
            },
        });
    };

    async function submit(event) {
        event.preventDefault();
        save.disabled = true;
        try {
            if (address)
                Object.assign(values, address.value());
            await write(values, form, base);
            tell('Saved');
            go('entry', {...values, create: null});
            return;
        } catch (error) {
            if (error.status === 412)
                await conflict().catch(again => fill(says, refusalView(again)));
            else
                fill(says, refusalView(error));
        }
        save.disabled = false;
    }

    const tools = el('div', {class: 'row'}, save,
        form.value.format && el('button', {
            type: 'button',
            on: {
                click: () => form.value.format(),
            },
        }, 'Format JSON'),
        entry && el('button', {type: 'button', on: {click: () => go('entry', values)}}, 'Reload'),
        entry && el('button', {type: 'button', on: {click: () => download(entry, values.key)}}, 'Download'),
        entry && el('button', {type: 'button', class: 'danger push', on: {click: () => deleteDialog(values, entry, conflict)}}, 'Delete…'));
    return el('form', {class: 'card entry', on: {submit}}, address?.view, form.value.view, says,
        el('div', {class: 'pair'}, el('div', {}, field('Content type', form.contentType), form.expiry.view), form.metadata.view), tools);
}

function crumbs(values, last) {
    return el('nav', {class: 'crumbs', 'aria-label': 'Where this is'}, el('a', {href: place('buckets', {fork: values.fork})}, 'Buckets'), ' / ',
        values.bucket && [el('a', {href: place('bucket', {bucket: values.bucket, under: values.under, fork: values.fork})}, values.bucket), ' / '],
        el('span', {'aria-current': 'page'}, last));
}

function showNew(content, values) {
    const bucket = el('input', {type: 'text', required: true, maxlength: '128', autocomplete: 'off', spellcheck: 'false', value: values.bucket});
    const key = keyField('Key', values.key);
    const branch = branchField(values.under);
    const address = {
        view: el('div', {class: 'pair three'}, field('Bucket', bucket), key.view, branch.view),
        value: () => {
            const encoded = key.value();
            if (!encoded)
                throw new Error('The key’s percent-encoding is broken, or it is empty.');
            return {bucket: bucket.value, key: encoded, under: branch.value()};
        },
    };
    fill(content, crumbs(values, 'New entry'), el('h1', {}, 'New entry'),
        values.fork && el('p', {class: 'note'}, 'Through the fork ', el('strong', {}, values.fork)),
        entryForm({...values}, null, address));
}

export async function showEntry(content, values, signal) {
    if (values.create) {
        showNew(content, values);
        return;
    }
    const entry = await readEntry(values, signal);
    const head = [crumbs(values, keyText(values.key)), el('h1', {}, keyView(values.key), ' ', branchView(values.under))];
    if (!entry) {
        fill(content, head, el('div', {class: 'note', role: 'alert'},
            el('p', {}, 'There is no live entry with this key here: it was never written, was deleted, or has expired.'),
            el('a', {class: 'button', href: place('entry', {...values, create: 'yes'})}, 'Write it')));
        return;
    }
    fill(content, head,
        values.fork && el('p', {class: 'note'}, 'Through the fork ', el('strong', {}, values.fork), '; what is saved is seen through it alone.'),
        facts(entry), entryForm({...values, create: null}, entry, null));
}
