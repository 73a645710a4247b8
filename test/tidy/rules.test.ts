// Holds every field of every request to having rules that bound it, and the patterns among them to being plain.
import { globSync } from 'node:fs'
import { join } from 'node:path'
import {
  type DescField,
  type DescMessage,
  type DescService,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf'
import {
  type FieldRules,
  field as rulesOf,
  type StringRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { expect, it } from 'vitest'
import { hasWords } from '#platform/rpc/validation/rule-words.ts'

const root = join(import.meta.dirname, '..', '..')
const foreign = /^(google|grpc|buf)\./

/** Credentials: bounded, but judged by their handlers alone, who answer alike to everything that is wrong with them. */
const opaque = new Set([
  'payweave.accounts.v1.AuthenticateSubscriptionKeyRequest.subscription_key',
  'payweave.accounts.v1.AuthenticateApiKeyRequest.api_key',
  'payweave.accounts.v1.ResolveSessionRequest.session_token',
  'payweave.accounts.v1.ResolveSessionRequest.session_token_sealed',
  'payweave.accounts.v1.RegisterAccountRequest.session_token',
  'payweave.billing.v1.ReadReceiptRequest.token',
  'payweave.institution.v1.CreateTransactionRequest.session_token',
  'payweave.institution.v1.CreateTransactionRequest.session_token_sealed',
  'payweave.payments.v1.GetCheckoutRequest.link_token',
  'payweave.payments.v1.GetReceiptRequest.receipt_token',
  'payweave.payments.v1.PayWithWalletRequest.link_token',
  'payweave.payments.v1.OpenCardFrameRequest.link_token',
  'payweave.payments.v1.CancelCheckoutRequest.link_token',
  'payweave.quotes.v1.CreateQuoteRequest.session_token',
])

async function services(): Promise<DescService[]> {
  const modules = globSync('gen/**/*_pb.js', { cwd: root }).map(
    async (file) => (await import(join(root, file))) as Record<string, unknown>,
  )
  const exported = (await Promise.all(modules)).flatMap((module) => Object.values(module))
  return exported.filter(
    (one): one is DescService =>
      typeof one === 'object' && one !== null && 'kind' in one && one.kind === 'service',
  )
}

/** The fields of all requests of ours, those of messages within them too, each once. */
async function requestFields(): Promise<DescField[]> {
  const seen = new Set<DescMessage>()
  const fieldsOf = (message: DescMessage): DescField[] => {
    if (seen.has(message) || foreign.test(message.typeName)) return []
    seen.add(message)
    return message.fields.flatMap((field) => [
      field,
      ...(field.message === undefined ? [] : fieldsOf(field.message)),
    ])
  }
  const own = (await services()).filter(({ typeName }) => !foreign.test(`${typeName}.`))
  return own
    .filter(({ typeName }) => !typeName.startsWith('grpc.'))
    .flatMap(({ methods }) => methods.flatMap(({ input }) => fieldsOf(input)))
}

const rules = (field: DescField): FieldRules => getOption(field, rulesOf)
const nameOf = (field: DescField): string => `${field.parent.typeName}.${field.name}`

function textRules({ type }: Pick<FieldRules, 'type'>): StringRules | undefined {
  return type.case === 'string' ? type.value : undefined
}

// A pattern with no repetition without end bounds its text by itself.
const endless = /[^\\][*+]/

function boundsText(given: Pick<FieldRules, 'type'> | undefined, isOpaque = false): boolean {
  const text = given && textRules(given)
  if (text === undefined) return false
  if (text.wellKnown.case === 'uuid' || text.in.length > 0) return true
  const isBounded = text.maxLen > 0n || (text.pattern !== '' && !endless.test(text.pattern))
  return isBounded && (isOpaque || text.pattern !== '')
}

function boundsScalar(field: DescField, type: ScalarType, given: FieldRules): boolean {
  switch (type) {
    case ScalarType.STRING:
      return boundsText(given, opaque.has(nameOf(field)))
    case ScalarType.BYTES:
      return given.type.case === 'bytes' && (given.type.value.len || given.type.value.maxLen) > 0n
    case ScalarType.BOOL:
      return true
    default: {
      const { value } = given.type
      return value !== undefined && 'lessThan' in value && value.lessThan.case !== undefined
    }
  }
}

function isBounded(field: DescField): boolean {
  const given = rules(field)
  const { case: kind, value } = given.type
  switch (field.fieldKind) {
    case 'scalar':
      return boundsScalar(field, field.scalar, given)
    case 'enum':
      return kind === 'enum' && value.definedOnly
    case 'list': {
      if (kind !== 'repeated' || value.maxItems === 0n) return false
      return field.scalar !== ScalarType.STRING || boundsText(value.items)
    }
    case 'map':
      return (
        kind === 'map' && value.maxPairs > 0n && boundsText(value.keys) && boundsText(value.values)
      )
    default:
      // What is within has rules of its own; a mask names what it may.
      return field.message.typeName !== 'google.protobuf.FieldMask' || kind === 'fieldMask'
  }
}

it('every field of every request is bounded by its rules, and holds no control character', async () => {
  const fields = await requestFields()
  expect(fields.length).toBeGreaterThan(300)
  expect(fields.filter((field) => !isBounded(field)).map(nameOf)).toEqual([])
})

function patternsOf(field: DescField): string[] {
  const given = rules(field)
  const { case: kind, value } = given.type
  const inner =
    kind === 'repeated' ? [value.items] : kind === 'map' ? [value.keys, value.values] : [given]
  return inner.flatMap((one) => (one && textRules(one)?.pattern) || [])
}

// One class, escape or literal, each with a count at most; a group may be left out or hold a choice, and is not repeated. So
// it takes linear time, and RegExp and RE2 mean the same by it.
const piece = String.raw`(?:\[(?:[^\]\\]|\\.)+\]|\\[.+]|[A-Za-z0-9@_-])(?:\{\d+(?:,\d+)?\}|[*+?])?`
const group = String.raw`\((?:${piece})+(?:\|(?:${piece})+)*\)\??`
const plain = new RegExp(String.raw`^\^(?:${piece}|${group})+\$$`)

it('every pattern takes linear time and has words', async () => {
  const patterns = [...new Set((await requestFields()).flatMap(patternsOf))]
  expect(patterns.length).toBeGreaterThan(5)
  expect(patterns.filter((pattern) => !plain.test(pattern))).toEqual([])
  // What may go on without end is followed by the end, or by what it cannot hold.
  expect(patterns.filter((pattern) => /(?<!\\)[*+](?![$@])/.test(pattern))).toEqual([])
  expect(patterns.filter((pattern) => !hasWords(pattern))).toEqual([])
  const mebibyte = 'a'.repeat(2 ** 20)
  for (const pattern of patterns) expect(() => new RegExp(pattern).test(mebibyte)).not.toThrow()
})
