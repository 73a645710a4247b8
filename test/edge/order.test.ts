// Every route against every check: the first failing check answers, in the envelope of the route's group.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routeRows } from '../../gateway/http/app.ts'
import { call, type EdgeFixture, keys, type Seen, startEdge } from './harness.ts'
import type { GoodRequest } from './stand-ins/good-request.ts'
import {
  change,
  type Draft,
  draftOf,
  goodRequests,
  refusedAs,
  shapeOf,
  targetOf,
} from './stand-ins/good-requests.ts'

let edge: EdgeFixture
beforeAll(async () => {
  edge = await startEdge()
})
afterAll(() => edge.close())

/** A check of decisions 1.1 that a route can fail: how, and what it answers then. */
type Mutation = {
  name: string
  applies?: (good: GoodRequest) => boolean
  mutate: (draft: Draft, good: GoodRequest) => void
  code: number
  reason: string
}

const hasBody = (good: GoodRequest) => good.body !== undefined

/** In the order in which they are made; two mutations of one step may stand side by side. */
const mutations: Mutation[] = [
  {
    name: '1 the path is unknown',
    mutate: (draft) => {
      draft.path += '/'
    },
    code: 404,
    reason: 'ENDPOINT_NOT_FOUND',
  },
  {
    name: '1 the method is unknown',
    mutate: (draft) => {
      draft.method = 'PUT'
    },
    code: 405,
    reason: 'METHOD_NOT_ALLOWED',
  },
  {
    name: '2 the body is no JSON',
    applies: hasBody,
    mutate: (draft) => {
      draft.body = '{"a":'
    },
    code: 400,
    reason: 'INVALID_JSON',
  },
  {
    name: '3 a header is missing',
    mutate: (draft) => {
      delete draft.headers['PW-ip-address']
    },
    code: 400,
    reason: 'INVALID_HEADER',
  },
  {
    name: '4 the subscription key is unknown',
    mutate: (draft) => {
      draft.headers['PW-subscription-key'] = keys.unknown
    },
    code: 401,
    reason: 'PW_INVALID_SUBSCRIPTION_KEY',
  },
  {
    name: '5 the address is not on the list',
    mutate: (draft) => {
      draft.headers['PW-subscription-key'] = keys.ipRestricted
    },
    code: 403,
    reason: 'PW_IP_NOT_ALLOWED',
  },
  {
    name: '7 the project has no account access',
    applies: (good) => good.account === true,
    mutate: (draft) => {
      draft.headers['PW-subscription-key'] = keys.paymentsOnly
    },
    code: 403,
    reason: 'PW_ACCOUNT_ACCESS_REQUIRED',
  },
  {
    name: '8 a parameter is missing',
    mutate: (draft, good) => {
      delete draft.query[good.required[0] ?? 'version']
    },
    code: 400,
    reason: 'MISSING_PARAMETER',
  },
  {
    name: '8 the version is another one',
    mutate: (draft) => {
      draft.query['version'] = '2020-01-01'
    },
    code: 400,
    reason: 'VERSION_NOT_SUPPORTED',
  },
  {
    name: '9 a field is missing',
    applies: hasBody,
    mutate: (draft, good) => {
      draft.body = change(good.body, good.fields?.[0] ?? '')
    },
    code: 400,
    reason: 'MISSING_PARAMETER',
  },
  {
    name: '9 a value is bad',
    applies: hasBody,
    mutate: (draft, good) => {
      draft.body = change(good.body, good.fields?.at(-1) ?? '', 5)
    },
    code: 400,
    reason: 'INVALID_PARAMETER',
  },
  {
    name: '10 the institution is not granted',
    applies: (good) => good.grant === true,
    mutate: (draft, good) => {
      if (draft.query['institution_name'] !== undefined) {
        draft.query['institution_name'] = 'Restricted Bank'
      } else {
        const path = good.fields?.find((field) => field.endsWith('institution_name')) ?? ''
        draft.body = change(draft.body, path, 'Restricted Bank')
      }
    },
    code: 403,
    reason: 'PW_INSTITUTION_ENDPOINT_NOT_ALLOWED',
  },
  {
    name: '11 the api_key is unknown',
    applies: (good) => good.credential === 'api_key',
    mutate: (draft) => {
      if (draft.query['api_key'] !== undefined) draft.query['api_key'] = 'no-such-key'
      else draft.body = change(draft.body, 'api_key', 'no-such-key')
    },
    code: 401,
    reason: 'PW_INVALID_API_KEY',
  },
  {
    name: '11 the api_key is much longer than one',
    applies: (good) => good.credential === 'api_key',
    mutate: (draft) => {
      // A query must fit into 16 KiB with the headers.
      if (draft.query['api_key'] !== undefined) draft.query['api_key'] = 'x'.repeat(8_192)
      else draft.body = change(draft.body, 'api_key', 'x'.repeat(16_384))
    },
    code: 401,
    reason: 'PW_INVALID_API_KEY',
  },
]

