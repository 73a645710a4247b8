// Shows that the text of metrics is parsed correctly.
import { expect, it } from 'vitest'
import { maxOf, readSamples, sumOf } from './metric-text.ts'

const samples = readSamples(`# HELP a what it is
# TYPE a gauge
a{state="one",part="x\\"y"} 2
a{state="two"} 3.5

b 1e-3
no sample here
`)

it('samples have names, labels and values', () => {
  expect(samples).toEqual([
    { name: 'a', labels: { state: 'one', part: 'x"y' }, value: 2 },
    { name: 'a', labels: { state: 'two' }, value: 3.5 },
    { name: 'b', labels: {}, value: 0.001 },
  ])
})

it('values are summed over labels, and an unknown metric is undefined', () => {
  expect(sumOf(samples, 'a')).toBe(5.5)
  expect(sumOf(samples, 'a', { state: 'two' })).toBe(3.5)
  expect(maxOf(samples, 'a')).toBe(3.5)
  expect(sumOf(samples, 'c')).toBeUndefined()
})
