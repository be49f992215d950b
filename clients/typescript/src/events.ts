import type { Decimal } from "./decimal.js";
import type { components } from "./generated/api.js";

/** A part of an award that was taken back. */
export interface Reversal {
  id: string;
  appId: string;
  rewardId: string;
  userId: string;
  idempotencyKey: string;
  amountUsd: Decimal;
  quantity: Decimal;
  reason: string | null;
  status: "pending" | "completed";
  createdAt: string;
  completedAt: string | null;
}

/** The object that an event is about. */
export interface EventData {
  reward?: components["schemas"]["Reward"];
  reversal?: Reversal;
  corporateAction?: components["schemas"]["CorporateAction"];
}

/** Something that happened to the app's awards or stocks. */
export interface RewardsEvent {
  id: string;
  type: string;
  sequence: number;
  createdAt: string;
  data: EventData;
}