function send(draft: Draft): Promise<Seen> {
  const { method, headers, body } = draft
  return call(edge.url, method, targetOf(draft), { headers, body })
}

/** The refusal that a route of this group gives: its keys, no more and no fewer, say what the status line says. */
function refused(good: GoodRequest, code: number, reason: string) {
  return refusedAs(reason === 'ENDPOINT_NOT_FOUND' ? 'full' : good.errors, code, reason)
}

it('every documented route is served, and no other', () => {
  const served = routeRows.map((row) => `${row.method} ${row.path} ${row.version}`)
  const documented = goodRequests.map((good) => `${good.method} ${good.path} ${good.version}`)
  expect(served.toSorted()).toEqual(documented.toSorted())
})

describe.each(goodRequests)('$method $path', (good) => {
  const applicable = mutations.filter((mutation) => mutation.applies?.(good) ?? true)

  it.each(applicable)(
    `${good.method} ${good.path} refuses when $name`,
    async ({ mutate, code, reason }) => {
      const draft = draftOf(good)
      mutate(draft, good)
      // `PUT /quote/` and the like have no route of ours either way.
      expect(shapeOf(await send(draft))).toEqual(refused(good, code, reason))
    },
  )

  it.each(applicable)(
    `${good.method} ${good.path} refuses when $name, also when later checks would fail`,
    async (mutation) => {
      const draft = draftOf(good)
      // Later ones first, so that the tested one has the last word on what it changes.
      for (const later of applicable.slice(applicable.indexOf(mutation)).toReversed()) {
        later.mutate(draft, good)
      }
      const hasBodyToSend = good.method === 'POST' || mutation.name.startsWith('1')
      if (!hasBodyToSend) draft.body = undefined
      expect(shapeOf(await send(draft))).toEqual(refused(good, mutation.code, mutation.reason))
    },
  )

  it(`${good.method} ${good.path} lets a good request through to its operation`, async () => {
    const { status, body } = await send(draftOf(good))
    const made = good.path === '/bill_payments/pay' ? 201 : 200
    expect([status, body['code'], body['status']]).toEqual([made, made, 'success'])
  })

  it(`${good.method} ${good.path} names every parameter that is missing or empty, in the order of the contract`, async () => {
    const draft = draftOf(good)
    draft.query = good.required[1] === undefined ? {} : { [good.required[1]]: '' }
    const seen = await send(draft)
    expect(shapeOf(seen)).toEqual(refused(good, 400, 'MISSING_PARAMETER'))
    const isListed = good.errors !== 'quote' || good.method === 'GET'
    expect(seen.body['missing']).toEqual(isListed ? ['version', ...good.required] : undefined)
  })

  it(`${good.method} ${good.path} names the parameter of another version in field, but on /quote`, async () => {
    const draft = draftOf(good)
    draft.query['version'] = '2020-01-01'
    const { body } = await send(draft)
    expect(body['message']).toMatch(/^version must be exactly /)
    expect(body['field']).toBe(good.errors === 'quote' ? undefined : 'version')
  })

  it.each(['version', ...good.required])(
    `${good.method} ${good.path} refuses a repeated %s`,
    async (name) => {
      const draft = draftOf(good)
      const { method, headers, body } = draft
      const target = `${targetOf(draft)}&${name}=again`
      expect(shapeOf(await call(edge.url, method, target, { headers, body }))).toEqual(
        refused(good, 400, 'INVALID_PARAMETER'),
      )
    },
  )

  it('a repeated unknown parameter is refused', async () => {
    const draft = draftOf(good)
    const { method, headers, body } = draft
    const seen = await call(edge.url, method, `${targetOf(draft)}&other=1&other=2`, {
      headers,
      body,
    })
    expect(shapeOf(seen)).toEqual(refused(good, 400, 'INVALID_PARAMETER'))
    expect(seen.body['message']).toBe('other must be given once.')
  })

  it.each(good.required)(`${good.method} ${good.path} refuses NUL in %s`, async (name) => {
    const draft = draftOf(good)
    draft.query[name] = 'a\u0000b'
    expect(shapeOf(await send(draft))).toEqual(refused(good, 400, 'INVALID_PARAMETER'))
  })

  it.each(good.fields ?? [])(
    `${good.method} ${good.path} names %s when it is missing`,
    async (field) => {
      const draft = draftOf(good)
      draft.body = change(good.body, field)
      const seen = await send(draft)
      expect(shapeOf(seen)).toEqual(refused(good, 400, 'MISSING_PARAMETER'))
      expect(seen.body['message']).toBe(`${field} is required.`)
      expect(seen.body['missing']).toBeUndefined()
    },
  )

  it.each(good.fields ?? [])(
    `${good.method} ${good.path} names %s when its type is wrong`,
    async (field) => {
      for (const value of [5, true, null]) {
        const draft = draftOf(good)
        draft.body = change(good.body, field, value)
        const seen = await send(draft)
        expect(shapeOf(seen)).toEqual(refused(good, 400, 'INVALID_PARAMETER'))
        expect(seen.body['message']).toMatch(new RegExp(`^${field.replaceAll(/[[\]]/g, '\\$&')} `))
      }
    },
  )

  const methods: string[] = goodRequests
    .filter((one) => one.path === good.path)
    .map((one) => one.method)
  const others = ['OPTIONS', 'DELETE', 'PATCH', 'PUT', 'POST', 'GET', 'PROPFIND']

  it.each(others.filter((method) => !methods.includes(method)))(
    `${good.method} ${good.path} answers %s with 405 and Allow`,
    async (method) => {
      const draft = draftOf(good)
      const seen = await call(edge.url, method, targetOf(draft), { headers: draft.headers })
      expect(shapeOf(seen)).toEqual(refused(good, 405, 'METHOD_NOT_ALLOWED'))
      expect(seen.headers.get('allow')).toBe(methods.toSorted().join(', '))
    },
  )

  it(`${good.method} ${good.path} answers HEAD with 405, Allow and no body`, async () => {
    const draft = draftOf(good)
    const seen = await call(edge.url, 'HEAD', targetOf(draft), { headers: draft.headers })
    expect([seen.status, seen.text]).toEqual([405, ''])
    expect(seen.headers.get('allow')).toBe(methods.toSorted().join(', '))
  })
})

