// What the documents say of a route beside its row: words, answers, refusals of its own and an example.
import type { TSchema } from 'typebox'
import type { Reason } from '#core/errors/errors.ts'

/** Method and path of a route. */
export type OperationName = `${'GET' | 'POST'} /${string}`

/** A variable of an example that another call gives. */
export type Variable =
  | 'PAYMENT_ID'
  | 'SESSION_TOKEN'
  | 'SESSION_TOKEN_ENC'
  | 'TRANSACTION_ID'
  | 'QUOTE_ID'
  | 'BILL_ID'
  | 'PAID_PAYMENT_ID'
  | 'DELIVERY_ID'

/** A call to the sandbox. Texts may hold shell variables: those of `sandbox.env` and of `needs`. */
export type Example = {
  needs?: Variable[]
  query?: Record<string, string>
  body?: object
  /** Sent in place of the body, where the route takes a form: texts and names of files. */
  form?: { texts: Record<string, string>; files: string[] }
}

/** A success: `fields` are added to those of the envelope. */
export type Success = {
  says: string
  fields: Record<string, TSchema>
  withoutMessage?: true
  /** Names of headers of this answer alone. */
  headers?: string[]
}

/** A group of operations. */
export type Tag =
  | 'Accounts'
  | 'Bill payments'
  | 'Institution transactions'
  | 'Payment requests'
  | 'Payments of a merchant'
  | 'Pushes of a merchant'
  | 'Quotes'

/** One operation of a document. */
export type Operation = {
  id: string
  tag: Tag
  summary: string
  description: string
  successes: Record<number, Success>
  /** Refusals that do not follow from the row. */
  reasons: readonly Reason[]
  /** Those among them that are reported inside `data`. */
  reasonsInData?: readonly Reason[]
  examples: Record<string, Example>
}

/** Operations by method and path. */
export type Operations = Record<OperationName, Operation>

/** The credentials and the date of `PW-request-date` are added where the example is written out. */
export const demo = {
  apiKey: '$PROJECTS_DEMO_API_KEY',
  institutionName: 'Demo Wallet',
  /** Something new in each call. */
  unique: '$(date +%s)-$$',
} as const
