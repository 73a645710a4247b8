// Tests how the launcher reads its settings.
import path from 'node:path'
import { describe, expect, it } from 'vitest'
import { readLaunchSettings } from './settings.ts'

describe('the settings of a start', () => {
  it('the settings of a start need not be given', () => {
    expect(readLaunchSettings({})).toEqual({
      environment: 'local',
      port: 8080,
      consolePort: 7122,
      consoleUrl: 'http://127.0.0.1:7122',
      hasIdentityProvider: false,
      listenAddress: '127.0.0.1',
      forwardTo: [],
      portBase: 7100,
      dataDir: path.resolve('.payweave'),
      publicBaseUrl: 'http://127.0.0.1:8080',
      databaseUrl: undefined,
      natsUrl: undefined,
      databaseRoleLogins: true,
      natsPasswordFile: undefined,
      natsCredsFile: undefined,
      natsCaFile: undefined,
      natsReplicas: 1,
      rpcTls: 'off',
    })
  })

  it('the settings of a start say where people sign in with an identity provider', () => {
    const env = {
      CONSOLE_URL: 'https://console.example.com',
      OIDC_ISSUER: 'https://id.example.com',
    }
    expect(readLaunchSettings(env)).toMatchObject({
      consoleUrl: 'https://console.example.com',
      hasIdentityProvider: true,
    })
  })

  it('the settings of a start that are wrong are all named at once', () => {
    const env = {
      PORT: '80x',
      PORT_BASE: '70000',
      LOG_LEVEL: 'loud',
      NATS_URL: 'http://x',
    }
    let message = ''
    try {
      readLaunchSettings(env)
    } catch (error) {
      message = (error as Error).message
    }
    for (const name of Object.keys(env)) expect(message).toContain(name)
  })

  it('the settings of a start never repeat a database URL in an error', () => {
    const read = () => readLaunchSettings({ DATABASE_URL: 'mysql://root:hunter2@host/db' })
    expect(read).toThrow('DATABASE_URL')
    expect(read).not.toThrow('hunter2')
  })

  it('the settings of a start name the ports that lead to other machines', () => {
    const given = { FORWARD_TO: 'host.docker.internal:4000, 10.0.0.7:4001' }
    expect(readLaunchSettings(given).forwardTo).toEqual([
      { host: 'host.docker.internal', port: 4000 },
      { host: '10.0.0.7', port: 4001 },
    ])
    for (const wrong of ['4000', 'shop:', 'shop:70000', 'http://shop:4000', 'shop:1,']) {
      expect(() => readLaunchSettings({ FORWARD_TO: wrong })).toThrow('FORWARD_TO')
    }
  })

  it('the settings of a start refuse production', () => {
    const env = { PAYWEAVE_ENV: 'production', PUBLIC_BASE_URL: 'https://pay.example.com' }
    expect(() => readLaunchSettings(env)).toThrow('never production')
  })

  it('the settings of a start refuse a public port inside the internal block', () => {
    expect(() => readLaunchSettings({ PORT: '7105' })).toThrow('PORT: 7105')
  })
})
