// Tests that signing secrets are fetched once in a few seconds, and never used longer than that.
import { expect, it } from 'vitest'
import { Failure } from '#core/errors/errors.ts'
import { judge } from '../domain/delivery.ts'
import { signingSecrets } from './signing-secrets.ts'

function accounts(answer: () => string[] | Promise<string[]>) {
  const asked: string[] = []
  let nowMs = 0
  const getSigningSecrets = async ({ institutionId = '' }: { institutionId?: string }) => {
    asked.push(institutionId)
    return { signingSecrets: await answer() }
  }
  const secrets = signingSecrets({ getSigningSecrets } as never, () => nowMs)
  return { asked, secrets, wait: (ms: number) => void (nowMs += ms) }
}

it('concurrent attempts share one call, and 5 s later the secrets are fetched again', async () => {
  const { asked, secrets, wait } = accounts(() => ['new', 'old'])
  await Promise.all([secrets.of('a'), secrets.of('a')])
  wait(4_999)
  expect(await secrets.of('a')).toEqual(['new', 'old'])
  expect(asked).toHaveLength(1)
  wait(1)
  await secrets.of('a')
  expect(asked).toHaveLength(2)
})

it('each institution has its own call', async () => {
  const { asked, secrets } = accounts(() => ['secret'])
  await secrets.of('a')
  await secrets.of('b')
  expect(asked).toEqual(['a', 'b'])
})

it('the cache fetches signing secrets again after a change of access, also those in flight', async () => {
  let answered: (secrets: string[]) => void = () => {}
  const answers = [new Promise<string[]>((resolve) => void (answered = resolve)), ['new']]
  const { asked, secrets } = accounts(() => answers.shift() ?? [])
  const early = secrets.of('a')
  secrets.drop()
  answered(['old'])
  expect(await early).toEqual(['old'])
  expect(await secrets.of('a')).toEqual(['new'])
  expect(asked).toHaveLength(2)
})

it('the cache retries a failure to fetch secrets after a second, and uses no older secret meanwhile', async () => {
  let up = true
  const { asked, secrets, wait } = accounts(() => {
    if (up) return ['secret']
    throw new Failure('SERVICE_UNAVAILABLE', 'down')
  })
  await secrets.of('a')
  up = false
  wait(5_000)
  await expect(secrets.of('a')).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  await expect(secrets.of('a')).rejects.toMatchObject({ reason: 'SERVICE_UNAVAILABLE' })
  expect(asked).toHaveLength(2)
  up = true
  wait(1_000)
  expect(await secrets.of('a')).toEqual(['secret'])
})

it('an answer without a secret is a failure: nothing leaves unsigned', async () => {
  const { secrets } = accounts(() => [])
  await expect(secrets.of('a')).rejects.toThrow('no signing secret')
})

it('a push that cannot be signed waits longer each time, up to a minute, and is never exhausted', () => {
  const unsigned = (uncounted: number) =>
    judge({ outcome: 'unsigned' }, { scheduleS: [], failures: 3, uncounted, random: 0.5 })
  const pauses = [0, 1, 2, 3, 4, 5, 6, 500].map((uncounted) => unsigned(uncounted).delayMs)
  expect(pauses).toEqual([2, 4, 8, 16, 32, 60, 60, 60].map((seconds) => seconds * 1_000))
  expect(unsigned(9).state).toBe('pending')
})
