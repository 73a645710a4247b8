// Mutates one field of a good request at a time, in every way that its type allows.
import { randomInt } from 'node:crypto'
import {
  type DescField,
  type DescMessage,
  getOption,
  hasOption,
  type Message,
  ScalarType,
  toBinary,
} from '@bufbuild/protobuf'
import { field as rulesOf } from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { texts } from '../hostile/values.ts'

/** `refused`: by its name. `undecodable`: refused without a name. `sane`: anything but an error of ours. */
export type Expected = 'refused' | 'undecodable' | 'sane'

/** A request with one bad field. */
export type Mutation = {
  /** As a refusal has to name it. */
  field: string
  /** What was done to it. */
  kind: string
  expected: Expected
  /** Makes the request, with fresh ids each time. An undecodable one still has to be mutated by `bytesOf`. */
  make: () => Message
}

/** What a sweep does with a good request. */
export type Sweep = {
  mutations: Mutation[]
  /** The fields that were mutated, as `pkg.Message.field`. */
  reached: Set<string>
}

/** What no type says of a field. */
export type FieldFacts = {
  /** Its content is a credential, which the handler alone judges. */
  isOpaque: (field: DescField) => boolean
  /** It has to be a UUID. */
  isId: (field: DescField) => boolean
}

type Plain = Record<string, unknown>
type Reach = (root: Plain) => Plain
type Change = { kind: string; expected: Expected; value: unknown }

const mebibyte = 2 ** 20
/** Many times what any text may be, and fast to send in hundreds of calls. */
const overlong = 'a'.repeat(2 ** 17)
const tooMany = 5_000
/** Stands in a message for bytes that are no UTF-8, and has as many. */
const badText = '@@undecodable@@'
const badBytes = Buffer.alloc(badText.length, 0xff)

/** Mutates every field that is set in a request. `remake` makes the same good request with fresh ids. */
export function sweepOf(schema: DescMessage, remake: () => Message, facts: FieldFacts): Sweep {
  const mutations: Mutation[] = []
  const reached = new Set<string>()
  const base = remake() as unknown as Plain

  function add({ kind, expected, value }: Change, field: string, write: Write): void {
    const make = () => {
      const message = remake()
      write(message, value)
      return message
    }
    mutations.push({ field, kind, expected, make })
  }

  function walk(type: DescMessage, prefix: string, reach: Reach): void {
    for (const field of type.fields) {
      if (!isSet(reach(base), field)) continue
      reached.add(`${type.typeName}.${field.name}`)
      const path = `${prefix}${field.name}`
      const put: Write = (root, given) => write(reach(root), field, given)
      if (field.fieldKind === 'list') walkList(field, path, reach)
      else if (field.fieldKind === 'map') walkMap(field, path, reach)
      else mutate(field, path, put, (root) => read(reach(root), field) as Plain)
    }
  }

  function mutate(field: DescField, path: string, put: Write, reach: Reach): void {
    if (field.message === undefined) {
      for (const change of changesOf(field, reach(base), facts)) add(change, path, put)
      return
    }
    const changes = wellKnown[field.message.typeName]
    for (const change of changes ?? []) add(change, path, put)
    if (field.fieldKind === 'message') {
      add({ kind: 'unset', expected: 'sane', value: undefined }, path, put)
    }
    if (changes === undefined) walk(field.message, `${path}.`, reach)
  }

  function walkList(field: DescField, path: string, reach: Reach): void {
    const listOf: Reach = (root) => reach(root)[field.localName] as Plain
    const [first] = listOf(base) as unknown as unknown[]
    const replace: Write = (root, items) => void (reach(root)[field.localName] = items)
    add({ kind: 'none', expected: 'sane', value: [] }, path, replace)
    const items = Array.from({ length: tooMany }, () => first)
    add({ kind: 'too many', expected: 'refused', value: items }, path, replace)
    const put: Write = (root, given) => void (listOf(root)[0] = given)
    mutate(field, `${path}[0]`, put, (root) => listOf(root)[0] as Plain)
  }

  function walkMap(field: DescField, path: string, reach: Reach): void {
    const mapOf: Reach = (root) => reach(root)[field.localName] as Plain
    const [[key, value] = ['', '']] = Object.entries(mapOf(base))
    const replace: Write = (root, map) => void (reach(root)[field.localName] = map)
    const entries = Array.from({ length: tooMany }, (_, index) => [`${key}${index}`, value])
    const many = Object.fromEntries(entries) as unknown
    add({ kind: 'too many', expected: 'refused', value: many }, path, replace)
    for (const { kind, expected, value: bad } of textChanges(key)) {
      add({ kind: `key ${kind}`, expected, value: bad }, path, (root, given) =>
        replace(root, { [String(given)]: value }),
      )
    }
    const put: Write = (root, given) => void (mapOf(root)[key] = given)
    for (const change of textChanges(String(value))) add(change, `${path}["${key}"]`, put)
  }

  walk(schema, '', (root) => root)
  return { mutations, reached }
}

