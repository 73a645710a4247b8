// A request with every field of its type, for a command that a person completes.
import { type DescEnum, type DescField, type DescMessage, ScalarType } from '@bufbuild/protobuf'

/** Stands for a text that is to be filled in. */
const open = '…'
/** A message within a message within a request is deep enough: a filter, and its times. */
const maxDepth = 2

type Json = string | number | boolean | Json[] | { [name: string]: Json }

/**
 * The JSON of a request with every field, the first one of a choice: `ids` by field where they have it, an ellipsis for any other text, zero for
 * a number, the first word of an enum that stands for a value.
 */
export function sampleOf(
  message: DescMessage,
  ids: ReadonlyMap<string, string>,
  depth = 0,
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
  if (type === ScalarType.STRING) return open
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
  if (message.typeName.startsWith('google.protobuf.')) return open
  return depth < maxDepth ? sampleOf(message, ids, depth + 1) : undefined
}
