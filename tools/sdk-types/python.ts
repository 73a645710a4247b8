// Writes types of the SDK for Python.
import { type Named, type Type, wrapped } from './model.ts'

const words: Record<string, string> = {
  text: 'str',
  amount: 'Amount',
  exact: 'str',
  integer: 'int',
  boolean: 'bool',
  null: 'None',
  file: 'bytes',
  anything: 'object',
}

const head = `"""Types of the API: what requests take and responses have, by the names of the JSON API.

Generated from the schemas of the API by \`npm run schemas\`.
"""

from __future__ import annotations

from decimal import Decimal
from typing import TYPE_CHECKING, Literal, TypedDict, Union

if TYPE_CHECKING:
    from typing_extensions import NotRequired

Amount = Union[str, Decimal]
"""An amount to send: decimal text or a Decimal, never a float. Amounts of responses are text."""
`

/** The module of all types. */
export function pythonTypes(types: readonly Named[]): string {
  return [head, ...types.map(declaration)].join('\n\n')
}

function declaration(type: Named): string {
  if ('choice' in type) {
    const names = type.choice.map(written).join(', ')
    return `${type.name} = Union[${names}]\n${docstring(type.says, '')}`
  }
  const fields = type.fields.map(({ name, says, isOptional, type: of }) => {
    const found = isOptional ? `NotRequired[${written(of)}]` : written(of)
    return `    ${name}: ${found}\n${docstring(says, '    ')}`
  })
  const says = type.says === '' ? '' : `${docstring(type.says, '    ')}\n`
  return `class ${type.name}(TypedDict):\n${says}${fields.join('')}`
}

function written(type: Type): string {
  switch (type.kind) {
    case 'literals':
      return `Literal[${type.values.map(literal).join(', ')}]`
    case 'list':
      return `list[${written(type.of)}]`
    case 'map':
      return `dict[str, ${written(type.of)}]`
    case 'choice':
      return type.of.map(written).join(' | ')
    case 'named':
      return type.name
    default:
      return words[type.kind] ?? 'object'
  }
}

function literal(value: string | number | boolean): string {
  if (typeof value === 'boolean') return value ? 'True' : 'False'
  return JSON.stringify(value)
}

function docstring(text: string, indent: string): string {
  if (text === '') return ''
  // A quote at the end would join those that close the text.
  const lines = wrapped(text.replaceAll('\\', '\\\\').replace(/"$/, '\\"'), 92)
  const [only = ''] = lines
  if (lines.length === 1) return `${indent}"""${only}"""\n`
  return `${lines.map((line, index) => `${indent}${index === 0 ? '"""' : ''}${line}\n`).join('')}${indent}"""\n`
}
