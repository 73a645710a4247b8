// Says in words which rules a field of a contract has; it must not check a value.
import { type DescField, type DescOneof, getOption } from '@bufbuild/protobuf'
import {
  type FieldRules,
  field as fieldRules,
  Ignore,
  oneof as oneofRules,
} from '@bufbuild/protovalidate/gen/buf/validate/validate_pb.js'
import { patternWords } from '#platform/rpc/validation/rule-words.ts'

/** The rules of a field as one sentence; empty when it has none. */
export function rulesOf(field: DescField): string {
  const rules = getOption(field, fieldRules)
  const words = [
    ...presence(rules),
    ...valueRules(rules),
    ...rules.cel.map(({ message }) => message),
  ]
  if (words.length === 0) return ''
  const sentence = words.join('; ')
  return `${sentence.charAt(0).toUpperCase()}${sentence.slice(1)}.`
}

/** Whether one of the choices has to be made. */
export function isRequired(oneof: DescOneof): boolean {
  return getOption(oneof, oneofRules).required
}

function presence({ required, ignore }: FieldRules): string[] {
  if (required) return ['required']
  return ignore === Ignore.IF_ZERO_VALUE ? ['may be left out'] : []
}

function valueRules({ type: { case: kind, value } }: Pick<FieldRules, 'type'>): string[] {
  switch (kind) {
    case 'string': {
      const { minLen, maxLen, pattern, wellKnown } = value
      return [
        ...(wellKnown.case === 'uuid' ? ['must be a UUID'] : []),
        ...lengths(minLen, maxLen, 'characters'),
        ...(value.in.length > 0 ? [`must be one of ${value.in.map(code).join(', ')}`] : []),
        ...(pattern === '' ? [] : [patternWords(pattern)]),
      ]
    }
    case 'bytes':
      return value.len > 0n
        ? [`must have ${value.len} bytes`]
        : lengths(value.minLen, value.maxLen, 'bytes')
    case 'enum':
      return value.definedOnly ? ['must be a defined value'] : []
    case 'bool':
      return value.const ? ['must be true'] : []
    case 'repeated':
      return [
        ...lengths(value.minItems, value.maxItems, 'items'),
        ...(value.items === undefined ? [] : valueRules(value.items).map((rule) => `each ${rule}`)),
      ]
    case 'map':
      return [
        ...lengths(value.minPairs, value.maxPairs, 'entries'),
        ...(value.keys === undefined ? [] : valueRules(value.keys).map((rule) => `keys ${rule}`)),
        ...(value.values === undefined
          ? []
          : valueRules(value.values).map((rule) => `values ${rule}`)),
      ]
    case 'fieldMask':
      return [`may name ${value.in.map(code).join(' and ')}`]
    case 'int64':
    case 'uint32':
    case 'uint64':
      return range(value)
    case undefined:
      return []
    default:
      throw new Error(`there are no words for rules of ${kind}`)
  }
}

type Range = {
  greaterThan: { case: string | undefined; value?: number | bigint }
  lessThan: { case: string | undefined; value?: number | bigint }
}

function range({ greaterThan, lessThan }: Range): string[] {
  const min = bound(greaterThan, 'above', 'at least')
  const max = bound(lessThan, 'under', 'at most')
  const bounds = [...min, ...max]
  return bounds.length === 0 ? [] : [`must be ${bounds.join(' and ')}`]
}

function bound({ case: kind, value }: Range['lessThan'], strict: string, loose: string): string[] {
  if (value === undefined) return []
  return [`${kind === 'gt' || kind === 'lt' ? strict : loose} ${batched(value)}`]
}

function lengths(min: bigint, max: bigint, unit: string): string[] {
  if (min === 0n && max === 0n) return []
  if (min === 0n) return [`must have at most ${batched(max)} ${unit}`]
  return [`must have ${batched(min)} to ${batched(max)} ${unit}`]
}

function batched(number: number | bigint): string {
  return number.toLocaleString('en-US')
}

function code(text: string): string {
  return `\`${text}\``
}
