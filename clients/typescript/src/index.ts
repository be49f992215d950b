import createClient, { type Client } from "openapi-fetch";
import { read, write } from "./decimal.js";
import { RewardsError } from "./error.js";
import type { Reversal, RewardsEvent } from "./events.js";
import type { components, operations, paths } from "./generated/api.js";
import { pause, retrying, type Sending } from "./retry.js";

export type { Decimal } from "./decimal.js";
export { RewardsError } from "./error.js";
export type { EventData, Reversal, RewardsEvent } from "./events.js";
export type { components, operations, paths } from "./generated/api.js";
export type { Sending } from "./retry.js";
export { verifyWebhook, type Webhook } from "./webhook.js";

type Schemas = components["schemas"];
export type User = Schemas["User"];
export type Reward = Schemas["Reward"];
export type Portfolio = Schemas["Portfolio"];
export type CorporateAction = Schemas["CorporateAction"];
export type Effect = Schemas["CorporateActionEffect"];
export type Budget = Schemas["Budget"];
export type Activity = Schemas["Activity"];
export type Moment = Schemas["TimelineEntry"];
export type WebhookEndpoint = Schemas["WebhookEndpoint"];
export type Delivery = Schemas["WebhookDelivery"];
type Query<Operation extends keyof operations> = NonNullable<operations[Operation]["parameters"]["query"]>;

/** Where the service is, and which app calls it. */
export interface Options extends Sending {
  /** Such as "https://rewards.example.com". */
  url: string;
  /** The app's key. */
  key: string;
}

/** Methods for what clients do most. GET, POST, PATCH and DELETE of openapi-fetch reach everything else. */
export interface Rewards extends Client<paths> {
  /** Creates a user. After a lost answer it finds the user that it created. */
  createUser(user: Schemas["NewUser"]): Promise<User>;
  /** Gives an award once, however often it is called with the same content. */
  award(reward: Schemas["NewReward"]): Promise<{ reward: Reward; idempotentReplay: boolean }>;
  /** Gives 1 to 1,000 awards. The results are in their order. */
  awardAll(rewards: Schemas["NewReward"][]): Promise<Schemas["BatchResult"][]>;
  /** Takes an award back, or a part of it, once, however often it is called with the same content. */
  reverse(rewardId: string, reversal: Schemas["NewReversal"]): Promise<{ reversal: Reversal; idempotentReplay: boolean }>;
  /** Reads a reversal. */
  reversal(reversalId: string): Promise<Reversal>;
  /** Goes through reversals, newest first. */
  reversals(query?: Query<"listReversals">): AsyncGenerator<Reversal>;
  /** Reads what happened to an award, oldest first. While it is not final, the last entry says what it waits for. */
  timeline(rewardId: string): Promise<Moment[]>;
  /** Polls an award until it is executed or failed. */
  awaitReward(rewardId: string, signal?: AbortSignal): Promise<Reward>;
  /** Reads what a user holds. */
  portfolio(userId: string): Promise<Portfolio>;
  /** Goes through what changed a user's holdings, newest first. */
  activity(userId: string, query?: Query<"listActivity">): AsyncGenerator<Activity>;
  /** Reads the app's spending limits, sorted by name. */
  budgets(): Promise<Budget[]>;
  /** Goes through users, newest first. */
  users(query?: Query<"listUsers">): AsyncGenerator<User>;
  /** Goes through awards, newest first. */
  rewards(query?: Query<"listRewards">): AsyncGenerator<Reward>;
  /** Goes through corporate actions, newest first. */
  corporateActions(query?: Query<"listCorporateActions">): AsyncGenerator<CorporateAction>;
  /** Goes through what a corporate action did to the app's users. */
  effects(corporateActionId: string): AsyncGenerator<Effect>;
  /** Adds an address that gets webhooks. Its secret is shown only now. */
  createWebhookEndpoint(endpoint: Schemas["NewWebhookEndpoint"]): Promise<{ webhookEndpoint: WebhookEndpoint; secret: string }>;
  /** Goes through the app's addresses, newest first. */
  webhookEndpoints(): AsyncGenerator<WebhookEndpoint>;
  /** Changes, enables or disables an address. One that is enabled gets what it missed. */
  changeWebhookEndpoint(webhookEndpointId: string, change: Schemas["WebhookEndpointChange"]): Promise<WebhookEndpoint>;
  /** Removes an address. */
  deleteWebhookEndpoint(webhookEndpointId: string): Promise<void>;
  /** Gives an address a new secret, and returns it. For 24 hours deliveries are signed by both; of several old secrets at most four sign. */
  rotateWebhookSecret(webhookEndpointId: string): Promise<string>;
  /** Sends a test.ping to an address, and returns its id. */
  testWebhook(webhookEndpointId: string): Promise<string>;
  /** Delivers the events after a sequence to an address again. */
  replayWebhooks(webhookEndpointId: string, after: number): Promise<void>;
  /** Goes through the deliveries of an address, newest first. */
  deliveries(webhookEndpointId: string, query?: Query<"listWebhookDeliveries">): AsyncGenerator<Delivery>;
  /** Goes through any list, such as "/v1/rewards". */
  list<T>(path: string, query?: Record<string, unknown>): AsyncGenerator<T>;
  /**
   * Follows the event feed after a sequence, oldest first, and waits for what comes. Store the last
   * sequence that you processed, and begin there after a restart: no event is missed.
   */
  events(after?: number, types?: string[], signal?: AbortSignal): AsyncGenerator<RewardsEvent>;
}

