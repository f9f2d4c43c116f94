// Bytes and JSON as text for people, and text as parts of addresses, without losing a digit or a byte.

// The bytes as text; null when they are not UTF-8.
export function decode(bytes) {
    try {
        return new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(bytes);
    } catch {
        return null;
    }
}

// Sixteen bytes a line, as hexadecimal and as characters.
export function hexDump(bytes, most = 512) {
    const lines = [];
    for (let at = 0; at < Math.min(bytes.length, most); at += 16) {
        const line = Array.from(bytes.subarray(at, Math.min(at + 16, most)));
        const hex = line.map(byte => byte.toString(16).padStart(2, '0')).join(' ');
        const seen = line.map(byte => (byte > 0x1f && byte < 0x7f ? String.fromCharCode(byte) : '.')).join('');
        lines.push(`${at.toString(16).padStart(6, '0')}  ${hex.padEnd(47)}  ${seen}`);
    }
    return lines.join('\n') + (bytes.length > most ? '\n…' : '');
}

function isJson(text) {
    try {
        JSON.parse(text);
        return true;
    } catch {
        return false;
    }
}

// JSON with line breaks; every string and number stays as it is written. What is no JSON is given back.
export function prettyJson(text) {
    if (!isJson(text))
        return text;
    const tokens = text.match(/"(?:[^"\\]|\\.)*"|[{}[\],:]|[^\s{}[\],:"]+/g) || [];
    let out = '';
    let depth = 0;
    tokens.forEach((token, i) => {
        const opens = token === '{' || token === '[';
        const closes = token === '}' || token === ']';
        const empty = closes && (tokens[i - 1] === '{' || tokens[i - 1] === '[');
        if (closes)
            depth -= 1;
        if (closes && !empty)
            out += `\n${'  '.repeat(depth)}`;
        out += token;
        if (opens)
            depth += 1;
        if (token === ',' || (opens && !/^[}\]]$/.test(tokens[i + 1])))
            out += `\n${'  '.repeat(depth)}`;
        else if (token === ':')
            out += ' ';
    });
    return out;
}

export function isJsonType(contentType) {
    return /^[^;]*\b(?:application\/json|\+json)\b/i.test(contentType || '');
}

// One segment of a path. Throws for what a browser takes out of a path in every spelling.
export function segment(encoded) {
    if (/^(?:\.|%2e){1,2}$/i.test(encoded))
        throw new Error('A browser cannot send a path with the segment . or ..; use the command line for this name.');
    return encoded;
}

// Text, percent-encoded as a segment; also the characters that encodeURIComponent leaves and a shell does not.
export function encodeText(text) {
    return encodeURIComponent(text).replace(/[!'()*]/g, c => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
}

// Any bytes, percent-encoded in the same way as the text that they may be.
export function encodeBytes(bytes) {
    const text = decode(bytes);
    if (text !== null)
        return encodeText(text);
    return Array.from(bytes, byte => `%${byte.toString(16).toUpperCase().padStart(2, '0')}`).join('');
}

export function bytesOfBase64(base64) {
    return Uint8Array.from(atob(base64), c => c.charCodeAt(0));
}

// The bytes that a percent-encoded text means; null when an escape is broken.
export function bytesOfEncoded(encoded) {
    const plain = new TextEncoder().encode(encoded);
    const out = [];
    for (let i = 0; i < plain.length; i += 1) {
        if (plain[i] !== 0x25) {
            out.push(plain[i]);
            continue;
        }
        const hex = String.fromCharCode(plain[i + 1], plain[i + 2]);
        if (!/^[0-9a-f]{2}$/i.test(hex))
            return null;
        out.push(parseInt(hex, 16));
        i += 2;
    }
    return Uint8Array.from(out);
}
