// Proves that every verifier in docs/integrate/webhooks-signed-examples.md takes what we send and refuses everything else.
import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { seal, signWebhook, verifyWebhook } from '#core/identity/seal.ts'
import { startReceiver } from '../delivery/receiver.ts'
import { examples, type Question, type Sealed, sendTestCallback } from './examples.ts'

const nowS = 1_795_255_530
const body = Buffer.from('{"institution_name":"Caf\u00e9 \u20ac",\r\n "account":{}}\n')
const [oldest, older, newest] = ['pws_sign_oldest', 'pws_sign_older', 'pws_sign_newest'] as const
const header = signWebhook([newest, older], nowS, body)
const single = signWebhook([newest], nowS, body)
const flipped = single.replace(/.$/, (last) => (last === '0' ? '1' : '0'))

type Case = [name: string, question: Partial<Question>, expected: boolean]
const cases: Case[] = [
  ['what we sent', {}, true],
  ['a receiver that knows only the newer secret', { secrets: [newest] }, true],
  ['a receiver that knows only the older secret', { secrets: [older] }, true],
  ['one signature, outside a rotation', { header: single }, true],
  ['a clock 300 s ahead', { nowS: nowS + 300 }, true],
  ['a clock 300 s behind', { nowS: nowS - 300 }, true],
  ['a clock 301 s ahead', { nowS: nowS + 301 }, false],
  ['a clock 301 s behind', { nowS: nowS - 301 }, false],
  ['a receiver that knows only a retired secret', { secrets: [oldest] }, false],
  ['a receiver that knows no secret', { secrets: [] }, false],
  ['a changed body', { body: Buffer.concat([body, Buffer.from(' ')]) }, false],
  [
    'a body that went through a JSON parser',
    { body: Buffer.from('{"institution_name":"Caf\u00e9 \u20ac","account":{}}') },
    false,
  ],
  ['no body', { body: Buffer.alloc(0) }, false],
  ['a changed signature', { header: flipped }, false],
  ['another time', { header: header.replace(`t=${nowS}`, `t=${nowS + 1}`) }, false],
  ['the signature of another body', { header: signWebhook([newest], nowS, 'other') }, false],
  ['no header', { header: '' }, false],
  ['no signature', { header: `t=${nowS}` }, false],
  ['no time', { header: single.slice(single.indexOf('v1=')) }, false],
  ['a signature in capitals', { header: single.toUpperCase() }, false],
  ['a signature that is cut', { header: single.slice(0, -1) }, false],
  ['text after the signature', { header: `${single},` }, false],
  ['a line after the signature', { header: `${single}\n` }, false],
  [
    'a command in place of the time',
    { header: single.replace(`t=${nowS}`, 't=a[$(exit 7)]') },
    false,
  ],
]
const questions = cases.map(([, question]) => ({
  header,
  body,
  secrets: [newest, older],
  nowS,
  ...question,
}))

const key = { keyId: '12345678', key: randomBytes(32) }
const other = { keyId: '0a0b0c0d', key: randomBytes(32) }
const keysOf = (...known: (typeof key)[]) =>
  Object.fromEntries(known.map(({ keyId, key }) => [keyId, key.toString('base64')]))
const token = 'tok\u00e9n-0123456789'
const purpose = 'authorisation-token'
const sealed = seal(Buffer.from(token), { ...key, purpose })

function changedAt(index: number): string {
  const bytes = Buffer.from(sealed, 'base64')
  bytes.writeUInt8(bytes.readUInt8(index) ^ 1, index)
  return bytes.toString('base64')
}

type SealedCase = [name: string, question: Partial<Sealed>, expected: string | null]
const sealedCases: SealedCase[] = [
  ['what we sent', {}, token],
  ['a receiver that knows two keys', { keys: keysOf(other, key) }, token],
  [
    'a token for the other of two keys',
    { sealed: seal(Buffer.from(token), { ...other, purpose }), keys: keysOf(key, other) },
    token,
  ],
  ['a key that the receiver does not have', { keys: keysOf(other) }, null],
  ['another key under the same id', { keys: keysOf({ ...other, keyId: key.keyId }) }, null],
  [
    'a value that was sealed for another purpose',
    { sealed: seal(Buffer.from(token), { ...key, purpose: 'session_token' }) },
    null,
  ],
  ['another version', { sealed: changedAt(0) }, null],
  ['a changed nonce', { sealed: changedAt(5) }, null],
  ['a changed ciphertext', { sealed: changedAt(17) }, null],
  ['a changed tag', { sealed: changedAt(Buffer.from(sealed, 'base64').length - 1) }, null],
  [
    'a value that is cut',
    { sealed: Buffer.from(sealed, 'base64').subarray(0, 32).toString('base64') },
    null,
  ],
  ['a token in the clear', { sealed: 'token-0123456789' }, null],
  ['no header', { sealed: '' }, null],
]

/** A skipped test is one number in a report: the reason must be seen, too. */
function say(language: string, missing: string | undefined): void {
  if (missing !== undefined) process.stderr.write(`${language}: ${missing}\n`)
}

describe.each(examples)('the $language example', (example) => {
  it(`the ${example.language} example takes the signatures that it must take and no other`, {
    timeout: 60_000,
  }, ({ skip }) => {
    say(example.language, example.missing)
    skip(example.missing !== undefined, example.missing)
    const answers = example.verify(questions)
    const named = cases.map(([name], index) => [name, answers[index]])
    expect(named).toEqual(cases.map(([name, , expected]) => [name, expected]))
  })
})

describe.each(examples.filter(({ open }) => open !== undefined))(
  'the $language example',
  ({ language, missing, open }) => {
    it(`the ${language} example opens the tokens that it must open and no other`, ({ skip }) => {
      say(language, missing)
      skip(missing !== undefined, missing)
      const asked = sealedCases.map(([, question]) => ({ sealed, keys: keysOf(key), ...question }))
      const answers = open?.(asked)
      const named = sealedCases.map(([name], index) => [name, answers?.[index]])
      expect(named).toEqual(sealedCases.map(([name, , expected]) => [name, expected]))
    })
  },
)

it('the curl command sends a callback that verifies', async () => {
  const receiver = await startReceiver()
  const env = { URL: receiver.url, SECRET: newest, SEALED_TOKEN: sealed }
  expect(await sendTestCallback(env)).toBe('200')
  const [request] = receiver.requests
  const signature = String(request?.headers['pw-signature'])
  const receivedS = Math.floor(Date.now() / 1_000)
  expect(verifyWebhook([newest], signature, request?.body ?? '', receivedS)).toBe(true)
  expect(request?.headers['authorisation-token']).toBe(sealed)
  expect(request?.headers['content-type']).toBe('application/json')
  await receiver.close()
})
