// A JSON schema of the document as a list that people read: members, types, limits.
import {el} from './dom.js';
import {markdown} from './markdown.js';

let root = {};

export function useDocument(document) {
    root = document;
}

// What a value of the document stands for: references are followed, what stands beside one wins.
export function resolve(value) {
    let at = value;
    for (let i = 0; at && at.$ref && i < 16; i += 1) {
        const {$ref, ...beside} = at;
        at = {...$ref.slice(2).split('/').reduce((from, name) => from?.[name], root), ...beside};
    }
    return at || {};
}

const nameOf = value => (value?.$ref ? value.$ref.split('/').pop() : null);

// The type in a word or few.
export function typeOf(value) {
    const schema = resolve(value);
    if (schema.const !== undefined)
        return JSON.stringify(schema.const);
    const many = schema.oneOf || schema.anyOf;
    if (many)
        return [...new Set(many.map(typeOf))].join(' or ');
    const types = [schema.type].flat().filter(Boolean);
    const named = types.map(type => (type === 'array' ? `list of ${typeOf(schema.items || {})}` : type));
    return (named.join(' or ') || 'any JSON') + (schema.format ? ` (${schema.format})` : '');
}

function limitsOf(schema) {
    const rows = [
        ['minimum', 'at least '], ['maximum', 'at most '], ['minLength', 'characters at least '],
        ['maxLength', 'characters at most '], ['minItems', 'items at least '], ['maxItems', 'items at most '],
        ['pattern', ''],
    ];
    return rows.filter(([name]) => schema[name] !== undefined)
        .map(([name, says]) => el('span', {class: 'limit'}, says, el('code', {}, String(schema[name]))));
}

function facts(schema) {
    const parts = limitsOf(schema);
    if (schema.default !== undefined)
        parts.push(el('span', {class: 'limit'}, 'default ', el('code', {}, JSON.stringify(schema.default))));
    if (schema.enum)
        parts.push(el('span', {class: 'limit'}, 'one of ',
            schema.enum.map((one, i) => [i ? ', ' : '', el('code', {}, String(one))])));
    return parts.length ? el('div', {class: 'limits'}, parts) : null;
}

function member(name, value, required, path) {
    const schema = resolve(value);
    return el('li', {},
        el('div', {class: 'row'}, el('code', {class: 'member'}, name),
            el('span', {class: 'hint'}, typeOf(value)),
            required && el('span', {class: 'badge'}, 'required')),
        markdown(schema.description), facts(schema), inner(value, path));
}

// What is inside of a value that has an inside, folded away; a schema that refers to itself ends there.
function inner(value, path) {
    const schema = resolve(value);
    const name = nameOf(value);
    if (name && path.includes(name))
        return null;
    const deeper = name ? [...path, name] : path;
    const inside = schema.properties ? value : schema.items && resolve(schema.items).properties ? schema.items : null;
    if (!inside)
        return null;
    const folded = el('details', {class: 'inner'}, el('summary', {}, name || nameOf(inside) || 'its members'));
    folded.addEventListener('toggle', () => {
        if (folded.childElementCount === 1)
            folded.append(members(inside, deeper));
    });
    return folded;
}

function members(value, path) {
    const schema = resolve(value);
    const required = schema.required || [];
    return el('ul', {class: 'members'},
        Object.entries(schema.properties || {}).map(([name, one]) =>
            member(name, one, required.includes(name), path)));
}

// The whole schema: its description, and its members when it is an object.
export function schemaView(value) {
    const schema = resolve(value);
    const name = nameOf(value);
    return [
        el('div', {class: 'row'}, name && el('strong', {}, name), el('span', {class: 'hint'}, typeOf(value))),
        markdown(schema.description),
        facts(schema),
        schema.properties ? members(value, name ? [name] : []) : inner(value, []),
    ];
}

// A value to begin with: what the document gives as an example, else its default.
export function exampleOf(value) {
    const given = resolve(value);
    if (given.example !== undefined)
        return given.example;
    const first = Object.values(given.examples || {})[0];
    if (first !== undefined)
        return resolve(first).value ?? first;
    const schema = resolve(given.schema);
    return schema.example ?? schema.examples?.[0] ?? schema.default;
}
