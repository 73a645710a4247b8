// Tests which environment and ports each part of a local start gets.
import { describe, expect, it } from 'vitest'
import { readLaunchSettings } from '../settings.ts'
import { nodeParts } from './parts.ts'

const stores = { databaseUrl: 'postgres://admin:secret@127.0.0.1/payweave', natsUrl: 'nats://n' }

function envOf(name: string, env: NodeJS.ProcessEnv = {}): Record<string, string> {
  const parts = nodeParts(readLaunchSettings(env), stores, env)
  return parts.find((part) => part.name === name)?.env ?? {}
}

describe('the environment of a part', () => {
  it('the environment of a part holds only what the part needs', () => {
    const env = {
      CLOUD_SECRET: 'x',
      FEE_SCHEDULE: undefined,
      DELIVERY_TIMEOUT_S: '9',
      PATH: '/bin',
    }
    const gateway = envOf('gateway', env)
    expect(gateway).toMatchObject({ PATH: '/bin', NATS_URL: stores.natsUrl })
    for (const name of ['CLOUD_SECRET', 'DATABASE_URL', 'DELIVERY_TIMEOUT_S']) {
      expect(gateway).not.toHaveProperty(name)
    }
    expect(envOf('delivery', env)).toMatchObject({
      DATABASE_URL: stores.databaseUrl,
      DELIVERY_TIMEOUT_S: '9',
    })
  })

  it('the environment of a part gives each part ports of its own on loopback, in spite of PORT and HOST of the shell', () => {
    const env = { PORT: '9000', PORT_BASE: '9100', HOST: 'laptop' }
    expect(envOf('gateway', env)).toMatchObject({
      HOST: '127.0.0.1',
      PORT: '9000',
      ADMIN_PORT: '9110',
    })
    expect(envOf('quotes', env)).toMatchObject({
      HOST: '127.0.0.1',
      PORT: '9104',
      ADMIN_PORT: '9114',
    })
    expect(envOf('gateway', env)).toMatchObject({ PAYMENTS_URL: 'http://127.0.0.1:9101' })
    expect(envOf('gateway', env)).toMatchObject({ SIMULATOR_URL: 'http://127.0.0.1:9107' })
    expect(envOf('simulator', env)).toMatchObject({
      PORT: '9107',
      CONNECTOR_PUBLIC_PORT: '9108',
      CONNECTOR_PUBLIC_URL: 'http://127.0.0.1:9108',
    })
  })

  it('the environment of a part has the address to listen on for a container, where the addresses for callers stay on loopback', () => {
    const env = { LISTEN_ADDRESS: '0.0.0.0', HOST: 'laptop' }
    expect(envOf('gateway', env)).toMatchObject({
      HOST: '0.0.0.0',
      PAYMENTS_URL: 'http://127.0.0.1:7101',
      PUBLIC_BASE_URL: 'http://127.0.0.1:8080',
    })
    expect(envOf('console', env)).toMatchObject({ CONSOLE_URL: 'http://127.0.0.1:7122' })
    expect(() => readLaunchSettings({ LISTEN_ADDRESS: '10.0.0.1' })).toThrow('LISTEN_ADDRESS')
  })

  it('the environment of a part names every port of a part, the one for clients first and the one for operators last', () => {
    const parts = nodeParts(readLaunchSettings({}), stores, {})
    const ports = Object.fromEntries(parts.map((part) => [part.name, part.ports]))
    expect(ports).toMatchObject({ gateway: [8080, 7110], simulator: [7107, 7108, 7117] })
    const all = Object.values(ports).flat()
    expect(new Set(all).size).toBe(all.length)
  })

  it('the environment of a part works as a hosted sandbox does, but on this machine', () => {
    const env = { PAYWEAVE_ENV: 'sandbox' }
    expect(envOf('payments', env)).toMatchObject({
      PAYWEAVE_ENV: 'sandbox',
      BACKEND_URL: 'http://127.0.0.1:7107',
      PUBLIC_BASE_URL: 'http://127.0.0.1:8080',
    })
  })

  it('the environment of a part replaces the simulator by a real back end', () => {
    const env = { BACKEND_URL: 'http://127.0.0.1:5000' }
    expect(envOf('payments', env)).toMatchObject(env)
  })
})
