// Proves that a scrape shows the same for our histogram as for the library's own.
import { Histogram, Registry } from 'prom-client'
import { expect, it } from 'vitest'
import { cheapHistogram } from './histogram.ts'

it('shows what the library would show', async () => {
  const described = { name: 'answer_seconds', help: 'Time.', buckets: [0.1, 1, 10] }
  const labelNames = ['method', 'code'] as const
  const registries = [new Registry(), new Registry()] as const
  for (const registry of registries) registry.setDefaultLabels({ part: 'payments' })
  const cheap = cheapHistogram({ ...described, labelNames, registry: registries[0] })
  const own = new Histogram({ ...described, labelNames, registers: [registries[1]] })
  for (const labels of [
    { method: 'a', code: 'ok' },
    { method: 'a', code: 'aborted' },
  ]) {
    const series = cheap.series(labels)
    for (const value of [0, 0.1, 0.1001, 1, 5, 10, 10.5, 1_000]) {
      series.observe(value)
      own.observe(labels, value)
    }
  }
  const [shown, expected] = await Promise.all(registries.map((registry) => registry.metrics()))
  expect(shown?.split('\n').toSorted()).toEqual(expected?.split('\n').toSorted())
  expect(shown).toContain('answer_seconds_bucket{le="0.1"')
})
