// The open forks: what they are, and their end.
import {el, fill, tell} from '../docs/dom.js';
import {call, getJson, namePath} from './api.js';
import {confirmDialog, empty, go, pages, place, table, timeView} from './parts.js';

function promote(fork) {
    confirmDialog('Promote this fork?', `What ${fork.id} wrote (${fork.rows} keys) becomes the main data, unless one of these keys changed there meanwhile.`,
        'Promote', async () => {
            await call('POST', `${namePath('forks', fork.id)}/promote`, {query: {if_unchanged: 'true'}});
            tell('Promoted');
            go('forks');
        });
}

function discard(fork) {
    confirmDialog('Discard this fork?', `What ${fork.id} wrote (${fork.rows} keys) is gone for good.`, 'Discard', async () => {
        await call('DELETE', namePath('forks', fork.id));
        tell('Discarded');
        go('forks');
    });
}

function forkRow(fork) {
    return [
        el('a', {href: place('buckets', {fork: fork.id})}, fork.id),
        el('span', {class: 'badge'}, fork.kind),
        fork.buckets.length ? fork.buckets.join(', ') : 'every bucket',
        el('span', {class: 'number'}, fork.rows.toLocaleString('en')),
        fork.owner ?? el('span', {class: 'quiet'}, 'nobody'),
        timeView(fork.created_at),
        el('span', {class: 'row'},
            el('button', {type: 'button', class: 'small', 'aria-label': `Promote ${fork.id}`, on: {click: () => promote(fork)}}, 'Promote…'),
            el('button', {type: 'button', class: 'small danger', 'aria-label': `Discard ${fork.id}`, on: {click: () => discard(fork)}}, 'Discard…')),
    ];
}

export async function showForks(content, values, signal) {
    const forks = table('Open forks', ['Id', 'Kind', 'Buckets', 'Keys', 'Owner', 'Made', 'End it'], []);
    const more = el('button', {type: 'button'}, 'More forks');
    const count = await pages(forks, async cursor => {
        const page = await getJson('/v1/forks', {query: {limit: 100, cursor}, signal});
        return {rows: page.forks.map(forkRow), cursor: page.cursor};
    }, more);
    fill(content, el('h1', {}, 'Forks'),
        el('p', {class: 'quiet'}, 'Copies of the main data to try things in. Choose one to see the entries through it.'),
        el('section', {class: 'card flush', 'aria-label': 'Open forks'}, count ? forks.view : empty('No fork is open.')), more);
}
