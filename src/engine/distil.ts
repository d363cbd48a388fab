import { Random } from '../base/random.ts';
import type { Model } from '../model/context.ts';
import { allocate, distilStep, stepBuffers, teacherStep } from '../model/step.ts';
import type { Backend } from '../tensor/backend.ts';

/** A batch, and the state of the model that sees it. */
export interface Lesson {
  readonly x: Float32Array | Int32Array;
  readonly labels: Int32Array;
  readonly state: Float32Array | undefined;
}

/** Programs with which a model learns what another one answers, one pair for each size of batch. */
export async function openDistiller(
  backend: Backend,
  model: Model,
  sizes: readonly number[],
  { temperature, seed }: { readonly temperature: number; readonly seed: number },
) {
  const openSize = async (size: number) => {
    const [asking, learning] = [teacherStep(model, size, temperature), distilStep(model, size, temperature)];
    const [teacher, student] = [allocate(asking), allocate(learning)];
    const [ask, learn] = await Promise.all([asking, learning].map(({ program }) => backend.compile(program)));
    const [runTeacher, runStudent] = [
      ask!.bind(stepBuffers(asking, teacher)),
      learn!.bind(stepBuffers(learning, student)),
    ];
    const fill = (memory: typeof teacher, { x, labels, state }: Lesson, params: Float32Array) => {
      (memory.x as Float32Array).set(x);
      memory.labels.set(labels);
      memory.params!.set(params);
      if (state !== undefined) memory.state?.set(state);
    };
    return {
      async gradient(lesson: Lesson, params: Float32Array, known: Float32Array, key: readonly [number, number]) {
        fill(teacher, lesson, known);
        await runTeacher();
        fill(student, lesson, params);
        (student.key as Int32Array).set(key);
        const classes = teacher.probabilities!.length / lesson.labels.length;
        student.target!.set(teacher.probabilities!.map((p) => -p));
        for (const [sample, label] of lesson.labels.entries()) student.target![sample * classes + label]! += 1;
        await runStudent();
        return student.gradient!;
      },
      close: () => Promise.all([ask!.close(), learn!.close()]),
    };
  };
  const opened = new Map(await Promise.all(sizes.map(async (size) => [size, await openSize(size)] as const)));
  return {
    /** The gradient of the divergence of `params` from what `known` answers; good until the next one. */
    gradient(
      size: number,
      replica: number,
      step: number,
      lesson: Lesson,
      params: Float32Array,
      known: Float32Array,
    ): Promise<Float32Array> {
      const random = new Random(seed, 'dropout', replica, step);
      return opened.get(size)!.gradient(lesson, params, known, [random.uint32(), random.uint32()]);
    },
    close: () => Promise.all([...opened.values()].map((each) => each.close())),
  };
}
