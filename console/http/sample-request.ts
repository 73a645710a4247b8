// A request with every field of its type, for a command that a person completes.
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/** Stands for a text that is to be filled in. */
const placeholder = '…'
/** Deepest nesting of messages that a sample shows; deeper ones are left out. */
const maxDepth = 2

type Json = string | number | boolean | Json[] | { [name: string]: Json }

/**
 * The JSON of a request with every field, and the first field of each oneof. An id comes from `ids`; another text is a placeholder, a number
 * zero, an enum its first value above zero.
 */
export function sampleOf(
  message: DescMessage,
  ids: ReadonlyMap<string, string>,
): { [name: string]: Json } {
  return fieldsOf(message, ids, 0)
}

function fieldsOf(
  message: DescMessage,
  ids: ReadonlyMap<string, string>,
  depth: number,
): { [name: string]: Json } {
  const fields = message.fields.filter(
    (one) => one.oneof === undefined || one.oneof.fields[0] === one,
  )
  return Object.fromEntries(
    fields.flatMap((field) => {
      const value = valueOf(field, ids, depth)
      return value === undefined ? [] : [[field.jsonName, value] as const]
    }),
  )
}

function valueOf(
  field: DescField,
  ids: ReadonlyMap<string, string>,
  depth: number,
): Json | undefined {
  switch (field.fieldKind) {
    case 'scalar':
      return ids.get(field.localName) || ofScalar(field.scalar)
    case 'enum':
      return ofEnum(field.enum)
    case 'message':
      return ofMessage(field.message, ids, depth)
    case 'list': {
      if (field.listKind === 'scalar') return [ofScalar(field.scalar)]
      if (field.listKind === 'enum') return [ofEnum(field.enum)]
      const one = ofMessage(field.message, ids, depth)
      return one === undefined ? undefined : [one]
    }
    default:
      return {}
  }
}

function ofScalar(type: ScalarType): Json {
  if (type === ScalarType.STRING) return placeholder
  if (type === ScalarType.BOOL) return false
  return type === ScalarType.BYTES ? '' : 0
}

function ofEnum({ values }: DescEnum): Json {
  return values.find(({ number }) => number > 0)?.name ?? 0
}

/** Times and masks are texts in JSON. */
function ofMessage(
  message: DescMessage,
  ids: ReadonlyMap<string, string>,
  depth: number,
): Json | undefined {
  if (message.typeName.startsWith('google.protobuf.')) return placeholder
  return depth < maxDepth ? fieldsOf(message, ids, depth + 1) : undefined
}
