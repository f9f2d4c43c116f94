// Parts that several views are made of.
import {el, field, fill} from '../docs/dom.js';
import {bytesOfBase64, bytesOfEncoded, decode, encodeBytes, encodeText, hexDump, isJsonType, prettyJson} from '../docs/text.js';
import {serviceNow} from './api.js';

// An address within the console; lists repeat their name.
export function place(view, values = {}) {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(values))
        for (const one of [value].flat())
            if (one !== null && one !== undefined && one !== '')
                query.append(name, one);
    const text = query.toString();
    return `#/${view}${text ? `?${text}` : ''}`;
}

export function go(view, values) {
    const target = place(view, values);
    if (location.hash === target)
        dispatchEvent(new HashChangeEvent('hashchange'));
    else
        location.hash = target;
}

// A percent-encoded key or owner as people read it: its text, else its bytes.
export function keyText(encoded) {
    const text = decode(bytesOfEncoded(encoded) || new Uint8Array());
    return text === null ? encoded : text;
}

export function keyView(encoded) {
    const text = decode(bytesOfEncoded(encoded) || new Uint8Array());
    if (text === null)
        return [el('span', {class: 'mono'}, encoded), ' ', el('span', {class: 'badge'}, 'bytes')];
    return el('span', {class: 'mono'}, text.replace(/[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2066-\u2069]/g, '\ufffd'));
}

// The key of a list's item, percent-encoded.
export function keyOf(item) {
    return item.key !== undefined ? encodeText(item.key) : encodeBytes(bytesOfBase64(item.key_base64));
}

const units = [['d', 86400], ['h', 3600], ['min', 60], ['s', 1]];

function span(seconds) {
    const [unit, size] = units.find(([, least]) => seconds >= least) || ['s', 1];
    return `${Math.floor(seconds / size)} ${unit}`;
}

// How far a time is from now at the service.
export function distance(time) {
    const seconds = (Date.parse(time) - serviceNow()) / 1000;
    return seconds >= 0 ? `in ${span(seconds)}` : `${span(-seconds)} ago`;
}

// A time with its distance from now; null is never.
export function timeView(time, never = 'never') {
    if (!time)
        return el('span', {class: 'quiet'}, never);
    return el('time', {datetime: time, title: time}, distance(time));
}

export function sizeText(bytes) {
    if (bytes < 1024)
        return `${bytes} B`;
    return bytes < 1048576 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1048576).toFixed(1)} MiB`;
}

export function loading(what) {
    return el('p', {class: 'loading', role: 'status'}, what);
}

export function empty(text, ...more) {
    return el('div', {class: 'empty'}, el('p', {}, text), more);
}

// What the service refused, in its own words.
export function refusalView(error, retry) {
    return el('div', {class: 'note bad', role: 'alert'},
        el('p', {}, el('strong', {}, error.problem?.title || 'That did not work'), ': ', error.message),
        (error.problem?.kind || error.requestId) && el('p', {class: 'hint'},
            [error.problem?.kind, error.status, error.requestId && `request ${error.requestId}`].filter(Boolean).join(', ')),
        error.status === 401 && el('p', {class: 'hint'}, 'This service wants a token.'),
        retry && el('button', {type: 'button', class: 'small', on: {click: retry}}, 'Try again'));
}

// A table whose cells know their column's name, for narrow screens. `rows` are lists of cells.
export function table(caption, columns, rows) {
    const body = el('tbody');
    const add = more => more.forEach(cells => body.append(rowOf(columns, cells)));
    add(rows);
    const view = el('table', {class: 'list'}, el('caption', {class: 'unseen'}, caption),
        el('thead', {}, el('tr', {}, columns.map(name => el('th', {scope: 'col'}, name)))), body);
    return {view, add, body};
}

function rowOf(columns, cells) {
    return el('tr', {}, cells.map((cell, i) => (i ? el('td', {'data-label': columns[i]}, cell)
        : el('th', {scope: 'row', 'data-label': columns[i]}, cell))));
}

// Fields for a key that may be any bytes: as text, or percent-encoded. `value()` gives it percent-encoded, null when it
// is none.
export function keyField(label, encoded = '') {
    const text = decode(bytesOfEncoded(encoded) || new Uint8Array([255]));
    const input = el('input', {type: 'text', required: true, autocomplete: 'off', spellcheck: 'false', value: text ?? encoded});
    const raw = el('input', {type: 'checkbox'});
    raw.checked = text === null;
    const view = el('div', {class: 'field'}, field(label, input),
        el('label', {class: 'check'}, raw, ' percent-encoded bytes'));
    const value = () => {
        if (!raw.checked)
            return encodeText(input.value);
        const bytes = bytesOfEncoded(input.value);
        return bytes && bytes.length ? encodeBytes(bytes) : null;
    };
    return {view, input, value};
}

// Fields for a branch: owners, outermost first. `value()` gives them percent-encoded.
export function branchField(under = []) {
    const area = el('textarea', {rows: '2', spellcheck: 'false', autocomplete: 'off', value: under.map(keyText).join('\n')});
    const raw = under.some(owner => decode(bytesOfEncoded(owner) || new Uint8Array()) === null);
    return {
        view: field('Branch', area, 'One owner a line, outermost first; empty for the top'),
        value: () => (raw && area.value === under.map(keyText).join('\n') ? under
            : area.value.split('\n').filter(Boolean).map(encodeText)),
    };
}

export function branchView(under) {
    return under.map(owner => el('span', {class: 'badge accent'}, keyText(owner)));
}

// Asks whether to do something; `act` does it. The dialog stays while it fails.
export function confirmDialog(title, text, label, act) {
    const says = el('div');
    const yes = el('button', {class: 'danger'}, label);
    const dialog = el('dialog', {'aria-labelledby': 'dialog-title'}, el('form', {
        method: 'dialog',
        on: {
            submit: async event => {
                event.preventDefault();
                yes.disabled = true;
                try {
                    await act();
                    dialog.close();
                } catch (error) {
                    fill(says, refusalView(error));
                    yes.disabled = false;
                }
            },
        },
    }, el('h2', {id: 'dialog-title'}, title), el('p', {}, text), says,
    el('div', {class: 'actions'},
        el('button', {type: 'button', autofocus: true, on: {click: () => dialog.close()}}, 'Cancel'), yes)));
    dialog.addEventListener('close', () => dialog.remove());
    document.body.append(dialog);
    dialog.showModal();
}

// Shows the pages of a list one after the other: `load(cursor)` gives {rows, cursor}.
export async function pages(table_, load, button) {
    const {rows, cursor} = await load(null);
    table_.add(rows);
    let next = cursor;
    button.hidden = !next;
    button.addEventListener('click', async () => {
        button.disabled = true;
        const more = await load(next);
        table_.add(more.rows);
        next = more.cursor;
        button.hidden = !next;
        button.disabled = false;
    });
    return rows.length;
}

// An entry's value as text for people.
export function valueText(entry) {
    const text = decode(entry.bytes);
    if (text === null)
        return hexDump(entry.bytes);
    return isJsonType(entry.contentType) ? prettyJson(text) : text;
}
