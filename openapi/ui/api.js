// Calls to the service: with the token that the user typed, which is kept nowhere but in this variable.
import {encodeBytes, encodeText, segment} from '../docs/text.js';

let token = '';
let ask = async () => null;
let ahead = 0; // of our clock, how much the service's is, in ms

export function setToken(text) {
    token = text;
}

export const hasToken = () => token !== '';

// What is called when the service wants a token; gives the token, or null when the user has none.
export function onTokenWanted(handler) {
    ask = handler;
}

// The time at the service, by what its last answer said.
export const serviceNow = () => Date.now() + ahead;

// A refusal, or no answer at all; `problem` is what the service said of it.
export class Refusal extends Error {
    constructor(message, status = 0, problem = null, requestId = '') {
        super(message);
        this.status = status;
        this.problem = problem;
        this.requestId = requestId;
    }
}

function address(path, query) {
    const parts = [];
    for (const [name, value] of Object.entries(query))
        for (const one of [value].flat())
            if (one !== null && one !== undefined && one !== '')
                parts.push(`${name}=${encodeText(String(one))}`);
    return new URL(`.${path}`, document.baseURI.replace(/#.*$/, '')).href + (parts.length ? `?${parts.join('&')}` : '');
}

// `under` is a list of percent-encoded owners, which may be any bytes.
function withBranch(url, under) {
    const owners = (under || []).map(owner => `under=${owner}`).join('&');
    return owners ? `${url}${url.includes('?') ? '&' : '?'}${owners}` : url;
}

async function send(method, url, {headers, body, signal}) {
    const all = new Headers(headers);
    if (token)
        all.set('Authorization', `Bearer ${token}`);
    try {
        const reply = await fetch(url, {method, headers: all, body, signal, cache: 'no-store', credentials: 'omit', redirect: 'error'});
        const date = Date.parse(reply.headers.get('Date'));
        if (date && Math.abs(date - Date.now() - ahead) > 1500)
            ahead = date - Date.now();
        return {reply, bytes: new Uint8Array(await reply.arrayBuffer())};
    } catch (error) {
        if (error.name === 'AbortError')
            throw error;
        throw new Refusal('The service cannot be reached.');
    }
}

const textOf = bytes => new TextDecoder().decode(bytes);

function refusalOf(reply, bytes) {
    let problem = null;
    try {
        problem = JSON.parse(textOf(bytes));
    } catch {
        // A proxy between may answer anything.
    }
    return new Refusal(problem?.detail || `The service answered ${reply.status}.`, reply.status, problem,
        reply.headers.get('Holdfast-Request-Id') || '');
}

// One call. Gives {status, headers, bytes}; throws a Refusal for everything that is no 2xx.
export async function call(method, path, {query = {}, under = [], ...rest} = {}) {
    const url = withBranch(address(path, query), under);
    let {reply, bytes} = await send(method, url, rest);
    while (reply.status === 401) {
        const given = await ask(hasToken());
        if (given === null)
            throw refusalOf(reply, bytes);
        token = given;
        ({reply, bytes} = await send(method, url, rest));
    }
    if (!reply.ok)
        throw refusalOf(reply, bytes);
    return {status: reply.status, headers: reply.headers, bytes};
}

export async function getText(path, options) {
    return textOf((await call('GET', path, options)).bytes);
}

export async function getJson(path, options) {
    return JSON.parse(await getText(path, options));
}

// GET without a token, for what everybody may ask; gives the status, 0 when nobody answers.
export async function statusOf(path) {
    try {
        const reply = await fetch(address(path, {}), {cache: 'no-store', credentials: 'omit'});
        await reply.arrayBuffer();
        return reply.status;
    } catch {
        return 0;
    }
}

export const namePath = (kind, name) => `/v1/${kind}/${segment(encodeText(name))}`;
export const keyPath = (kind, name, key) => `${namePath(kind, name)}/${segment(key)}`;
export const entriesPath = bucket => `${namePath('buckets', bucket)}/entries`;
export const entryPath = (bucket, key) => `${entriesPath(bucket)}/${segment(key)}`;
export const leasePath = (bucket, key) => `${namePath('buckets', bucket)}/leases/${segment(key)}`;

// Metadata and content types come and go as bytes, each a character; this is what people read.
export function headerText(value) {
    return new TextDecoder().decode(Uint8Array.from(value, c => c.charCodeAt(0)));
}

export function headerBytes(text) {
    return Array.from(new TextEncoder().encode(text), byte => String.fromCharCode(byte)).join('');
}

export {encodeBytes, encodeText};
