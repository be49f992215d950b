// Writes src/generated from the API document: types in which a decimal is a string, and the
// names of the members that are decimals. Usage: node scripts/generate.mjs [openapi.json [folder]]
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { pathToFileURL } from "node:url";
import openapiTS, { astToString } from "openapi-typescript";
import ts from "typescript";

const [source = new URL("../../../internal/api/openapi.json", import.meta.url).pathname,
  folder = new URL("../src/generated", import.meta.url).pathname] = process.argv.slice(2);
const document = JSON.parse(await readFile(source, "utf8"));
const decimals = new Set();
const others = new Set();

/** Collects the names of the members that are decimals, and of those that are other numbers or strings. */
function collect(node) {
  if (node === null || typeof node !== "object") return;
  for (const [name, schema] of Object.entries(node.properties ?? {})) {
    const types = [schema.type].flat();
    if (schema.format === "double") decimals.add(name);
    else if (types.includes("integer") || types.includes("number") || types.includes("string")) others.add(name);
  }
  for (const child of Object.values(node)) collect(child);
}

collect(document);
const both = [...decimals].filter((name) => others.has(name));
if (both.length > 0) throw new Error(`members that are decimals in one object only: ${both}`);

const decimal = ts.factory.createTypeReferenceNode("Decimal");
const nothing = ts.factory.createLiteralTypeNode(ts.factory.createNull());
const ast = await openapiTS(pathToFileURL(source), {
  transform(schema) {
    if (schema.format !== "double") return undefined;
    return [schema.type].flat().includes("null") ? ts.factory.createUnionTypeNode([decimal, nothing]) : decimal;
  },
});
await mkdir(folder, { recursive: true });
const note = "// Made by scripts/generate.mjs from the API document. Do not edit.\n";
await writeFile(`${folder}/api.ts`, `${note}import type { Decimal } from "../decimal.js";\n\n${astToString(ast)}`);
await writeFile(`${folder}/decimals.ts`,
  `${note}/** The names of the members that are decimals. */\nexport const decimals: ReadonlySet<string> = new Set(${
    JSON.stringify([...decimals].sort(), null, 2)});\n`);
