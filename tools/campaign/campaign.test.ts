// Tests what a campaign computes without a system: the schedule of a seed, and the times of recovery.
import { globSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { expect, it } from 'vitest'
import { withDefect } from '../../test/defects/plant.ts'
import { expectDocumented } from '../../test/support/openapi.ts'
import { documentedFields } from '../../test/system/hostile/documented.ts'
import { runCampaign } from './campaign.ts'
import { checkAnswers } from './check/answers.ts'
import { readBack } from './check/api.ts'
import { checkEffects, checkPushes, undisturbedMs, unfinishedOf } from './check/pushes.ts'
import { checkRecovery, recoveriesOf } from './check/recovery.ts'
import { controls } from './controls/table.ts'
import { kindsFor } from './deployment.ts'
import { faults, faultsNamed } from './faults/table.ts'
import { type Api, GaveUp } from './load/api.ts'
import type { Operation, Push, Records } from './load/records.ts'
import { readOptions } from './options.ts'
import { stepsOf } from './schedule.ts'
import { slackOf } from './slack.ts'
import { judgeRetention, type Retained } from './soak/retention.ts'
import type { Sample } from './soak/samples.ts'
import { judge } from './soak/verdict.ts'
import type { System } from './system/system.ts'

function titles(seed: number, count: number): string[] {
  const found: string[] = []
  for (const step of stepsOf(faults, seed)) {
    found.push(step.faults.map(({ title }) => title).join(' + '))
    if (found.length === count) break
  }
  return found
}

it('a seed repeats the schedule, and another seed has another one', () => {
  expect(titles(7, 60)).toEqual(titles(7, 60))
  expect(titles(8, 60)).not.toEqual(titles(7, 60))
})

it('a schedule comes to each fault of the table, alone and with others', () => {
  const names = new Set<string>()
  const counts = new Set<number>()
  const besideLost: number[] = []
  for (const { number, faults: drawn } of stepsOf(faults, 1)) {
    for (const { name } of drawn) names.add(name)
    counts.add(drawn.length)
    if (drawn.some(({ name }) => name === 'machine-lost')) besideLost.push(drawn.length)
    if (number === 200) break
  }
  expect([...names].toSorted()).toEqual(faults.map(({ name }) => name).toSorted())
  expect([...counts]).toEqual(expect.arrayContaining([1, 2, 4, 8]))
  expect(new Set(besideLost)).toEqual(new Set([1]))
})

it('the faults of one step never hold the same link, clock, process or receiver', () => {
  const rows = faultsNamed(['clock', 'receiver', 'link', 'freeze', 'nats-behind', 'disk'])
  for (const { number, faults: drawn } of stepsOf(rows, 5)) {
    const held = drawn.flatMap(({ holds = [] }) => holds)
    expect(held).toHaveLength(drawn.length)
    expect(new Set(held).size).toBe(held.length)
    if (number === 300) break
  }
})

it('faults are chosen by name or by group, and other names are refused', () => {
  expect(faultsNamed(['nats']).map(({ name }) => name)).toEqual([
    'nats-kill',
    'nats-freeze',
    'nats-wiped',
    'nats-behind',
    'nats-disk-full',
  ])
  expect(faultsNamed([])).toHaveLength(faults.length)
  expect(() => faultsNamed(['nothing'])).toThrow(/no fault is named nothing/)
  expect(() => readOptions(['--minutes', 'x'])).toThrow(/--minutes wants a number above 0/)
})

it('an empty answer is documented for no route', () => {
  const exchange = { method: 'GET', path: '/payments/status', headers: new Headers() }
  expect(() => expectDocumented({ ...exchange, status: 400, text: '' })).toThrow(/is empty/)
  expect(() => expectDocumented({ ...exchange, status: 299, text: '' })).toThrow(/no such answer/)
})

it('the load calls or reads back every documented operation of the API', () => {
  const files = globSync('{load,check}/*.ts', { cwd: import.meta.dirname })
  const sources = files.map((file) => readFileSync(path.join(import.meta.dirname, file), 'utf8'))
  const isCalled = (route: string): boolean => {
    const [method, place] = route.split(' ')
    return sources.some(
      (text) => text.includes(`method: '${method}',`) && text.includes(`path: '${place}'`),
    )
  }
  expect([...documentedFields().keys()].filter((route) => !isCalled(route))).toEqual([])
})

it('the table of controls has at least 20 defects, each once, each with its place in the source', () => {
  expect(new Set(controls.map(({ defect }) => defect.name)).size).toBe(controls.length)
  expect(controls.length).toBeGreaterThanOrEqual(20)
  for (const { defect } of controls) {
    const text = readFileSync(path.join(import.meta.dirname, '../..', defect.file), 'utf8')
    expect(withDefect(text, defect)).not.toBe(text)
  }
})

const began = 1_000_000
const window = { beganMs: began, overMs: began + 5_000, limitS: 10 }

function operation(more: Partial<Operation>): Operation {
  return { kind: 'paid', id: 'order', begunMs: began, tries: [], ...more }
}

function failed(sentMs: number, status = 503) {
  return { route: 'GET /x', sentMs, endMs: sentMs + 100, status }
}

it('a request may fail during a fault and its recovery, and at no other time', () => {
  const rules = (...tries: Operation['tries']) =>
    checkAnswers({ operations: [operation({ tries })], pushes: [] }, [window]).map(
      ({ rule }) => rule,
    )
  expect(rules(failed(began + 1_000), failed(began + 14_900))).toEqual([])
  expect(rules(failed(began - 200))).toEqual(['requests that failed while no fault was near'])
  expect(rules(failed(began + 15_001))).toEqual(['requests that failed while no fault was near'])
  expect(rules(failed(began + 1_000, 500))).toEqual([
    'answers with 500 or another status that means a defect',
  ])
  const unnoticed = { ...window, limitS: 0 }
  const records = { operations: [operation({ tries: [failed(began + 1_000)] })], pushes: [] }
  expect(checkAnswers(records, [unnoticed])).toHaveLength(1)
})

it('a route has recovered with its first good answer after its last failure, in its limit or not', () => {
  const tries = [failed(began + 8_000), failed(began + 9_000, 200), failed(began + 7_000, 200)]
  const beside = failed(began + 30_000, 200)
  const records = {
    operations: [operation({ tries }), operation({ tries: [{ ...beside, route: 'GET /y' }] })],
    pushes: [],
  }
  const recoveries = recoveriesOf(records, window, began + 60_000)
  expect(recoveries).toEqual([{ route: 'GET /x', tookS: 4.1 }])
  const step = { number: 3, recoveries }
  expect(checkRecovery([{ ...step, limitS: 5 }])).toEqual([])
  expect(checkRecovery([{ ...step, limitS: 4 }])[0]?.examples).toEqual([
    'step 3: GET /x after 4.1 s, limit 4.0 s',
  ])
  // Without a good answer it had not recovered when the next step began.
  tries.splice(1, 1)
  expect(recoveriesOf(records, window, began + 60_000)).toEqual([{ route: 'GET /x', tookS: 55 }])
})

it('limits grow by as much as this process waited for a processor in their time', () => {
  const looks = [
    { atMs: 0, ranNs: 0, waitedNs: 0 },
    { atMs: 10, ranNs: 100, waitedNs: 0 },
    { atMs: 20, ranNs: 200, waitedNs: 300 },
    { atMs: 30, ranNs: 300, waitedNs: 900 },
  ]
  expect(slackOf(looks, 0, 10)).toBe(1)
  expect(slackOf(looks, 10, 20)).toBe(4)
  expect(slackOf(looks, 12, 99)).toBe(5.5)
  expect(slackOf([], 0, 10)).toBe(1)
})

it('an operation is measured from the last fault before its last push', () => {
  const later = { beganMs: began + 10_000, overMs: began + 20_000, limitS: 10 }
  const at = (begunMs: number, endMs: number) => undisturbedMs(begunMs, endMs, [later, window])
  expect(at(began - 1_000, began + 40_000)).toBe(20_000)
  expect(at(began + 30_000, began + 40_000)).toBe(10_000)
  expect(at(began - 1_000, began + 9_000)).toBe(4_000)
  expect(at(began - 1_000, began + 11_000)).toBe(0)
})

const outcome = {
  state: 'paid',
  payers: ['paid'],
  pushes: ['callback 1 paid', 'payment_initiated'],
  money: {},
}

function push(more: Partial<Push>): Push {
  const what = 'payment_initiated'
  return {
    deliveryId: what,
    subject: 'order',
    what,
    digest: 'a',
    receivedMs: began,
    accepted: true,
    ...more,
  }
}

it('a push that is missing, doubled, changed or unasked is found; a repeated one is not', () => {
  const body = { transaction_request: { id: 'order' } }
  const callback = push({ deliveryId: 'c', what: 'callback 1 paid', receivedMs: began + 200_000 })
  const records = (...pushes: Push[]): Records => ({
    operations: [operation({ payment: { body, answer: {}, outcomes: [outcome] } })],
    pushes,
  })
  const rules = (...pushes: Push[]) => checkPushes(records(...pushes)).map(({ rule }) => rule)
  const wrong = 'payments and accounts without exactly their pushes'
  expect(rules(push({}), push({}), callback)).toEqual([])
  expect(rules(push({}))).toEqual([wrong])
  const refused = { ...callback, accepted: false }
  expect(rules(push({}), refused, callback)).toEqual([])
  expect(rules(push({}), refused)).toEqual([wrong, 'deliveries that came and were never accepted'])
  expect(rules(push({}), push({ deliveryId: 'other' }), callback)).toEqual([wrong])
  expect(rules(push({}), push({ digest: 'b' }), callback)).toEqual([
    'deliveries whose bytes changed',
  ])
  expect(rules(push({}), callback, push({ deliveryId: 'x', subject: 'unknown' }))).toEqual([
    'pushes of nothing that was asked for',
  ])
  expect(checkEffects(records(push({}), callback), [window], 200)).toEqual([])
  expect(checkEffects(records(push({}), callback), [window], 190)).toHaveLength(1)
  expect(checkEffects(records(push({}), callback), [window], 190, () => 2)).toEqual([])
  expect(unfinishedOf(records(push({})), began)).toHaveLength(1)
  expect(unfinishedOf(records(push({}), callback), began)).toHaveLength(1)
  const answered = records(push({}), callback)
  for (const one of answered.operations) one.doneMs = began
  expect(unfinishedOf(answered, began)).toEqual([])
})

/** A client of a system that stays down. */
const down = {
  giveUpAt: () => undefined,
  accepted: async () => {
    throw new GaveUp('GET /x: 503')
  },
} as unknown as Api

it('a campaign on a system that stays down has an outcome with the failure as a finding', async () => {
  const system = { api: down, receivers: { pushes: [] } } as unknown as System
  const plan = { seed: 1, minutes: 1, ratePerS: 1, rows: faults }
  const { findings, steps } = await runCampaign(system, plan, () => undefined)
  expect(steps).toEqual([])
  const examples = ['the balances at the begin: GET /x: 503']
  const rule = 'parts of the campaign that could not be carried out'
  expect(findings).toEqual([{ rule, count: 1, examples }])
})

it('reading back a system that stays down ends with the first operations', async () => {
  const operations = Array.from({ length: 100 }, () => {
    const payment = { body: {}, answer: {}, outcomes: [outcome] }
    return operation({ payment })
  })
  const [finding] = await readBack({ api: down }, { operations, pushes: [] })
  expect(finding?.count).toBeGreaterThan(0)
  expect(finding?.count).toBeLessThan(20)
})

it('a deployment gets the operations that its keys allow', () => {
  const projects = { demo: { subscription_key: 'a', api_key: 'b', account_access: true } }
  expect(kindsFor({ projects })).toContain('bill')
  for (const kind of ['transfer', 'race', 'by card', 'by cash', 'expired', 'consent'] as const)
    expect(kindsFor({ projects })).not.toContain(kind)
  expect(kindsFor({ projects, simulator_url: 'http://x' }, ['by card', 'expired'])).toEqual([
    'by card',
  ])
  expect(() => readOptions(['--url', 'https://x'])).toThrow(/--url wants --keys/)
})

function samples(of: (index: number) => Partial<Sample>): Sample[] {
  return Array.from({ length: 40 }, (_, index) => ({
    atS: index,
    operations: index * 100,
    liveMb: { gateway: 30 },
    rssMb: { gateway: 100 },
    p50Ms: 10,
    p99Ms: 50,
    failed: 0,
    requests: 100,
    waiting: 5,
    databaseMb: 100 + index,
    tablesMb: {},
    ...of(index),
  }))
}

it('a soak fails when memory, latency, waiting work or the data of an operation grow', () => {
  const examples = (of: (index: number) => Partial<Sample>) =>
    judge(samples(of)).flatMap((finding) => finding.examples)
  expect(examples(() => ({}))).toEqual([])
  expect(examples((index) => ({ rssMb: { gateway: 100 + index } }))).toEqual([
    'resident memory of gateway, MB: 115.0, later 135.0, at most 132.3',
  ])
  expect(examples((index) => ({ liveMb: { gateway: 30 + index / 2 } }))).toEqual([
    'live heap of gateway, MB: 37.5, later 47.5, at most 43.1',
  ])
  expect(examples((index) => ({ p99Ms: 50 + index * 5 }))).toHaveLength(1)
  expect(examples((index) => ({ waiting: index * 10 }))).toHaveLength(1)
  expect(examples((index) => ({ databaseMb: 100 + index ** 2 }))).toHaveLength(1)
  expect(judge(samples(() => ({})).slice(0, 3))).toHaveLength(1)
})

it('a soak fails when old rows of a table stay, and when retention deleted none of a table', () => {
  const outbox = { table: 'payments.outbox', withinMin: 5, old: 9, gone: 9, late: 0 }
  const log = { table: 'delivery.api_request', withinMin: 65, old: 9, gone: 0, late: 0 }
  const examples = (some: Retained[], minutes: number) =>
    judgeRetention(some, minutes).flatMap((finding) => finding.examples)
  expect(examples([outbox, log], 20)).toEqual([])
  expect(examples([outbox, log], 480)).toEqual(['delivery.api_request'])
  expect(examples([{ ...outbox, gone: 0 }, log], 5)).toEqual(['all'])
  expect(examples([{ ...outbox, late: 2 }], 20)).toEqual([
    '2 of payments.outbox for more than 5 minutes',
  ])
})
