import type { Node, OpKind } from '../../tensor/program.ts';
import type { Scope } from '../scope.ts';

/** How an op becomes calls: reads its inputs from the scope and defines its outputs there. */
export type Rule<K extends OpKind> = (scope: Scope, node: Node<K>) => void;

/** The rules of some ops; lowering.ts joins them into the table over all. */
export type Rules<K extends OpKind> = { readonly [Kind in K]: Rule<Kind> };
