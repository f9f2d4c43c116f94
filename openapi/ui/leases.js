// Leases that somebody names: who holds them, and until when.
import {el, field, fill} from '../docs/dom.js';
import {getJson, leasePath} from './api.js';
import {branchField, branchView, distance, keyField, keyView, refusalView} from './parts.js';

const LOOK_EVERY = 3000;

// What is watched stays while the page does; the service has no list of leases.
const watched = [];

function card(lease) {
    const state = el('div', {class: 'lease-state'}, el('span', {class: 'quiet'}, '…'));
    const view = el('li', {class: 'card'},
        el('div', {class: 'row'}, el('strong', {}, lease.bucket), ' / ', keyView(lease.key), branchView(lease.under),
            el('button', {
                type: 'button',
                class: 'small push',
                on: {
                    click: () => {
                        watched.splice(watched.indexOf(lease), 1);
                        view.remove();
                    },
                },
            }, 'Forget')), state);
    lease.state = state;
    return view;
}

async function look(lease, signal) {
    try {
        const hold = await getJson(leasePath(lease.bucket, lease.key), {under: lease.under, signal});
        fill(lease.state, el('span', {class: 'badge accent'}, 'held'), ' by ', el('strong', {}, hold.holder), ', ends ',
            el('time', {datetime: hold.expires_at, title: hold.expires_at}, distance(hold.expires_at)));
    } catch (error) {
        if (error.status === 404)
            fill(lease.state, el('span', {class: 'badge good'}, 'free'), ' nobody holds it');
        else if (error.name !== 'AbortError')
            fill(lease.state, refusalView(error));
    }
}

async function lookWhileShown(signal) {
    while (!signal.aborted) {
        if (!document.hidden)
            await Promise.all(watched.map(lease => look(lease, signal)));
        await new Promise(resume => setTimeout(resume, LOOK_EVERY));
    }
}

function watchForm(list, signal) {
    const bucket = el('input', {type: 'text', required: true, autocomplete: 'off', spellcheck: 'false'});
    const key = keyField('Key');
    const branch = branchField();
    const says = el('div');
    return el('form', {
        class: 'card',
        on: {
            submit: event => {
                event.preventDefault();
                const encoded = key.value();
                if (!encoded) {
                    fill(says, refusalView(new Error('The key’s percent-encoding is broken.')));
                    return;
                }
                fill(says);
                const lease = {bucket: bucket.value, key: encoded, under: branch.value()};
                watched.push(lease);
                list.querySelector('.empty')?.remove();
                list.append(card(lease));
                look(lease, signal);
            },
        },
    }, el('div', {class: 'pair three'}, field('Bucket', bucket), key.view, branch.view), says, el('button', {class: 'main'}, 'Watch'));
}

export async function showLeases(content, values, signal) {
    const list = el('ul', {class: 'cards', 'aria-label': 'Watched leases'}, watched.map(card));
    fill(content, el('h1', {}, 'Leases'),
        el('p', {class: 'quiet'}, 'Name a lease to watch it. The service answers for one lease at a time and does not list them.'),
        watchForm(list, signal), list, !watched.length && list.append(el('li', {class: 'empty'}, 'No lease is watched yet.')));
    lookWhileShown(signal);
}
