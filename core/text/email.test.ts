// Shows which e-mail addresses count as the same.
import { expect, it } from 'vitest'
import { normalizeEmail } from './email.ts'

it.each(['AMA@Example.com', ' ama@example.com ', 'ａｍａ@example.com', 'ama@EXAMPLE.COM'])(
  'the e-mail address %s is normalized to ama@example.com',
  (email) => expect(normalizeEmail(email)).toBe('ama@example.com'),
)

it('an accent makes another address, whether written as one character or two', () => {
  expect(normalizeEmail('josé@example.com')).not.toBe(normalizeEmail('jose@example.com'))
  expect(normalizeEmail('jose\u0301@example.com')).toBe(normalizeEmail('josé@example.com'))
})
