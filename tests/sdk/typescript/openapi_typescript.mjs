// Makes types of the document $1 in the file $2; what is binary in it becomes Blob, which openapi-typescript would call a string.
import { readFile, writeFile } from 'node:fs/promises';

import openapiTS, { astToString } from 'openapi-typescript';
import ts from 'typescript';

const [document, out] = process.argv.slice(2);
const blob = ts.factory.createTypeReferenceNode(ts.factory.createIdentifier('Blob'));
const types = await openapiTS(JSON.parse(await readFile(document, 'utf8')), {
    defaultNonNullable: false, // a member with a default may be left out of a request
    transform: (schema) => (schema.format === 'binary' ? blob : undefined),
});
await writeFile(out, astToString(types));
