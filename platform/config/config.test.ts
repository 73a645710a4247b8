// Settings: defaults per environment, strict reading, one error for all, nothing secret printed.
import { describe, expect, it } from 'vitest'
import { describeSettings, readSettings, renderSettingsTable, SettingsError } from './config.ts'
import { serving } from './setting.ts'
import { settings } from './settings.ts'

const stores = { DATABASE_URL: 'postgres://u:hunter2@db/x', NATS_URL: 'nats://u:hunter2@nats:4222' }
const hosted = {
  ...stores,
  PUBLIC_BASE_URL: 'https://api.example.com',
  CONSOLE_URL: 'https://console.example.com',
  OIDC_ISSUER: 'https://identity.example.com',
  BACKEND_URL: 'http://rails',
}
/** What production asks for besides. */
const guarded = {
  ...hosted,
  PAYWEAVE_ENV: 'production',
  DATABASE_URL: 'postgres://u@db/x?sslmode=verify-full',
  NATS_URL: 'tls://nats:4222',
  BACKEND_URL: 'https://rails',
}

function problemsOf(read: () => unknown): readonly string[] {
  try {
    read()
  } catch (error) {
    if (error instanceof SettingsError) return error.problems
    throw error
  }
  return []
}

describe('defaults', () => {
  it('defaults place every local process in the block of ports', () => {
    const env = { ...stores, PORT_BASE: '9000' }
    expect(readSettings('gateway', env)).toMatchObject({ port: 8080, adminPort: 9010 })
    expect(readSettings('simulator', env)).toMatchObject({ port: 9007, adminPort: 9017 })
    expect(readSettings('gateway', env).deliveryUrl).toBe('http://127.0.0.1:9006')
    expect(readSettings('gateway', env).host).toBe('127.0.0.1')
  })

  it('defaults are short locally, long in the sandbox and strict in production', () => {
    const local = readSettings('delivery', stores)
    expect(local.deliveryScheduleS).toEqual([1, 2, 5])
    expect(local.deliveryAllowLoopback).toBe(true)
    const sandbox = readSettings('delivery', { ...hosted, PAYWEAVE_ENV: 'sandbox' })
    expect(sandbox.deliveryScheduleS).toEqual([5, 30, 300, 3600])
    expect(sandbox.deliveryAllowLoopback).toBe(false)
    const production = readSettings('gateway', guarded)
    expect(production).toMatchObject({
      rateLimitRps: 100,
      requestDateToleranceS: 900,
      sessionLookupsPerMin: 10,
      deliveryAllowLoopback: false,
    })
  })

  it('defaults are all readable in every environment', () => {
    for (const environment of ['local', 'sandbox', 'production']) {
      for (const process of [...serving, 'migrate', 'launcher'] as const) {
        const given = environment === 'production' ? guarded : hosted
        const env = { ...given, PAYWEAVE_ENV: environment }
        expect(problemsOf(() => readSettings(process, env))).toEqual([])
      }
    }
  })

  it('defaults hold the fees, fraud rules and limits of the product', () => {
    const { feeSchedule, fraudRules } = readSettings('payments', stores)
    expect(feeSchedule.cardProcessingPercent).toBe('2.90')
    expect(fraudRules).toMatchObject({
      velocityPerMin: 30,
      ceilingsMinor: { USD: 1_000_000n, TTD: 7_000_000n },
    })
    const { userLimits } = readSettings('accounts', stores)
    expect(userLimits.levels[2]).toEqual({
      singleMinor: 2_500_000n,
      dailyMinor: 5_000_000n,
      monthlyMinor: 20_000_000n,
    })
  })

  it('defaults take an empty variable as one that is not set', () => {
    expect(readSettings('quotes', { ...stores, QUOTE_TTL_S: '' }).quoteTtlS).toBe(300)
  })

  it('defaults require stores of every server, but not of the launcher', () => {
    expect(readSettings('launcher', {}).databaseUrl).toBeUndefined()
    expect(problemsOf(() => readSettings('payments', {}))).toEqual([
      'DATABASE_URL must be set',
      'NATS_URL must be set',
    ])
  })
})

