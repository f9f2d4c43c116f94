// One operation of the document: what it does, takes and answers.
import {callView} from './call.js';
import {el} from './dom.js';
import {markdown} from './markdown.js';
import {resolve, schemaView, typeOf} from './schema.js';
import {prettyJson} from './text.js';

const methods = ['get', 'head', 'put', 'post', 'patch', 'delete'];

// All operations in the order of the document, each with its path, method and resolved parameters.
export function operationsOf(api) {
    return Object.entries(api.paths).flatMap(([path, item]) =>
        Object.keys(item).filter(name => methods.includes(name)).map(method => ({
            ...item[method],
            path,
            method,
            parameters: [...(item.parameters || []), ...(item[method].parameters || [])].map(resolve),
        })));
}

// The path with its parameters set apart.
export function pathView(path) {
    return el('code', {class: 'path'}, path.split(/(\{[^}]+\})/).map(part =>
        (part.startsWith('{') ? el('span', {class: 'variable'}, part) : part.split('/').map((text, i) =>
            (i ? ['/', el('wbr'), text] : text)))));
}

export function methodBadge(method) {
    return el('span', {class: `method ${method}`}, method.toUpperCase());
}

function parametersView(operation) {
    if (!operation.parameters.length)
        return null;
    return [
        el('h4', {}, 'Parameters'),
        el('ul', {class: 'members'}, operation.parameters.map(parameter => el('li', {},
            el('div', {class: 'row'}, el('code', {class: 'member'}, parameter.name),
                el('span', {class: 'hint'}, `${parameter.in}, ${typeOf(parameter.schema)}`),
                parameter.required && el('span', {class: 'badge'}, 'required')),
            markdown(parameter.description)))),
    ];
}

function examplesView(media) {
    return Object.entries(media.examples || {}).map(([name, one]) => {
        const example = resolve(one);
        const text = typeof example.value === 'string' ? example.value : prettyJson(JSON.stringify(example.value));
        return [el('p', {class: 'hint'}, example.summary || name),
            el('pre', {tabindex: '0', 'aria-label': `Example: ${example.summary || name}`}, text)];
    });
}

function contentView(content) {
    return Object.entries(content || {}).map(([type, media]) => [
        el('p', {}, el('code', {}, type)), media.schema && schemaView(media.schema), examplesView(media),
    ]);
}

function bodyView(operation) {
    if (!operation.requestBody)
        return null;
    const body = resolve(operation.requestBody);
    const folded = el('details', {}, el('summary', {}, 'Schema and examples'));
    fillWhenOpened(folded, () => contentView(body.content));
    return [el('h4', {}, 'Body'), markdown(body.description), folded];
}

function fillWhenOpened(details, make) {
    details.addEventListener('toggle', () => {
        if (details.childElementCount === 1)
            details.append(el('div', {class: 'inside'}, make()));
    });
}

function toneOf(status) {
    return status.startsWith('2') ? 'good' : status.startsWith('3') ? 'accent' : status === 'default' ? '' : 'warn';
}

function headersView(headers) {
    const entries = Object.entries(headers || {});
    return entries.length > 0 && [
        el('p', {class: 'hint'}, 'Headers'),
        el('ul', {class: 'members'}, entries.map(([name, one]) => el('li', {}, el('code', {class: 'member'}, name),
            markdown(resolve(one).description)))),
    ];
}

function responseView(status, value) {
    const response = resolve(value);
    const folded = el('details', {class: 'response'},
        el('summary', {}, el('span', {class: `badge ${toneOf(status)}`}, status), ' ',
            el('span', {}, (response.description || '').trim().split('\n')[0].replaceAll('`', ''))));
    const more = (response.description || '').trim().includes('\n');
    fillWhenOpened(folded, () => [more && markdown(response.description), headersView(response.headers), contentView(response.content)]);
    return folded;
}

export function operationView(operation) {
    return el('article', {class: 'operation card', id: operation.operationId, 'aria-labelledby': `${operation.operationId}-name`},
        el('header', {},
            el('h3', {id: `${operation.operationId}-name`}, el('a', {href: `#${operation.operationId}`, class: 'anchor'}, operation.summary)),
            el('p', {class: 'route'}, methodBadge(operation.method), pathView(operation.path))),
        el('div', {class: 'columns'},
            el('div', {class: 'about'}, markdown(operation.description, 3), parametersView(operation), bodyView(operation),
                el('h4', {}, 'Answers'),
                Object.entries(operation.responses).map(([status, value]) => responseView(status, value))),
            callView(operation)));
}