const endpoint = "/v1/webhook-endpoints/{webhookEndpointId}";

/** The address of the next page; undefined on the last. */
const nextOf = (received: Headers) => /<([^>]*)>[^<]*;\s*rel="?next"?/.exec(received.get("link") ?? "")?.[1];

/** Returns the answer, unless it or one of its parts is missing: then a program in between has answered for the service. */
function whole<T>(answer: T | undefined, ...parts: unknown[]): NonNullable<T> {
  if (answer === undefined || answer === null || parts.includes(undefined) || parts.includes(null)) {
    throw new RewardsError(200, "", "the answer lacks what was asked for", "", undefined, 0, true);
  }
  return answer;
}

/** Connects to the service. Failed calls throw a RewardsError, so data is always there. */
export function connect(options: Options): Rewards {
  const { url, key, ...sending } = options;
  const send = retrying(sending);
  const persistent = retrying(sending, true);
  const headers = { "x-api-key": key };
  const base = url.replace(/\/$/, "");
  const api = createClient<paths>({
    baseUrl: base, headers, fetch: (request) => send(request), bodySerializer: write,
    querySerializer: { array: { style: "form", explode: false } }, // types=a,b
  });
  const longestWait = Math.min(20, Math.max(1, Math.floor((options.timeout ?? 30_000) / 1000) - 5)); // the feed must answer in time

  async function raw(path: string, query: Record<string, unknown>, signal?: AbortSignal): Promise<[unknown, Headers]> {
    const given = Object.entries(query).filter(([, value]) => value !== undefined);
    const search = new URLSearchParams(given.map(([name, value]) => [name, String(value)]));
    const target = search.size > 0 ? `${base}${path}${path.includes("?") ? "&" : "?"}${search}` : `${base}${path}`;
    const response = await send(new Request(target, { headers }), signal);
    return [read(await response.text()), response.headers];
  }

  async function* list<T>(path: string, query: Record<string, unknown> = {}): AsyncGenerator<T> {
    for (let cursor: string | undefined, first = true; first || cursor !== undefined; first = false) {
      const [body, received] = await raw(path, cursor === undefined ? query : { ...query, cursor });
      const [items, ...others] = Object.values(body as Record<string, T[]>);
      yield* whole(items, (Array.isArray(items) && others.length === 0) || undefined);
      const next = nextOf(received);
      cursor = next === undefined ? undefined : new URL(next, base).searchParams.get("cursor") ?? undefined;
    }
  }

  return Object.assign(api, {
    list,
    users: (query?: Query<"listUsers">) => list<User>("/v1/users", query),
    rewards: (query?: Query<"listRewards">) => list<Reward>("/v1/rewards", query),
    corporateActions: (query?: Query<"listCorporateActions">) => list<CorporateAction>("/v1/corporate-actions", query),

    reversals: (query?: Query<"listReversals">) => list<Reversal>("/v1/reversals", query),
    activity: (userId: string, query?: Query<"listActivity">) => list<Activity>(`/v1/users/${encodeURIComponent(userId)}/activity`, query),
    effects: (id: string) => list<Effect>(`/v1/corporate-actions/${encodeURIComponent(id)}/effects`),
    webhookEndpoints: () => list<WebhookEndpoint>("/v1/webhook-endpoints"),
    deliveries: (id: string, query?: Query<"listWebhookDeliveries">) =>
      list<Delivery>(`/v1/webhook-endpoints/${encodeURIComponent(id)}/deliveries`, query),

    async reverse(rewardId: string, reversal: Schemas["NewReversal"]) {
      const { data } = await api.POST("/v1/rewards/{rewardId}/reversals", { params: { path: { rewardId } }, body: reversal });
      return whole(data, data?.reversal);
    },

    async reversal(reversalId: string): Promise<Reversal> {
      const { data } = await api.GET("/v1/reversals/{reversalId}", { params: { path: { reversalId } } });
      return whole(data?.reversal);
    },

    async timeline(rewardId: string): Promise<Moment[]> {
      const { data } = await api.GET("/v1/rewards/{rewardId}/timeline", { params: { path: { rewardId } } });
      return whole(data?.timeline);
    },

    async budgets(): Promise<Budget[]> {
      const { data } = await api.GET("/v1/budgets");
      return whole(data?.budgets);
    },

    async createWebhookEndpoint(body: Schemas["NewWebhookEndpoint"]) {
      const { data } = await api.POST("/v1/webhook-endpoints", { body });
      return whole(data, data?.secret);
    },

    async changeWebhookEndpoint(webhookEndpointId: string, change: Schemas["WebhookEndpointChange"]): Promise<WebhookEndpoint> {
      const { data } = await api.PATCH(endpoint, { params: { path: { webhookEndpointId } }, body: change });
      return whole(data?.webhookEndpoint);
    },

    async deleteWebhookEndpoint(webhookEndpointId: string): Promise<void> {
      try {
        await api.DELETE(endpoint, { params: { path: { webhookEndpointId } } });
      } catch (error) { // after a lost answer it may be gone already
        if (!(error instanceof RewardsError) || error.code !== "not_found" || !error.uncertain) throw error;
      }
    },

    async rotateWebhookSecret(webhookEndpointId: string): Promise<string> {
      const { data } = await api.POST(`${endpoint}/rotate-secret`, { params: { path: { webhookEndpointId } } });
      return whole(data?.secret);
    },

    async testWebhook(webhookEndpointId: string): Promise<string> {
      const { data } = await api.POST(`${endpoint}/test`, { params: { path: { webhookEndpointId } } });
      return whole(data?.eventId);
    },

    async replayWebhooks(webhookEndpointId: string, after: number): Promise<void> {
      await api.POST(`${endpoint}/replay`, { params: { path: { webhookEndpointId } }, body: { after } });
    },

    async createUser(user: Schemas["NewUser"]): Promise<User> {
      try {
        const { data } = await api.POST("/v1/users", { body: user, fetch: persistent });
        return whole(data?.user);
      } catch (error) {
        if (!(error instanceof RewardsError) || error.code !== "conflict" || !error.uncertain) throw error;
        const { userId } = (error.details ?? {}) as { userId?: unknown };
        if (typeof userId !== "string") throw error;
        const { data } = await api.GET("/v1/users/{userId}", { params: { path: { userId } } });
        const found = whole(data?.user);
        const same = (found.email ?? "").toLowerCase() === (user.email ?? "").toLowerCase()
          && (found.externalId ?? "") === (user.externalId ?? "");
        if (!same) throw error;
        return found;
      }
    },

    async award(reward: Schemas["NewReward"]) {
      const { data } = await api.POST("/v1/rewards", { body: reward });
      return whole(data, data?.reward);
    },

    async awardAll(rewards: Schemas["NewReward"][]) {
      const { data } = await api.POST("/v1/rewards/batches", { body: { rewards } });
      return whole(data?.results, data?.results?.length === rewards.length || undefined);
    },

    async awaitReward(rewardId: string, signal?: AbortSignal): Promise<Reward> {
      for (let wait = 100; ; wait = Math.min(2 * wait, 10_000)) {
        const [body] = await raw(`/v1/rewards/${encodeURIComponent(rewardId)}`, {}, signal);
        const reward = whole((body as { reward?: Reward }).reward);
        if (reward.status === "executed" || reward.status === "failed") return reward;
        await pause(wait, signal ?? new AbortController().signal);
      }
    },

    async portfolio(userId: string): Promise<Portfolio> {
      const { data } = await api.GET("/v1/users/{userId}/portfolio", { params: { path: { userId } } });
      return whole(data, data?.holdings);
    },

    async* events(after = 0, types: string[] = [], signal?: AbortSignal): AsyncGenerator<RewardsEvent> {
      for (let last = after; ;) {
        const [body, received] = await raw("/v1/events", { after: last, types: types.join(",") || undefined, wait: longestWait, limit: 200 }, signal);
        const { events } = body as { events?: RewardsEvent[] };
        const next = nextOf(received); // it passes over other types
        for (const event of whole(events, Array.isArray(events) || undefined, next)) {
          last = event.sequence;
          yield event;
        }
        last = Math.max(last, Number(new URL(next ?? "", base).searchParams.get("after")));
      }
    },
  });
}