describe('a bad setting', () => {
  const bad: Record<string, string[]> = {
    QUOTE_TTL_S: [
      '10abc',
      '-1',
      '0',
      '1e3',
      ' 10',
      '10.5',
      '+5',
      '007',
      'NaN',
      '99999999999999999999',
    ],
    PORT: ['65536', 'http', '-1'],
    LOG_LEVEL: ['loud', 'INFO'],
    HOST: ['a b', 'a/b'],
    DATABASE_URL: ['mysql://x/y', 'x', 'postgres:'],
    ACCOUNTS_URL: ['http://x/path', 'http://u:p@x', 'ftp://x', 'x:1'],
    OTEL_EXPORTER_OTLP_ENDPOINT: ['nope', 'http://x?y=1'],
  }
  for (const [name, values] of Object.entries(bad)) {
    for (const value of values) {
      it(`a bad setting is refused: ${name}=${value}`, () => {
        const problems = problemsOf(() => readSettings('quotes', { ...stores, [name]: value }))
        expect(problems).toHaveLength(1)
        expect(problems[0]).toMatch(new RegExp(`^${name} must`))
      })
    }
  }

  it('a bad setting is refused in lists: networks and schedules', () => {
    for (const value of [
      '10.0.0.0',
      '10.1/8',
      '10.0.0.0/33',
      '0x7f.0.0.1/8',
      'true',
      '10.0.0.0/8,',
    ]) {
      const problems = problemsOf(() =>
        readSettings('gateway', { ...stores, TRUSTED_PROXIES: value }),
      )
      expect(problems).toHaveLength(1)
    }
    for (const value of ['1,,2', '0', '1;2', '-5', '1,2,x']) {
      const env = { ...stores, DELIVERY_SCHEDULE_S: value }
      expect(problemsOf(() => readSettings('delivery', env))).toHaveLength(1)
    }
    const proxies = { ...stores, TRUSTED_PROXIES: '10.0.0.0/8, fd00::/8' }
    expect(readSettings('gateway', proxies).trustedProxies).toEqual(['10.0.0.0/8', 'fd00::/8'])
  })

  it('a setting that was renamed is read by its old name too, and by the new one first', () => {
    const callStreams = (env: Record<string, string>) =>
      readSettings('payments', { ...stores, ...env }).rpcCallStreams
    expect(callStreams({})).toBe(true)
    expect(callStreams({ RPC_LINKS: '0' })).toBe(false)
    expect(callStreams({ RPC_LINKS: '0', RPC_CALL_STREAMS: '1' })).toBe(true)
    const old = { SIMULATOR_PUBLIC_URL: 'https://cards.example', SIMULATOR_PUBLIC_PORT: '7302' }
    expect(readSettings('simulator', { ...stores, ...old })).toMatchObject({
      connectorPublicUrl: 'https://cards.example',
      connectorPublicPort: 7302,
    })
  })

  it('a bad setting is refused in JSON: every wrong shape, misspelt field, float and foreign currency', () => {
    const fees = { card_processing: '1', platform_processing: '1', agent_processing: '1' }
    const limits = { single: '1.00', daily: '2.00', monthly: '3.00' }
    const wrong: [string, unknown][] = [
      ['FEE_SCHEDULE', fees],
      ['FEE_SCHEDULE', { ...fees, convenience: 0 }],
      ['FEE_SCHEDULE', { ...fees, convenience: '-1' }],
      ['FEE_SCHEDULE', { ...fees, convenience: '100' }],
      ['FEE_SCHEDULE', { ...fees, convenience: '0', convinience: '0' }],
      ['FEE_SCHEDULE', []],
      ['FRAUD_RULES', { velocity_per_min: 0, ceilings: {}, blocked_mobile_numbers: [] }],
      ['FRAUD_RULES', { velocity_per_min: 1, ceilings: { XXY: '1' }, blocked_mobile_numbers: [] }],
      [
        'FRAUD_RULES',
        { velocity_per_min: 1, ceilings: { JPY: '1.5' }, blocked_mobile_numbers: [] },
      ],
      [
        'FRAUD_RULES',
        { velocity_per_min: 1, ceilings: {}, blocked_mobile_numbers: ['2025550106'] },
      ],
      ['FRAUD_RULES', null],
    ]
    for (const [name, value] of wrong) {
      const env = { ...stores, [name]: JSON.stringify(value) }
      expect(problemsOf(() => readSettings('payments', env))).toHaveLength(1)
    }
    expect(problemsOf(() => readSettings('payments', { ...stores, FEE_SCHEDULE: '{' }))).toEqual([
      'FEE_SCHEDULE must be JSON',
    ])
    for (const levels of [
      { 0: limits, 1: limits },
      { 0: limits, 1: limits, 2: { ...limits, daily: '0.50' } },
    ]) {
      const env = { ...stores, USER_LIMITS: JSON.stringify({ currency: 'TTD', levels }) }
      expect(problemsOf(() => readSettings('accounts', env))).toHaveLength(1)
    }
  })

  it('a bad setting is reported together with all others, by name and never by value', () => {
    const env = {
      PORT: 'sesame',
      QUOTE_TTL_S: 'sesame',
      DATABASE_URL: 'sesame',
      LOG_LEVEL: 'sesame',
    }
    let message = ''
    try {
      readSettings('quotes', env)
    } catch (error) {
      message = String(error)
    }
    for (const name of Object.keys(env)) expect(message).toContain(name)
    expect(message).not.toContain('sesame')
  })

  it('an environment that does not exist is a bad setting', () => {
    const env = { ...hosted, PAYWEAVE_ENV: 'staging' }
    expect(problemsOf(() => readSettings('quotes', env))).toEqual([
      'PAYWEAVE_ENV must be one of local, sandbox, production',
    ])
  })
})

