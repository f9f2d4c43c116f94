// What is shown when an entry changed while somebody edited it: the other's value, and the choice.
import {el, fill} from '../docs/dom.js';
import {distance, valueText} from './parts.js';

const LONGEST_SHOWN = 20000;

function theirView(theirs) {
    const text = valueText(theirs);
    return [
        el('p', {class: 'hint'}, `version ${theirs.version.replaceAll('"', '')}, ${theirs.contentType}, `,
            theirs.expiresAt ? `expires ${distance(theirs.expiresAt)}` : 'never expires'),
        el('pre', {tabindex: '0', 'aria-label': 'What is stored now', id: 'theirs'},
            text.length > LONGEST_SHOWN ? `${text.slice(0, LONGEST_SHOWN)}\n…` : text),
    ];
}

// Fills `says`. `theirs` is null when the entry is gone; `take` gives one's own text up, `keep` goes on with it.
export function showConflict(says, theirs, {take, keep}) {
    const title = el('h2', {tabindex: '-1'}, theirs ? 'Somebody changed this entry meanwhile' : 'This entry is gone meanwhile');
    fill(says, el('section', {class: 'note warn conflict', role: 'alert', 'aria-label': 'Conflict'}, title,
        el('p', {}, 'Nothing was overwritten. What you wrote is still in the fields here, not saved.'),
        theirs && [el('h3', {}, 'Stored now'), theirView(theirs)],
        el('p', {class: 'row'},
            el('button', {type: 'button', class: 'main', on: {click: take}}, theirs ? 'Take what is stored' : 'Leave it gone'),
            el('button', {type: 'button', on: {click: keep}}, theirs ? 'Go on with mine' : 'Write mine anew'))));
    title.focus();
}
