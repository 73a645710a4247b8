// Tests which alerts follow from an hour of metrics, and what is kept of it.
import { describe, expect, it } from 'vitest'
import { parseExposition } from './exposition.ts'
import { createHistory, type PartSample } from './history.ts'

const minuteMs = 60_000
const unconfirmed = 'payweave_outbox_oldest_unconfirmed_seconds'

/** A history into which each call puts the next minute. */
function minutes() {
  const history = createHistory()
  let timeMs = 1_767_323_045_000
  const add = (...samples: [metric: string, value: number, part?: string, labels?: object][]) => {
    timeMs += minuteMs
    const rows = samples.map(
      ([metric, value, part = 'payments', labels = {}]): PartSample => ({
        part,
        metric,
        labels: { ...labels },
        value,
      }),
    )
    history.add({ timeMs, samples: rows })
    return history
      .alerts()
      .map(({ alert, group, isFiring }) => `${alert} ${group} ${isFiring ? 'fires' : 'pends'}`)
  }
  return { history, add, nowS: () => timeMs / 1_000 }
}

describe('alerts', () => {
  it('an alert fires once its condition has held for its time, of the part where it holds', () => {
    const { add } = minutes()
    expect(add([unconfirmed, 120], [unconfirmed, 121, 'accounts'])).toEqual([
      'PayweaveEventsNotConfirmed accounts pends',
    ])
    for (let minute = 1; minute < 5; minute += 1) {
      expect(add([unconfirmed, 500, 'accounts'])[0]).toMatch(/pends$/)
    }
    expect(add([unconfirmed, 500, 'accounts'])).toEqual([
      'PayweaveEventsNotConfirmed accounts fires',
    ])
    expect(add([unconfirmed, 0, 'accounts'])).toEqual([])
    expect(add([unconfirmed, 500, 'accounts'])[0]).toMatch(/pends$/)
  })

  it('an alert starts anew when its metric could not be read', () => {
    const { add } = minutes()
    add(['payweave_jetstream_up', 0])
    add()
    add(['payweave_jetstream_up', 0])
    expect(add(['payweave_jetstream_up', 0])).toEqual(['PayweaveJetStreamDown payments pends'])
    expect(add(['payweave_jetstream_up', 0])).toEqual(['PayweaveJetStreamDown payments fires'])
  })

  it('an alert on a part takes the best replica for a lower limit and the worst for an upper one', () => {
    const { add } = minutes()
    expect(add(['payweave_jetstream_up', 0], ['payweave_jetstream_up', 1])).toEqual([])
    expect(add(['payweave_ledger_findings', 0], ['payweave_ledger_findings', 2])).toEqual([
      'PayweaveLedgerBroken payments fires',
    ])
  })

  it('an alert on a counter looks at its growth of an hour, through a restart', () => {
    const { add } = minutes()
    const failed = 'payweave_payments_refunds_failed_total'
    expect(add([failed, 7])).toEqual([])
    expect(add([failed, 0])).toEqual([])
    expect(add([failed, 1])).toEqual(['PayweaveRefundsFail payments fires'])
    for (let minute = 0; minute < 58; minute += 1) expect(add([failed, 1])).toHaveLength(1)
    for (let minute = 0; minute < 2; minute += 1) add([failed, 1])
    expect(add([failed, 1])).toEqual([])
  })

  it('an alert on a counter looks at the growth of all replicas together', () => {
    const { add } = minutes()
    const givenUp = (value: number): [string, number, string, object] => [
      'payweave_delivery_ended_total',
      value,
      'delivery',
      { state: 'exhausted' },
    ]
    add(givenUp(7), givenUp(0))
    expect(add(givenUp(57), givenUp(50))).toEqual([])
    expect(add(givenUp(57), givenUp(51))).toEqual(['PayweavePushesGivenUp delivery fires'])
  })

  it('an alert on a counter forgets what grew before its own span', () => {
    const { add } = minutes()
    const blocked = (value: number): [string, number, string, object] => [
      'payweave_delivery_egress_blocks_total',
      value,
      'delivery',
      { cause: 'private' },
    ]
    add(blocked(0))
    expect(add(blocked(51))).toEqual(['PayweavePushesBlocked delivery private fires'])
    for (let minute = 0; minute < 14; minute += 1) expect(add(blocked(51))).toHaveLength(1)
    expect(add(blocked(51))).toEqual([])
    const retried = 'payweave_inbox_retried_total'
    for (let minute = 0; minute < 10; minute += 1) add([retried, minute * 6])
    expect(add([retried, 60])).toEqual([])
    expect(add([retried, 67])).toEqual(['PayweaveIntakeRepeats payments pends'])
  })

  it('an alert on a gauge looks at its fall from the highest value', () => {
    const { add } = minutes()
    const rounding = (value: number): [string, number, string, object] => [
      'payweave_ledger_fx_rounding_minor_units',
      value,
      'accounts',
      { currency: 'USD' },
    ]
    expect(add(rounding(40))).toEqual([])
    expect(add(rounding(90))).toEqual([])
    expect(add(rounding(89))).toEqual(['PayweaveFxRoundingFalls accounts USD fires'])
    expect(add(rounding(90))).toEqual([])
  })

  it('an alert on a share compares what grew in five minutes, from its first failure on', () => {
    const { add } = minutes()
    const requests = (status: string, value: number): [string, number, string, object] => [
      'payweave_http_requests_total',
      value,
      'gateway',
      { status },
    ]
    add(requests('200', 1_000))
    expect(add(requests('200', 1_990), requests('503', 10))).toEqual([])
    expect(add(requests('200', 1_990), requests('503', 11))).toEqual([
      'PayweaveRequestsFail gateway pends',
    ])
    for (let minute = 0; minute < 4; minute += 1) {
      add(requests('200', 1_990), requests('503', 11))
    }
    expect(add(requests('200', 1_990), requests('503', 11))).toEqual([])
  })

  it('an alert on a quantile looks at how many were below its bound', () => {
    const { add } = minutes()
    const posts = (of: 'bucket' | 'count', value: number): [string, number, string, object] => [
      `payweave_delivery_first_post_seconds_${of}`,
      value,
      'delivery',
      of === 'bucket' ? { le: '5' } : {},
    ]
    add(posts('bucket', 100), posts('count', 100))
    expect(add(posts('bucket', 195), posts('count', 200))).toEqual([])
    expect(add(posts('bucket', 289), posts('count', 300))).toEqual([
      'PayweavePushesLate delivery pends',
    ])
  })

  it('an alert on keys counts the different ones of all replicas', () => {
    const { add, nowS } = minutes()
    const key = (key_id: string, value: number): [string, number, string, object] => [
      'payweave_key_made_time_seconds',
      value,
      'payments',
      { file: 'seal.key', state: 'current', key_id },
    ]
    expect(add(key('a', nowS()), key('a', nowS()))).toEqual([])
    expect(add(key('a', nowS()), key('b', nowS()))).toEqual([
      'PayweaveKeysDiffer payments seal.key pends',
    ])
  })

  it('an alert on a time looks at its age, apart by the labels of its rule', () => {
    const { add, nowS } = minutes()
    const key = (file: string, ageDays: number): [string, number, string, object] => [
      'payweave_key_made_time_seconds',
      nowS() - ageDays * 86_400,
      'payments',
      { file, state: 'current' },
    ]
    expect(add(key('link.key', 400), key('seal.key', 10))).toEqual([
      'PayweaveKeyOld payments link.key pends',
    ])
  })
})

it('an hour is kept of each backlog, and a gap where nobody answered', () => {
  const { history, add } = minutes()
  for (let minute = 0; minute < 70; minute += 1) {
    if (minute === 68) add()
    else add(['payweave_payments_tasks_open', minute], ['payweave_payments_tasks_open', 1])
  }
  const trend = history.trends().find(({ metric }) => metric === 'payweave_payments_tasks_open')
  expect(trend?.values).toHaveLength(60)
  expect(trend?.values.slice(-3)).toEqual([67, undefined, 69])
})

it('the exposition parser reads metrics with their labels, and skips invalid lines', () => {
  const text = [
    '# HELP up Whether it is up.',
    'up 1',
    'other 2',
    String.raw`waiting{for="a \"b\"",part="x,y"} 1.5e3`,
    'waiting{for="ledger"} NaN',
    'waiting',
    '',
  ].join('\n')
  expect(parseExposition(text, new Set(['up', 'waiting']))).toEqual([
    { metric: 'up', labels: {}, value: 1 },
    { metric: 'waiting', labels: { for: String.raw`a \"b\"`, part: 'x,y' }, value: 1_500 },
  ])
})
