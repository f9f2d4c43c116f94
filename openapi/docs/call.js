// One call of an operation: the fields that make it, the curl line that says it, and the answer to it.
import {copyButton, el, field, fill, tell} from './dom.js';
import {exampleOf, resolve} from './schema.js';
import {decode, encodeText, hexDump, isJsonType, prettyJson, segment} from './text.js';

const LONGEST_SHOWN = 200000;

// Only in this variable: a reload forgets it.
let token = '';

export function useToken(text) {
    token = text.trim();
    document.dispatchEvent(new Event('token'));
}

const isList = parameter => resolve(parameter.schema).type === 'array';

function textOf(example) {
    if (example === undefined || example === null)
        return '';
    return Array.isArray(example) ? example.join('\n') : String(example);
}

function inputFor(parameter) {
    const schema = resolve(parameter.schema);
    const example = textOf(exampleOf(parameter));
    const choices = schema.enum || (schema.type === 'boolean' ? [...new Set([schema.const ?? true, schema.const ?? false])] : null);
    if (choices)
        return el('select', {}, !parameter.required && el('option', {value: ''}, 'not sent'),
            choices.map(one => el('option', {value: String(one)}, String(one))));
    const prefilled = parameter.required ? example : '';
    if (isList(parameter))
        return el('textarea', {rows: '2', spellcheck: 'false', placeholder: example, value: prefilled});
    return el('input', {type: 'text', autocomplete: 'off', spellcheck: 'false', placeholder: example, value: prefilled});
}

const legends = {path: 'Path', query: 'Query', header: 'Headers'};

function parameterFields(parameters) {
    return ['path', 'query', 'header'].map(place => {
        const here = parameters.filter(({parameter}) => parameter.in === place);
        return here.length > 0 && el('fieldset', {}, el('legend', {}, legends[place]),
            here.map(({parameter, input}) =>
                field(parameter.name, input, isList(parameter) ? 'one a line' : parameter.required ? 'required' : null)));
    });
}

function exampleTexts(media) {
    const named = Object.entries(media.examples || {}).map(([name, one]) => {
        const example = resolve(one);
        return {name: example.summary || name, text: example.value};
    });
    const alone = exampleOf(media);
    const all = named.length ? named : alone === undefined ? [] : [{name: 'example', text: alone}];
    return all.map(({name, text}) => ({name, text: typeof text === 'string' ? text : JSON.stringify(text, null, 2)}));
}

// The fields of a body: its content type, an example to begin with, the text.
function bodyFields(content) {
    const types = Object.keys(content);
    const free = types.includes('*/*');
    const type = free ? el('input', {type: 'text', spellcheck: 'false', value: 'text/plain'})
        : el('select', {}, types.map(one => el('option', {value: one}, one)));
    const examples = types.flatMap(one => exampleTexts(content[one]));
    const text = el('textarea', {rows: '6', spellcheck: 'false', value: examples[0]?.text ?? (free ? 'hello' : '')});
    const choice = examples.length > 1 && el('select', {}, examples.map((one, i) => el('option', {value: String(i)}, one.name)));
    if (choice)
        choice.addEventListener('change', () => {
            text.value = examples[Number(choice.value)].text;
            text.dispatchEvent(new Event('input', {bubbles: true}));
        });
    const view = el('fieldset', {}, el('legend', {}, 'Body'), choice && field('Example', choice),
        field('Content-Type', type), field('Text', text));
    return {view, type, text};
}

function requestOf(operation, parameters, body) {
    const query = new URLSearchParams();
    const headers = {};
    let path = operation.path;
    for (const {parameter, input} of parameters) {
        const values = isList(parameter) ? input.value.split('\n').filter(Boolean) : [input.value];
        if (parameter.in === 'path')
            path = path.replace(`{${parameter.name}}`, () => encodeText(input.value));
        else if (parameter.in === 'query')
            values.filter(Boolean).forEach(value => query.append(parameter.name, value));
        else if (input.value)
            headers[parameter.name] = input.value;
    }
    if (body)
        headers['Content-Type'] = body.type.value;
    const asked = query.toString();
    return {method: operation.method.toUpperCase(), target: path + (asked ? `?${asked}` : ''), headers, body: body?.text.value};
}

const quote = text => `'${text.replaceAll("'", "'\\''")}'`;

const serviceUrl = () => new URL('.', document.baseURI).href.replace(/\/$/, '');

