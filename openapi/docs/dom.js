// Elements, made without markup: whatever text comes from the service is put in as text and never read as HTML.

// An element with attributes and children. `on` has handlers by event; `false`, null and undefined leave an attribute
// or a child out; true sets an empty attribute. Strings become text.
export function el(tag, attributes = {}, ...children) {
    const element = document.createElement(tag);
    for (const [name, value] of Object.entries(attributes)) {
        if (name === 'on')
            for (const [event, handle] of Object.entries(value))
                element.addEventListener(event, handle);
        else if (name === 'value')
            element.value = value;
        else if (value !== false && value !== null && value !== undefined)
            element.setAttribute(name, value === true ? '' : value);
    }
    append(element, children);
    return element;
}

function append(parent, children) {
    for (const child of children)
        if (Array.isArray(child))
            append(parent, child);
        else if (child !== false && child !== null && child !== undefined)
            parent.append(child);
}

// Puts these children in the place of what the element has.
export function fill(element, ...children) {
    element.replaceChildren();
    append(element, children);
    return element;
}

let names = 0;

// An id that nothing else on the page has.
export function freshId() {
    names += 1;
    return `n${names}`;
}

// A label over its field, with a hint below when there is one.
export function field(label, input, hint) {
    input.id = input.id || freshId();
    const below = hint ? el('span', {class: 'hint', id: `${input.id}-hint`}, hint) : null;
    if (below)
        input.setAttribute('aria-describedby', below.id);
    return el('div', {class: 'field'}, el('label', {for: input.id}, label), input, below);
}

let teller = null;

// Has a screen reader say the text.
export function tell(text) {
    if (!teller) {
        teller = el('div', {class: 'unseen', role: 'status', 'aria-live': 'polite'});
        document.body.append(teller);
    }
    teller.textContent = text;
}

// A button that copies what `text()` gives when it is pressed.
export function copyButton(text, what) {
    const button = el('button', {type: 'button', class: 'small copy', 'aria-label': `Copy ${what}`}, 'Copy');
    button.addEventListener('click', async () => {
        const copied = await copy(text());
        button.textContent = copied ? 'Copied' : 'Not copied';
        tell(copied ? `Copied ${what}` : 'The browser does not let this page copy');
        setTimeout(() => {
            button.textContent = 'Copy';
        }, 1500);
    });
    return button;
}

// Pages of plain HTTP beyond loopback have no clipboard: there the text is selected and copied the old way.
async function copy(text) {
    if (navigator.clipboard)
        return navigator.clipboard.writeText(text).then(() => true, () => false);
    const area = el('textarea', {class: 'unseen', value: text});
    document.body.append(area);
    area.select();
    const copied = document.execCommand('copy');
    area.remove();
    return copied;
}
