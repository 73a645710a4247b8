// The parsers that are fuzzed: all of our own that read what clients, payers and peers send.
import { byteTargets } from './byte-targets.ts'
import type { Target } from './fuzz.ts'
import { multipart } from './multipart.ts'
import { textTargets } from './text-targets.ts'

/** By name, as `--target` takes it. */
export const targets: readonly Target[] = [...byteTargets, multipart, ...textTargets]