function curlOf(request) {
    const parts = [request.method === 'HEAD' ? 'curl -I' : request.method === 'GET' ? 'curl -i' : `curl -i -X ${request.method}`];
    parts[0] += ` ${quote(serviceUrl() + request.target)}`;
    if (token)
        parts.push('-H "Authorization: Bearer $TOKEN"');
    const json = request.body !== undefined && request.headers['Content-Type'] === 'application/json';
    for (const [name, value] of Object.entries(request.headers))
        if (!json || name !== 'Content-Type')
            parts.push(`-H ${quote(`${name}: ${value}`)}`);
    if (request.body !== undefined)
        parts.push(`${json ? '--json' : '--data-binary'} ${quote(request.body)}`);
    return parts.join(' \\\n  ');
}

async function send(request) {
    request.target.split('?')[0].split('/').forEach(segment);
    const headers = new Headers(request.headers);
    if (token)
        headers.set('Authorization', `Bearer ${token}`);
    const began = performance.now();
    const reply = await fetch(serviceUrl() + request.target, {
        method: request.method, headers, body: request.body, cache: 'no-store', credentials: 'omit',
    });
    const bytes = new Uint8Array(await reply.arrayBuffer());
    return {reply, bytes, took: performance.now() - began};
}

function bodyText(reply, bytes) {
    const text = decode(bytes);
    if (text === null)
        return hexDump(bytes);
    const shown = isJsonType(reply.headers.get('Content-Type')) ? prettyJson(text) : text;
    return shown.length > LONGEST_SHOWN ? `${shown.slice(0, LONGEST_SHOWN)}\n…` : shown;
}

function answerView({reply, bytes, took}) {
    const tone = reply.ok ? 'good' : reply.status < 400 ? 'accent' : 'bad';
    return [
        el('p', {class: 'row'}, el('span', {class: `badge ${tone}`}, `${reply.status} ${reply.statusText}`),
            el('span', {class: 'hint'}, `${Math.round(took)} ms, ${bytes.length} bytes`)),
        el('details', {}, el('summary', {}, 'Headers'),
            el('pre', {tabindex: '0', 'aria-label': 'Headers of the answer'},
                [...reply.headers].map(([name, value]) => `${name}: ${value}`).join('\n'))),
        bytes.length > 0 && el('pre', {class: 'answer', tabindex: '0', 'aria-label': 'Body of the answer'}, bodyText(reply, bytes)),
    ];
}

function refusal(error) {
    return el('p', {class: 'note bad'},
        error instanceof TypeError ? 'The service cannot be reached, or the browser refuses to send this request.' : error.message);
}

function tryForm(operation, parameters, body) {
    const answer = el('div', {class: 'reply'});
    const button = el('button', {class: operation.method === 'delete' ? 'danger' : 'main'}, `Send ${operation.method.toUpperCase()}`);
    return el('form', {
        on: {
            submit: async event => {
                event.preventDefault();
                button.disabled = true;
                fill(answer, el('p', {class: 'loading'}, 'Asking…'));
                try {
                    const got = await send(requestOf(operation, parameters, body));
                    fill(answer, answerView(got));
                    tell(`Answer ${got.reply.status}`);
                } catch (error) {
                    fill(answer, refusal(error));
                    tell('No answer');
                }
                button.disabled = false;
            },
        },
    }, parameterFields(parameters), body?.view, el('p', {class: 'row'}, button,
        operation.method !== 'get' && operation.method !== 'head' && el('span', {class: 'hint'}, 'This is done for real.')), answer);
}

// The curl line of an operation, and the form that changes it and sends it.
export function callView(operation) {
    const parameters = operation.parameters.map(parameter => ({parameter, input: inputFor(parameter)}));
    const content = resolve(operation.requestBody).content;
    const body = content && bodyFields(content);
    const line = el('code', {});
    const show = () => {
        line.textContent = curlOf(requestOf(operation, parameters, body));
    };
    const form = tryForm(operation, parameters, body);
    form.addEventListener('input', show);
    form.addEventListener('change', show);
    document.addEventListener('token', show);
    show();
    return el('div', {class: 'call'},
        el('div', {class: 'curl'}, el('pre', {tabindex: '0', 'aria-label': `curl line of ${operation.summary}`}, line),
            copyButton(() => line.textContent, `the curl line of ${operation.summary}`)),
        el('details', {class: 'try'}, el('summary', {}, 'Try it'), form));
}