describe('production', () => {
  it.each(['DELIVERY_ALLOW_LOOPBACK', 'SANDBOX_CLOCK'])(
    'production refuses to start any process with %s',
    (name) => {
      const env = { ...hosted, PAYWEAVE_ENV: 'production', [name]: '1' }
      for (const process of serving) {
        expect(problemsOf(() => readSettings(process, env))).toContain(
          `${name} must not be 1 in production`,
        )
      }
    },
  )

  it('production refuses links without TLS and a back end that was not configured', () => {
    const env = { ...guarded, BACKEND_URL: '', PUBLIC_BASE_URL: 'http://api.example.com' }
    expect(problemsOf(() => readSettings('payments', env))).toEqual([
      'BACKEND_URL must be set',
      'PUBLIC_BASE_URL must be https in production',
    ])
  })

  it('production refuses to talk in the clear to other processes and to the stores', () => {
    const env = { ...guarded, ...stores, RPC_TLS: 'off', BACKEND_URL: 'http://rails' }
    expect(problemsOf(() => readSettings('payments', env))).toEqual([
      'RPC_TLS must be required in production',
      'DATABASE_URL must say sslmode=verify-full in production',
      'NATS_URL must be tls:// in production',
    ])
    const besideUs = {
      DATABASE_URL: 'postgres://u@127.0.0.1/x',
      NATS_URL: 'nats://localhost:4222',
    }
    expect(problemsOf(() => readSettings('payments', { ...guarded, ...besideUs }))).toEqual([])
  })
})

describe('connectors', () => {
  const connectorsOf = (connectors: unknown, more = {}) =>
    readSettings('payments', { ...stores, ...more, CONNECTORS: JSON.stringify(connectors) })
      .connectors

  it('connectors are addresses by name, none unless they are given', () => {
    expect(readSettings('payments', stores).connectors).toEqual({})
    expect(connectorsOf({ 'connector-momo': 'http://momo-1:8080, http://momo-2:8080' })).toEqual({
      'connector-momo': 'http://momo-1:8080,http://momo-2:8080',
    })
  })

  it.each([
    ['of another kind of process', { gateway: 'http://momo' }, {}, 'must be simulator, or'],
    ['without an address', { 'connector-momo': null }, {}, 'must be a http: or https: URL'],
    ['as a list', ['connector-momo'], {}, 'must be an object'],
    [
      'that is the default one too',
      { simulator: 'http://momo' },
      {},
      'must not have the connector',
    ],
    [
      'in the clear beside TLS',
      { 'connector-momo': 'http://momo' },
      { RPC_TLS: 'required' },
      'https',
    ],
  ])('a connector %s is refused', (_, connectors, more, said) => {
    const problems = problemsOf(() => connectorsOf(connectors, more))
    expect(problems).toEqual([expect.stringMatching(`^CONNECTORS .*${said}`)])
  })
})

describe('addresses of services', () => {
  it('addresses of services are https exactly when the processes speak mutual TLS', () => {
    const env = { ...stores, RPC_TLS: 'required' }
    expect(readSettings('gateway', env).accountsUrl).toBe('https://127.0.0.1:7102')
    const hostedTls = { ...hosted, ...env, PAYWEAVE_ENV: 'sandbox' }
    expect(readSettings('gateway', hostedTls).accountsUrl).toBe('https://accounts:8080')
    const mixed = { ...env, ACCOUNTS_URL: 'http://accounts:8080' }
    expect(problemsOf(() => readSettings('gateway', mixed))).toEqual([
      'ACCOUNTS_URL must be https while RPC_TLS is required',
    ])
  })

  it('addresses of services may be several, of one scheme', () => {
    const env = { ...stores, PAYMENTS_URL: 'http://a:1, http://b:2' }
    expect(readSettings('gateway', env).paymentsUrl).toBe('http://a:1,http://b:2')
    const mixed = { ...stores, PAYMENTS_URL: 'http://a:1,https://b:2' }
    expect(problemsOf(() => readSettings('gateway', mixed))).toContain(
      'PAYMENTS_URL must be of one scheme',
    )
  })
})

describe('what is printed', () => {
  it('the printed settings hide secrets', () => {
    const text = describeSettings('payments', stores)
    expect(text).toContain('PAYMENT_TTL_AGENT_S=259200')
    expect(text).toContain('DATABASE_URL=[set]')
    expect(text).not.toContain('hunter2')
    expect(text).not.toContain('+1202')
  })

  it('the printed settings are a table with one row for each', () => {
    const lines = renderSettingsTable().trim().split('\n').slice(2)
    expect(lines.map((line) => line.split('`')[1])).toEqual(Object.keys(settings))
  })
})
