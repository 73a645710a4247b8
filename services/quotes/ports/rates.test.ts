// Tests how long the source of rates is waited for.
import { expect, it } from 'vitest'
import { createLogger } from '#platform/telemetry/log.ts'
import { rateFinder } from './rates.ts'

const log = createLogger({ part: 'test', level: 'silent' })

it('a quote waits longer for the first rate of a pair than for one where the last can be used', async () => {
  let nowMs = Date.now()
  const waits: number[] = []
  const findRate = rateFinder({
    source: async (_base, _quoted, withinMs) => {
      waits.push(withinMs)
      if (waits.length !== 2) throw new Error('silent')
      return { text: '6.7829', sourceTime: new Date(nowMs) }
    },
    maxAgeS: 900,
    log,
    onAsked: () => undefined,
    now: () => new Date(nowMs),
  })
  await expect(findRate('USD', 'TTD')).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  const rate = await findRate('USD', 'TTD')
  nowMs += 10_000
  expect(await findRate('USD', 'TTD')).toEqual(rate)
  expect(waits).toEqual([3_500, 3_500, 1_500])
})
