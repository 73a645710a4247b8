// How pages write times, amounts and the names of states.
import { timestampDate } from '@bufbuild/protobuf/wkt'
import { formatAmount } from '#core/money/money.ts'
import { formatDateTime, formatIso } from '#core/text/time.ts'

type Time = Parameters<typeof timestampDate>[0] | undefined

/** A time as pages show it; undefined for one that is not set. */
export function timeOf(time: Time): { iso: string; utc: string } | undefined {
  if (time === undefined) return undefined
  const date = timestampDate(time)
  return { iso: formatIso(date), utc: `${formatDateTime(date)} UTC` }
}

/** An amount with its currency: `25.00 USD`. */
export function money(minor: bigint, currency: string): string {
  return `${formatAmount(minor, currency)} ${currency}`
}

/** The value of an enum as a word: `DELIVERY_STATE_EXHAUSTED` of its enum object becomes `exhausted`. */
export function wordOf(names: Readonly<Record<number, string>>, value: number): string {
  return (names[value] ?? 'unknown').toLowerCase().replaceAll('_', ' ')
}

/** The names of an enum but for its zero, which stands for no value. */
function namesOf(names: Readonly<Record<number, string>>): [number: number, name: string][] {
  return Object.entries(names).flatMap(([key, name]) =>
    Number(key) > 0 ? [[Number(key), name.toLowerCase()] as [number, string]] : [],
  )
}

/** The value of a word; undefined for a word that the enum does not have. */
export function valueOf(
  names: Readonly<Record<number, string>>,
  word: string | null,
): number | undefined {
  return namesOf(names).find(([, name]) => name === word)?.[0]
}

/** The words of an enum that a person may choose from. */
export function choices(names: Readonly<Record<number, string>>) {
  return namesOf(names).map(([, name]) => ({ value: name, label: name.replaceAll('_', ' ') }))
}

type Tone = 'good' | 'bad' | 'busy' | 'plain'

const tones: Readonly<Record<Exclude<Tone, 'plain'>, readonly string[]>> = {
  good: [
    'used',
    'paid',
    'success',
    'succeeded',
    'delivered',
    'completed',
    'done',
    'breaker closed',
    'active',
    'posted',
    'ready',
    'approved',
  ],
  bad: [
    'failed',
    'exhausted',
    'blocked',
    'gone',
    'expired',
    'breaker open',
    'revoked',
    'not ready',
    'page',
    'rejected',
  ],
  busy: [
    'pending',
    'waiting',
    'refused',
    'sending',
    'processing',
    'partially paid',
    'running',
    'breaker half open',
    'ticket',
    'paused',
  ],
}

/** How a state is coloured, beside its word. */
export function toneOf(state: string): Tone {
  const { good, bad, busy } = tones
  if (good.includes(state)) return 'good'
  if (bad.includes(state)) return 'bad'
  return busy.includes(state) ? 'busy' : 'plain'
}
