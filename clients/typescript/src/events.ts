import type { components } from "./generated/api.js";

/** A part of an award that was taken back. */
export type Reversal = components["schemas"]["Reversal"];

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