describe.each(goodRequests.filter(hasBody))('the body of $method $path', (good) => {
  const post = (body: unknown, headers: Record<string, string> = {}) => {
    const draft = draftOf(good)
    return call(edge.url, 'POST', targetOf(draft), {
      headers: { ...draft.headers, ...headers },
      body,
    })
  }

  it(`the body of ${good.method} ${good.path} may have 64 KiB`, async () => {
    expect(shapeOf(await post(`{"a":"${'x'.repeat(64 * 1024)}"}`))).toEqual(
      refused(good, 413, 'PAYLOAD_TOO_LARGE'),
    )
    for (const type of ['text/plain', 'nonsense']) {
      const text = await post('x'.repeat(64 * 1024 + 1), { 'content-type': type })
      expect(shapeOf(text)).toEqual(refused(good, 413, 'PAYLOAD_TOO_LARGE'))
    }
    const filled = { ...good.body, filler: 'x'.repeat(50 * 1024) }
    expect((await post(filled)).status).not.toBe(413)
  })

  it.each(['text/plain', 'application/xml', 'application/x-www-form-urlencoded', 'nonsense'])(
    `the body of ${good.method} ${good.path} is refused as %s`,
    async (type) => {
      expect(shapeOf(await post('{}', { 'content-type': type }))).toEqual(
        refused(good, 415, 'UNSUPPORTED_MEDIA_TYPE'),
      )
    },
  )

  it(`the body of ${good.method} ${good.path} is refused in another charset and when it is compressed`, async () => {
    const latin = await post('{}', { 'content-type': 'application/json; charset=iso-8859-1' })
    expect(shapeOf(latin)).toEqual(refused(good, 415, 'UNSUPPORTED_MEDIA_TYPE'))
    const gzip = await post('{}', { 'content-encoding': 'gzip' })
    expect(shapeOf(gzip)).toEqual(refused(good, 415, 'UNSUPPORTED_MEDIA_TYPE'))
  })

  it(`the body of ${good.method} ${good.path} must be one JSON object in UTF-8, at most 32 levels deep`, async () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`
    const bad = [
      '',
      'null',
      '[]',
      '"text"',
      '1',
      '{',
      '{}x',
      `{"a":${'['.repeat(32)}${']'.repeat(32)}}`,
      deep,
    ]
    for (const body of bad)
      expect(shapeOf(await post(body))).toEqual(refused(good, 400, 'INVALID_JSON'))
    const notUtf8 = Buffer.from([0x7b, 0x22, 0x61, 0x22, 0x3a, 0x22, 0xff, 0x22, 0x7d])
    expect(shapeOf(await post(notUtf8))).toEqual(refused(good, 400, 'INVALID_JSON'))
    const missing = await call(edge.url, 'POST', targetOf(draftOf(good)), {
      headers: draftOf(good).headers,
    })
    expect(shapeOf(missing)).toEqual(refused(good, 400, 'INVALID_JSON'))
  })

  it(`the body of ${good.method} ${good.path} takes JSON with a charset, and unknown fields of any kind`, async () => {
    const body = { ...good.body, constructor: 1, toString: [], nested: { deep: [{}] } }
    const seen = await post(body, { 'content-type': 'application/json; charset=UTF-8' })
    expect([200, 201]).toContain(seen.status)
  })

  it(`the body of ${good.method} ${good.path} takes no harm from __proto__`, async () => {
    const text = JSON.stringify(good.body).replace('{', '{"__proto__":{"polluted":true},')
    expect([200, 201]).toContain((await post(text)).status)
    expect(({} as Record<string, unknown>)['polluted']).toBeUndefined()
    const inherited = `{"__proto__":${JSON.stringify(good.body)}}`
    expect(shapeOf(await post(inherited))).toEqual(refused(good, 400, 'MISSING_PARAMETER'))
  })

  it.each(['\\u0000', '\\ud800', '\\udc00 x', '\\u0085', '\\u001b', '\u007f'])(
    `the body of ${good.method} ${good.path} holds no forbidden character: %j in a value or a key`,
    async (character) => {
      const start = JSON.stringify(good.body).slice(0, -1)
      for (const bad of [`"x":"${character}"`, `"x${character}":1`, `"x":[{"y":"${character}"}]`]) {
        const seen = await post(`${start},${bad}}`)
        expect(shapeOf(seen)).toEqual(refused(good, 400, 'INVALID_PARAMETER'))
        expect(seen.body['message']).toMatch(/must not contain U\+[0-9A-F]{4}\.$/)
      }
    },
  )
})
