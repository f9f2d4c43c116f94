// The reference: reads the document that this very service serves and lays it out.
import {useToken} from './call.js';
import {el, fill, tell} from './dom.js';
import {markdown} from './markdown.js';
import {methodBadge, operationsOf, operationView} from './operation.js';
import {useDocument} from './schema.js';

const main = document.querySelector('main');
const index = document.querySelector('#index');
const search = document.querySelector('#search');
const found = document.querySelector('#found');
const contents = document.querySelector('#contents');

const slug = name => `tag-${name.toLowerCase().replace(/[^a-z0-9]+/g, '-')}`;

// What a search looks at.
function wordsOf(operation) {
    return [operation.method, operation.path, operation.operationId, operation.summary, operation.description, operation.tags,
        operation.parameters.map(parameter => parameter.name)].flat(2).join(' ').toLowerCase();
}

function introView(api) {
    return el('section', {class: 'intro', id: 'about', 'aria-labelledby': 'title'},
        el('h1', {id: 'title'}, api.info.title, ' ', el('span', {class: 'badge accent'}, api.info.version)),
        el('p', {class: 'lead'}, api.info.summary),
        el('p', {class: 'row'}, el('a', {href: 'openapi.json', download: 'holdfast-openapi.json'}, 'OpenAPI document as JSON'),
            el('a', {href: 'openapi.yaml', download: 'holdfast-openapi.yaml'}, 'as YAML')),
        markdown(api.info.description, 0));
}

function sectionView(tag, operations) {
    return el('section', {class: 'tag', id: slug(tag.name), 'aria-labelledby': `${slug(tag.name)}-name`},
        el('h2', {id: `${slug(tag.name)}-name`}, tag.name), el('div', {class: 'about'}, markdown(tag.description, 2)),
        operations.map(operationView));
}

function indexOf(tag, operations) {
    return el('li', {}, el('a', {href: `#${slug(tag.name)}`, class: 'group'}, tag.name),
        el('ul', {}, operations.map(operation => el('li', {'data-for': operation.operationId},
            el('a', {href: `#${operation.operationId}`, title: `${operation.method.toUpperCase()} ${operation.path}`},
                methodBadge(operation.method), el('span', {}, operation.summary))))));
}

// Hides what lacks one of the words, here and in the index.
function narrow(operations) {
    const words = search.value.toLowerCase().split(/\s+/).filter(Boolean);
    let count = 0;
    for (const operation of operations) {
        const fits = words.every(word => operation.words.includes(word));
        count += fits;
        document.getElementById(operation.operationId).hidden = !fits;
        index.querySelector(`[data-for="${operation.operationId}"]`).hidden = !fits;
    }
    for (const section of main.querySelectorAll('.tag'))
        section.hidden = !section.querySelector('.operation:not([hidden])');
    for (const group of index.querySelectorAll(':scope > ul > li:not(.overview)'))
        group.hidden = !group.querySelector('li:not([hidden])');
    main.classList.toggle('narrowed', words.length > 0);
    document.getElementById('nothing').hidden = count > 0;
    found.textContent = words.length ? `${count} of ${operations.length} operations` : `${operations.length} operations`;
}

// Marks in the index what is being read.
function followReading() {
    const links = new Map([...index.querySelectorAll('a')].map(link => [link.hash.slice(1), link]));
    const watcher = new IntersectionObserver(entries => {
        for (const entry of entries.filter(one => one.isIntersecting)) {
            index.querySelector('[aria-current]')?.removeAttribute('aria-current');
            const link = links.get(entry.target.id);
            link?.setAttribute('aria-current', 'true');
            link?.scrollIntoView({block: 'nearest'});
        }
    }, {rootMargin: '-15% 0px -80% 0px'});
    main.querySelectorAll('.operation').forEach(article => watcher.observe(article));
}

function closeContents() {
    contents.setAttribute('aria-expanded', 'false');
    index.classList.remove('open');
}

function listen(operations) {
    search.addEventListener('input', () => narrow(operations));
    search.addEventListener('keydown', event => {
        if (event.key !== 'Escape')
            return;
        search.value = '';
        narrow(operations);
    });
    document.addEventListener('keydown', event => {
        if (event.key !== '/' || event.ctrlKey || event.metaKey || /^(?:INPUT|TEXTAREA|SELECT)$/.test(document.activeElement.tagName))
            return;
        event.preventDefault();
        search.focus();
    });
    contents.addEventListener('click', () => {
        const open = index.classList.toggle('open');
        contents.setAttribute('aria-expanded', String(open));
    });
    index.addEventListener('click', event => {
        if (event.target.closest('a'))
            closeContents();
    });
    document.querySelector('#token').addEventListener('input', event => useToken(event.target.value));
    document.querySelector('#token-form').addEventListener('submit', event => event.preventDefault());
}

function show(api) {
    useDocument(api);
    const operations = operationsOf(api);
    for (const operation of operations)
        operation.words = wordsOf(operation);
    const groups = api.tags.map(tag => [tag, operations.filter(operation => operation.tags[0] === tag.name)])
        .filter(([, members]) => members.length);
    fill(main, introView(api), groups.map(([tag, members]) => sectionView(tag, members)),
        el('p', {id: 'nothing', class: 'note', hidden: true}, 'Nothing has all of these words.'));
    fill(index, el('ul', {}, el('li', {class: 'overview'}, el('a', {href: '#about', class: 'group'}, 'Overview')),
        groups.map(([tag, members]) => indexOf(tag, members))));
    main.removeAttribute('aria-busy');
    listen(operations);
    narrow(operations);
    followReading();
    document.getElementById(decodeURIComponent(location.hash.slice(1)))?.scrollIntoView();
}

async function start() {
    fill(main, el('p', {class: 'loading'}, 'Reading the document…'));
    try {
        const reply = await fetch('openapi.json', {credentials: 'omit'});
        if (!reply.ok)
            throw new Error(`The service answered ${reply.status}.`);
        show(await reply.json());
    } catch (error) {
        fill(main, el('div', {class: 'note bad', role: 'alert'}, el('h1', {}, 'The document cannot be read'),
            el('p', {}, error instanceof TypeError ? 'The service cannot be reached.' : error.message),
            el('button', {type: 'button', on: {click: start}}, 'Try again')));
        tell('The document cannot be read');
    }
}

start();
