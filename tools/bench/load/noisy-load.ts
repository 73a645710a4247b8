// A process in which a tenant asks for more than its rate limit allows: from its first message until its second one.
import { once } from 'node:events'
import type { Target } from './requests.ts'
import { type Pace, startSteadyLoad } from './steady-load.ts'

/** What the tenant asks for. */
export type NoisyJob = { target: Target; pace: Pace }

/** Requests that were accepted, and those that were refused. */
export type NoisyResult = { accepted: number; refused: number }

const [{ target, pace }] = (await once(process, 'message')) as [NoisyJob]
const load = await startSteadyLoad(target, pace)
await once(process, 'message')
await load.stop()
const { created, read, refusals } = load.counts
const result: NoisyResult = { accepted: created + read, refused: refusals.length }
process.send?.(result)
process.disconnect()