/** The bytes of a bad request. */
export function bytesOf(schema: DescMessage, { expected, make }: Mutation): Uint8Array {
  const bytes = toBinary(schema, make())
  if (expected === 'undecodable') bytes.set(badBytes, Buffer.from(bytes.buffer).indexOf(badText))
  return bytes
}

type Write = (root: Plain, value: unknown) => void
type Choice = { case: string; value: unknown } | undefined

function read(holder: Plain, { localName, oneof }: DescField): unknown {
  if (oneof === undefined) return holder[localName]
  const choice = holder[oneof.localName] as Choice
  return choice?.case === localName ? choice.value : undefined
}

/** Scalars always are, but for members of a oneof. */
function isSet(holder: Plain, field: DescField): boolean {
  const value = read(holder, field)
  if (field.fieldKind === 'list') return (value as unknown[]).length > 0
  if (field.fieldKind === 'map') return Object.keys(value as Plain).length > 0
  return value !== undefined || (field.oneof === undefined && field.message === undefined)
}

function write(holder: Plain, { localName, oneof }: DescField, value: unknown): void {
  if (oneof === undefined) holder[localName] = value
  else holder[oneof.localName] = { case: value === undefined ? undefined : localName, value }
}

function changesOf(field: DescField, base: unknown, facts: FieldFacts): Change[] {
  if (field.enum !== undefined) return enumChanges
  switch (field.scalar) {
    case ScalarType.STRING:
      return stringChanges(field, String(base), facts)
    case ScalarType.BYTES:
      return byteChanges
    case ScalarType.BOOL:
      return [{ kind: 'the other', expected: 'sane', value: base !== true }]
    case ScalarType.INT64:
      return int64Changes
    case ScalarType.UINT64:
      return uint64Changes
    case ScalarType.UINT32:
      return uint32Changes
    default:
      throw new Error(`no way to mutate ${field.parent.typeName}.${field.name}`)
  }
}

function stringChanges(field: DescField, base: string, { isOpaque, isId }: FieldFacts): Change[] {
  const changes = textChanges(base).map((change) =>
    isOpaque(field) && change.kind !== 'overlong' && change.expected === 'refused'
      ? { ...change, expected: 'sane' as const }
      : change,
  )
  changes.push(...hostileChanges())
  if (isId(field)) {
    changes.push({ kind: 'no id', expected: 'refused', value: 'demo' })
    changes.push({ kind: 'nil', expected: 'sane', value: '00000000-0000-0000-0000-000000000000' })
  }
  const most = maxOf(field)
  if (most === undefined) return changes
  return [
    ...changes,
    { kind: 'one too long', expected: 'refused', value: 'a'.repeat(most + 1) },
    { kind: 'longest', expected: 'sane', value: 'a'.repeat(most) },
    { kind: 'longest in bytes', expected: 'sane', value: '\u{1f9fe}'.repeat(most) },
  ]
}

/** What a rule allows at most, so that its very edge is tried. */
function maxOf(field: DescField): number | undefined {
  if (!hasOption(field, rulesOf)) return undefined
  const { type } = getOption(field, rulesOf)
  const text = type.case === 'repeated' ? type.value.items?.type : type
  return text?.case === 'string' && text.value.maxLen > 0n ? Number(text.value.maxLen) : undefined
}

function textChanges(base: string): Change[] {
  return [
    { kind: 'NUL', expected: 'refused', value: `${base}\0` },
    { kind: 'control character', expected: 'refused', value: `${base}${nextControl()}` },
    { kind: 'overlong', expected: 'refused', value: overlong },
    { kind: 'no UTF-8', expected: 'undecodable', value: badText },
    { kind: 'empty', expected: 'sane', value: '' },
    { kind: 'blank', expected: 'sane', value: ' ' },
    { kind: 'line break', expected: 'sane', value: `${base}\n${base}` },
    { kind: 'quotes beyond ASCII', expected: 'sane', value: `'"\\\u{1f9fe}\u202eé${base}` },
  ]
}

