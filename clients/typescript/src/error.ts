/** An answer of the service that is an error. */
export class RewardsError extends Error {
  override readonly name = "RewardsError";

  constructor(
    /** The status of HTTP. */
    readonly status: number,
    /** For programs, such as "not_found"; "" when the answer is not the service's. */
    readonly code: string,
    message: string,
    /** To report a problem to the operator. */
    readonly requestId: string,
    /** See the reference of each error. */
    readonly details: unknown,
    /** The seconds that the service asks to wait; 0 when it does not say. */
    readonly retryAfter: number,
    /** Whether an earlier attempt of the request may have had an effect. */
    readonly uncertain: boolean,
  ) {
    super(`${status} ${code}: ${message}${requestId === "" ? "" : ` (request ${requestId})`}`);
  }
}

/** Makes the error of an answer. A proxy's error has another body. */
export function errorOf(response: Response, body: unknown, uncertain: boolean): RewardsError {
  const error = (body as { error?: Record<string, unknown> } | undefined)?.error;
  const text = (name: string): string => (typeof error?.[name] === "string" ? error[name] : "");
  return new RewardsError(
    response.status, text("code"), text("message") || response.statusText, text("requestId"), error?.["details"],
    secondsOf(response.headers.get("retry-after") ?? ""), uncertain,
  );
}

/** Reads a Retry-After: seconds, or the date of HTTP. 0 when it is neither, or over. */
function secondsOf(after: string): number {
  const date = /^[A-Z]/i.test(after);
  const seconds = date ? Math.ceil((Date.parse(after) - Date.now()) / 1000) : Number.parseInt(after, 10);
  return seconds > 0 ? seconds : 0;
}
