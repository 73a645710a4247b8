// Comparing versions of nats-server.
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { natsFrom } from './access.ts'
import { isAtLeast, minVersions, requireVersion } from './version.ts'

it.each([
  ['2.9.10', '2.9.10', true],
  ['v2.9.11', '2.9.10', true],
  ['2.10.0', '2.9.10', true],
  ['2.9.9', '2.9.10', false],
  ['2.12.15', '2.12.0', true],
  ['2.12.0-RC.1', '2.12.0', true],
  ['2.11.99', '2.12.0', false],
  ['3.0.0', '2.12.0', true],
  ['1.99.99', '2.9.10', false],
  ['latest', '2.9.10', false],
  [undefined, '2.9.10', false],
])('%s is at least %s: %s', (version, minVersion, expected) => {
  expect(isAtLeast(version, minVersion)).toBe(expected)
})

it('a version below the minimum is refused with both versions named', () => {
  expect(() => requireVersion('2.11.4', '2.12.0')).toThrow(
    new Failure('SERVICE_UNAVAILABLE', 'nats-server 2.11.4 is older than 2.12.0'),
  )
  expect(() => requireVersion(undefined, '2.12.0')).toThrow('of unknown version')
})

it('production needs 2.12, a local start 2.9.10', () => {
  const files = { natsPasswordFile: undefined, natsCredsFile: undefined, natsCaFile: undefined }
  const minOf = (payweaveEnv: 'local' | 'production') =>
    natsFrom({ payweaveEnv, natsUrl: 'nats://one', ...files }).minVersion
  expect([minOf('local'), minOf('production')]).toEqual(['2.9.10', '2.12.0'])
  expect(minVersions.sandbox).toBe('2.9.10')
})
