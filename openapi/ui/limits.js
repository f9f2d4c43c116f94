// Quotas, rate limits and counters: how a key stands, without using anything of it.
import {el, field, fill} from '../docs/dom.js';
import {getJson, getText, keyPath} from './api.js';
import {branchField, empty, keyField, keyView, place, refusalView, timeView} from './parts.js';

const kinds = {quota: 'quotas', rate_limit: 'rate-limits', counter: 'counters'};
const words = {quota: 'quota', rate_limit: 'rate limit', counter: 'counter'};

async function namesOf(signal) {
    const names = [];
    let cursor = null;
    do {
        const page = await getJson('/v1/buckets', {query: {limit: 1000, cursor}, signal});
        names.push(...page.buckets.filter(item => kinds[item.kind]));
        cursor = page.cursor;
    } while (cursor && names.length < 2000);
    return names;
}

// A bar of what was used. Its width is set on the element itself, which the policy for styles allows.
function bar(label, used, limit, below) {
    const share = limit > 0 ? Math.min(1, used / limit) : 1;
    const inner = el('div', {class: `used ${share >= 1 ? 'full' : share >= 0.8 ? 'high' : ''}`});
    inner.style.width = `${100 * share}%`;
    return el('div', {class: 'meter-row'},
        el('div', {class: 'row'}, el('strong', {}, label),
            el('span', {class: 'push number'}, `${used.toLocaleString('en')} of ${limit.toLocaleString('en')}`)),
        el('div', {class: 'meter', role: 'meter', 'aria-label': label, 'aria-valuemin': '0', 'aria-valuemax': String(limit),
            'aria-valuenow': String(Math.min(used, limit)), 'aria-valuetext': `${used} of ${limit} used`}, inner),
        el('p', {class: 'hint'}, below));
}

function quotaView(answer) {
    return Object.entries(answer.windows).map(([name, window]) =>
        bar(name, window.used, window.limit, window.reset_at ? ['begins anew ', timeView(window.reset_at)] : 'not begun'));
}

function rateView(answer, configuration) {
    return bar(configuration.rate, Math.max(0, configuration.burst - answer.left), configuration.burst,
        `${answer.left.toLocaleString('en')} could be used now`);
}

// A counter's 64 bits are shown as the service wrote them.
function counterView(text) {
    return el('p', {class: 'big number'}, /"value"\s*:\s*(-?\d+)/.exec(text)?.[1] ?? '?');
}

async function standing(item, key, under, signal) {
    const path = keyPath(kinds[item.kind], item.name, key);
    if (item.kind === 'counter')
        return counterView(await getText(path, {under, signal}));
    const answer = await getJson(path, {under, signal});
    return item.kind === 'quota' ? quotaView(answer) : rateView(answer, item.configuration);
}

export async function showLimits(content, values, signal) {
    const names = await namesOf(signal);
    const head = [el('h1', {}, 'Limits'),
        el('p', {class: 'quiet'}, 'How a key of a quota, rate limit or counter stands. Looking uses nothing.')];
    if (!names.length) {
        fill(content, head, el('div', {class: 'card'}, empty('No quota, rate limit or counter is declared.')));
        return;
    }
    const choice = el('select', {}, names.map((item, i) => el('option', {value: String(i), selected: item.name === values.name},
        `${item.name} (${words[item.kind]})`)));
    const key = keyField('Key');
    const branch = branchField();
    const result = el('div', {'aria-live': 'polite'});
    const form = el('form', {
        class: 'card',
        on: {
            submit: async event => {
                event.preventDefault();
                const item = names[Number(choice.value)];
                const encoded = key.value();
                try {
                    if (!encoded)
                        throw new Error('The key’s percent-encoding is broken.');
                    const view = await standing(item, encoded, branch.value(), signal);
                    fill(result, el('section', {class: 'card', 'aria-label': 'How it stands'},
                        el('h2', {}, item.name, ' ', keyView(encoded)), view));
                } catch (error) {
                    if (error.name !== 'AbortError')
                        fill(result, refusalView(error));
                }
            },
        },
    }, el('div', {class: 'pair three'}, field('Name', choice), key.view, branch.view), el('button', {class: 'main'}, 'Look'));
    fill(content, head, form, result,
        el('p', {class: 'hint'}, el('a', {href: place('buckets')}, 'All declared names'), ' with their configuration'));
}