/** HOSTILE_SHARE=1 puts all hostile texts into each field; without it most fields get one of them, others in each run. */
export const hostileShare = Number(process.env['HOSTILE_SHARE'] ?? 20)
const part = hostileShare === 1 ? 1 : hostileShare * 10
let fieldsMutated = randomInt(part)

function hostileChanges(): Change[] {
  fieldsMutated += 1
  return texts
    .map((value, index): Change => ({ kind: `hostile text ${index}`, expected: 'sane', value }))
    .filter((_change, index) => (index + fieldsMutated) % part === 0)
}

/** One for each field in turn: the rules of texts refuse all of them alike. */
const controls = ['\u0007', '\u001b[31m', '\u007f', '\u0085', '\0\0']
let controlsUsed = 0

function nextControl(): string {
  return controls[controlsUsed++ % controls.length] ?? ''
}

const enumChanges: Change[] = [99, -1, 2 ** 31 - 1, -(2 ** 31)].map((value) => ({
  kind: `number ${value}`,
  expected: 'refused',
  value,
}))
enumChanges.push({ kind: 'unspecified', expected: 'sane', value: 0 })

const byteChanges: Change[] = [
  { kind: 'empty', expected: 'sane', value: new Uint8Array() },
  { kind: 'one byte', expected: 'sane', value: new Uint8Array(1) },
  { kind: 'overlong', expected: 'refused', value: new Uint8Array(mebibyte) },
]

const int64Changes: Change[] = [
  { kind: 'lowest', expected: 'refused', value: -(2n ** 63n) },
  { kind: 'highest', expected: 'refused', value: 2n ** 63n - 1n },
  { kind: 'over a trillion', expected: 'sane', value: 10n ** 18n - 1n },
  { kind: 'under zero', expected: 'sane', value: -1n },
  { kind: 'zero', expected: 'sane', value: 0n },
]

const uint64Changes: Change[] = [
  { kind: 'highest', expected: 'refused', value: 2n ** 64n - 1n },
  { kind: 'zero', expected: 'sane', value: 0n },
]

const uint32Changes: Change[] = [
  { kind: 'highest', expected: 'refused', value: 2 ** 32 - 1 },
  { kind: 'zero', expected: 'sane', value: 0 },
]

const time = (seconds: bigint, nanos = 0) => ({
  $typeName: 'google.protobuf.Timestamp' as const,
  seconds,
  nanos,
})
const firstSecond = -62_135_596_800n
const lastSecond = 253_402_300_799n

const timestampChanges: Change[] = [
  { kind: 'lowest', expected: 'refused', value: time(-(2n ** 63n)) },
  { kind: 'highest', expected: 'refused', value: time(2n ** 63n - 1n) },
  { kind: 'before year 1', expected: 'refused', value: time(firstSecond - 1n) },
  { kind: 'after year 9999', expected: 'refused', value: time(lastSecond + 1n) },
  { kind: 'nanos under zero', expected: 'refused', value: time(0n, -1) },
  { kind: 'nanos over a second', expected: 'refused', value: time(0n, 1_000_000_000) },
  { kind: 'after the last millisecond', expected: 'refused', value: time(lastSecond, 999_999_999) },
  { kind: 'first', expected: 'sane', value: time(firstSecond) },
  { kind: 'last', expected: 'sane', value: time(lastSecond, 999_000_000) },
  { kind: 'epoch', expected: 'sane', value: time(0n) },
]

const mask = (paths: string[]) => ({ $typeName: 'google.protobuf.FieldMask' as const, paths })

const maskChanges: Change[] = [
  { kind: 'unknown path', expected: 'refused', value: mask(['no_such']) },
  { kind: 'NUL', expected: 'refused', value: mask(['name\0']) },
  { kind: 'too many', expected: 'refused', value: mask(Array(tooMany).fill('no_such')) },
  { kind: 'empty', expected: 'sane', value: mask([]) },
]

const wellKnown: Record<string, Change[]> = {
  'google.protobuf.Timestamp': timestampChanges,
  'google.protobuf.FieldMask': maskChanges,
}
