import { isLosslessNumber, isSafeNumber, LosslessNumber, parse, stringify } from "lossless-json";
import { decimals } from "./generated/decimals.js";

/**
 * An exact decimal as a string of its digits, such as "5.25". The service sends JSON numbers; this
 * client never makes a floating-point number of them. For calculations use a decimal library.
 */
export type Decimal = string;

const grammar = /^-?(0|[1-9][0-9]*)(\.[0-9]+)?$/;

/** Reads JSON. Decimals become strings; so do numbers inside metadata that a number cannot hold. */
export function read(text: string): unknown {
  return restore(parse(text), "", false);
}

function restore(value: unknown, name: string, free: boolean): unknown {
  if (isLosslessNumber(value)) {
    return (!free && decimals.has(name)) || !isSafeNumber(value.value) ? value.value : Number(value.value);
  }
  return walk(value, name, free, restore);
}

/** Writes JSON. Strings that are decimals become JSON numbers with every digit. */
export function write(body: unknown): string {
  return stringify(exact(body, "", false)) ?? "null";
}

function exact(value: unknown, name: string, free: boolean): unknown {
  if (!free && decimals.has(name) && typeof value === "string") {
    if (!grammar.test(value)) throw new TypeError(`${name} must be a decimal such as "5.25", not ${JSON.stringify(value)}`);
    return new LosslessNumber(value);
  }
  if (isLosslessNumber(value)) return value;
  return hasForm(value) ? exact(value.toJSON(name), name, free) : walk(value, name, free, exact);
}

/** Reports whether a value has a form of its own in JSON, as a Date has. */
function hasForm(value: unknown): value is { toJSON(name: string): unknown } {
  return typeof value === "object" && value !== null && "toJSON" in value && typeof value.toJSON === "function";
}

/** Converts what an array or an object contains. Metadata is the client's own. */
function walk(
  value: unknown, name: string, free: boolean, convert: (value: unknown, name: string, free: boolean) => unknown,
): unknown {
  if (Array.isArray(value)) return value.map((item) => convert(item, name, free));
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.entries(value).map(
    ([key, item]) => [key, convert(item, key, free || key === "metadata")]));
}
