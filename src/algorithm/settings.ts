import { z } from 'zod';

/** Settings that several methods have, with the default of each. */

export const share = (value: number) => z.number().min(0).lt(1).default(value);
export const positive = (value: number) => z.number().gt(0).default(value);
export const every = (value: number, what: string) =>
  z.int().min(1).default(value).describe(`steps between two ${what}`);

export const momentum = (value = 0.9) => share(value).describe('share of the momentum that is kept from step to step');
export const weightDecay = z.number().min(0).default(0).describe('added to the gradient: this × parameters');
export const consensusStep = (value: number) =>
  z.number().gt(0).max(1).default(value).describe('how far a replica moves towards its neighbours');
export const small = (value: number) => positive(value).describe('keeps the division from growing without bound');
