// Fields for an entry's metadata, which a write replaces as a whole.
import {el, freshId} from '../docs/dom.js';

function row(name, value) {
    const number = freshId();
    const view = el('div', {class: 'meta'},
        el('input', {type: 'text', 'aria-label': 'Name of metadata', placeholder: 'name', pattern: "[A-Za-z0-9!#$%&'*+.^_`\\|~\\-]+", value: name, id: `${number}-name`}),
        el('input', {type: 'text', 'aria-label': 'Value of metadata', placeholder: 'value', value, id: `${number}-value`}),
        el('button', {type: 'button', class: 'small', 'aria-label': 'Remove this metadata', on: {click: () => view.remove()}}, 'Remove'));
    return view;
}

// `value()` gives pairs of name and value; rows without a name are left out.
export function metadataField(pairs) {
    const rows = el('div', {class: 'metas'}, pairs.map(([name, value]) => row(name, value)));
    const add = el('button', {
        type: 'button',
        class: 'small',
        on: {
            click: () => {
                const fresh = row('', '');
                rows.append(fresh);
                fresh.querySelector('input').focus();
            },
        },
    }, 'Add metadata');
    return {
        view: el('fieldset', {class: 'field'}, el('legend', {class: 'label'}, 'Metadata'), rows, add),
        value: () => [...rows.children].map(one => [...one.querySelectorAll('input')].map(input => input.value))
            .filter(([name]) => name),
    };
}
