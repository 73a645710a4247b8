// Tests which connector a charge or a payout goes to.
import { assert, constant, constantFrom, property, record, uniqueArray } from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { PaymentChannel, PaymentMethod } from '#core/payment/words.ts'
import {
  checkRoute,
  nextConnector,
  type Route,
  type RouteKey,
  routingOf,
  sortRoutes,
} from './routing.ts'

const project = '01a1fc1d-3c7c-7a55-beb8-41051e057d99'
const known = ['simulator', 'connector-a', 'connector-b']
const any: RouteKey = { kind: 'charge', projectId: '', currency: '', channel: '', method: '' }
const charge: RouteKey = {
  kind: 'charge',
  projectId: project,
  currency: 'USD',
  channel: 'payment_link',
  method: 'wallet',
}

function route(key: Partial<RouteKey>, connector: string, fallback?: string): Route {
  return { ...any, ...key, connector, fallback }
}

function choose(routes: Route[], subject = charge): string {
  return routingOf(routes, 'simulator').choose(subject).connector
}

describe('the choice of a connector', () => {
  it('without a route that fits, the default connector is chosen', () => {
    expect(choose([])).toBe('simulator')
    const others = [
      route({ projectId: 'another' }, 'connector-a'),
      route({ currency: 'EUR' }, 'connector-a'),
      route({ channel: 'agent' }, 'connector-a'),
      route({ method: 'card' }, 'connector-a'),
      route({ kind: 'payout' }, 'connector-a'),
    ]
    expect(choose(others)).toBe('simulator')
  })

  it.each<[string, Partial<RouteKey>, Partial<RouteKey>]>([
    ['any charge', { currency: 'USD' }, {}],
    ['the method', { channel: 'payment_link' }, { method: 'wallet' }],
    ['channel and method', { currency: 'USD' }, { channel: 'payment_link', method: 'wallet' }],
    [
      'currency, channel and method',
      { projectId: project },
      { currency: 'USD', channel: 'payment_link', method: 'wallet' },
    ],
    ['the project alone', { projectId: project, method: 'wallet' }, { projectId: project }],
  ])('a more specific route counts before one of %s', (_, specific, general) => {
    const routes = [route(general, 'connector-a'), route(specific, 'connector-b')]
    expect(choose(routes)).toBe('connector-b')
    expect(choose(routes.toReversed())).toBe('connector-b')
  })

  it('a payout has routes of its own', () => {
    const payout: RouteKey = { ...any, kind: 'payout', projectId: project, currency: 'USD' }
    const routes = [
      route({}, 'connector-a'),
      route({ kind: 'payout', currency: 'USD' }, 'connector-b'),
    ]
    expect(choose(routes)).toBe('connector-a')
    expect(choose(routes, payout)).toBe('connector-b')
  })

  it('the first of the listed routes that fits is the one that counts, in any order', () => {
    const word = <T extends string>(...words: T[]) => constantFrom<T | ''>('', ...words)
    const key = record({
      kind: constant('charge' as const),
      projectId: word(project, 'p2'),
      currency: word('USD', 'EUR'),
      channel: word<PaymentChannel>('agent', 'payment_link'),
      method: word<PaymentMethod>('wallet', 'card'),
    })
    const keys = uniqueArray(key, { selector: (one) => JSON.stringify(one), maxLength: 8 })
    assert(
      property(keys, (some) => {
        const routes = some.map((one, index) => route(one, `connector-${index}`))
        const fits = (one: Route) =>
          (['projectId', 'currency', 'channel', 'method'] as const).every(
            (part) => one[part] === '' || one[part] === charge[part],
          )
        const first = sortRoutes(routes).find(fits)?.connector ?? 'simulator'
        expect(choose(routes)).toBe(first)
        expect(choose(routes.toReversed())).toBe(first)
      }),
    )
  })
})

describe('the fallback', () => {
  const next = (routes: Route[], tried: string, names = known) =>
    nextConnector(routingOf(routes, 'simulator'), charge, tried, names)

  it('a call that reached no connector goes to the fallback, and from there back', () => {
    const routes = [route({}, 'connector-a', 'connector-b')]
    expect(next(routes, 'connector-a')).toBe('connector-b')
    expect(next(routes, 'connector-b')).toBe('connector-a')
  })

  it('after a change of routes it goes to the connector of the new route', () => {
    expect(next([route({}, 'connector-b')], 'connector-a')).toBe('connector-b')
    expect(next([], 'connector-a')).toBe('simulator')
  })

  it('without a fallback, or with one that this process does not know, it stays', () => {
    expect(next([route({}, 'connector-a')], 'connector-a')).toBeUndefined()
    const routes = [route({}, 'connector-a', 'connector-b')]
    expect(next(routes, 'connector-a', ['simulator', 'connector-a'])).toBeUndefined()
  })
})

it.each<[string, Route, string]>([
  ['an unknown connector', route({}, 'connector-x'), 'connector must'],
  ['an unknown fallback', route({}, 'connector-a', 'connector-x'), 'fallback_connector must'],
  ['itself as fallback', route({}, 'connector-a', 'connector-a'), 'another connector'],
  ['a currency that does not exist', route({ currency: 'USX' }, 'connector-a'), 'key.currency'],
  ['a project that is no UUID', route({ projectId: 'demo' }, 'connector-a'), 'key.project_id'],
  [
    'a method that the channel does not offer',
    route({ channel: 'agent', method: 'wallet' }, 'connector-a'),
    'key.method',
  ],
  [
    'a channel for payouts',
    route({ kind: 'payout', channel: 'agent' }, 'connector-a'),
    'key.channel',
  ],
  ['a method for payouts', route({ kind: 'payout', method: 'cash' }, 'connector-a'), 'key.method'],
])('a route with %s is refused', (_, refused, said) => {
  expect(() => checkRoute(refused, known)).toThrow(said)
})

it('a route of known connectors is taken, with and without a fallback', () => {
  const taken = [
    route({ projectId: project, currency: 'USD' }, 'connector-a', 'connector-b'),
    route({ kind: 'payout' }, 'simulator'),
  ]
  for (const one of taken) expect(() => checkRoute(one, known)).not.toThrow()
})
