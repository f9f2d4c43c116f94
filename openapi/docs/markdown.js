// The part of Markdown that the document's descriptions use, as elements.
import {el} from './dom.js';

// Text with `code`, **strong** and *emphasis*.
function inline(text) {
    const parts = text.split(/(`[^`]+`|\*\*[^*]+\*\*|\*[^*\s][^*]*\*)/);
    return parts.filter(part => part).map(part => {
        if (part.startsWith('`') && part.length > 2)
            return el('code', {}, part.slice(1, -1));
        if (part.startsWith('**') && part.length > 4)
            return el('strong', {}, part.slice(2, -2));
        if (part.startsWith('*') && part.endsWith('*') && part.length > 2)
            return el('em', {}, part.slice(1, -1));
        return part;
    });
}

function cells(line) {
    return line.trim().replace(/^\||\|$/g, '').split('|').map(cell => cell.trim());
}

function table(lines) {
    const [head, , ...rows] = lines.map(cells);
    return el('div', {class: 'scroll', tabindex: '0', role: 'region', 'aria-label': `Table: ${head.join(', ')}`},
        el('table', {},
            el('thead', {}, el('tr', {}, head.map(cell => el('th', {scope: 'col'}, inline(cell))))),
            el('tbody', {}, rows.map(row => el('tr', {}, row.map(cell => el('td', {}, inline(cell))))))));
}

function list(lines) {
    const items = [];
    for (const line of lines)
        if (/^[*-] /.test(line))
            items.push(line.slice(2));
        else
            items[items.length - 1] += ` ${line.trim()}`;
    return el('ul', {}, items.map(item => el('li', {}, inline(item))));
}

function block(lines, level) {
    const heading = /^(#+) (.*)$/.exec(lines[0]);
    if (heading)
        return el(`h${Math.min(6, heading[1].length + level)}`, {}, inline(heading[2]));
    if (lines[0].startsWith('|'))
        return table(lines);
    if (/^[*-] /.test(lines[0]))
        return list(lines);
    if (lines.every(line => line.startsWith('    ')))
        return el('pre', {}, el('code', {}, lines.map(line => line.slice(4)).join('\n')));
    return el('p', {}, inline(lines.join(' ')));
}

// The elements of a text; a heading `#` becomes one `level` deeper.
export function markdown(text, level = 0) {
    return (text || '').trimEnd().split(/\n\s*\n/).filter(part => part.trim())
        .map(part => block(part.split('\n'), level));
}
