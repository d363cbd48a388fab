import type { Pair } from '../../tensor/program.ts';
import type { Graph, Name } from '../graph.ts';

/** Every element of an image as many times as the window is large. */
export function repeated(graph: Graph, x: Name, [height, width]: Pair): Name {
  const scales = graph.constant('float32', [4], Float32Array.of(1, 1, height, width));
  const nearest = { mode: 'nearest', nearest_mode: 'floor', coordinate_transformation_mode: 'asymmetric' };
  return graph.op('Resize', [x, '', scales], nearest);
}
